"""Skills as people write them."""

from __future__ import annotations

from functions.agent.skills.package import SkillPackage

REPORT = """\
---
name: quarterly-report
description: How we write our quarterly report for the board. Use it when somebody asks for a
  quarterly report or a summary of the quarter.
allowed-tools: currency-rates cap_text_diff Bash(git:*)
license: Apache-2.0
metadata:
  author: finance
  tags: finance, board
---
# Quarterly report

1. Begin with the three numbers that changed most.
2. Give amounts in euros; convert others with the rates of the quarter's last day.
3. Compare the text with the last report, and mark what is new.
"""


def make_text(
    name: str, description: str, instructions: str = "Do it well.", more: str = ""
) -> str:
    """Return a `SKILL.md`; `more` are further lines of its front matter."""
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n{instructions}\n"


def pack(text: str, **files: bytes) -> SkillPackage:
    """Return a package of a text, with files whose paths have `__` for a slash and `_` for a dot."""
    paths = {name.replace("__", "/").replace("_", "."): body for name, body in files.items()}
    return SkillPackage(text.encode(), paths)
