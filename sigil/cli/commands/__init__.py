"""The commands of `sigil`, one subject a file."""
