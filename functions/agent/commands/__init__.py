"""Slash commands: their table, and one subject a file."""
