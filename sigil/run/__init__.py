"""Calls of capabilities: their programs, what they may ask of the host, and how they fail."""
