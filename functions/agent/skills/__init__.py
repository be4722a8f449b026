"""Skills are working rules that owners keep for certain tasks, in the form of `SKILL.md`."""
