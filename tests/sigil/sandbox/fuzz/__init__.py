"""Seeded fuzzing: hostile modules, sources and frames, and the promises that hold for all of them."""
