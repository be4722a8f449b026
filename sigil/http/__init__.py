"""Sigil's HTTP API."""
