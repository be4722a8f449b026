"""Behaviours say how an agent goes about what it does by itself."""
