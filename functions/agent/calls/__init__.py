"""The calls of tools that a turn makes."""
