"""Slash commands: the table, and one subject a file."""
