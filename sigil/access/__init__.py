"""Tokens, rates, grants and secrets decide who may do what."""
