"""Sigil as an MCP server: over a pipe for a program that starts it, and over HTTP."""
