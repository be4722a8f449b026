"""A turn: one event is taken from the opening of its session to its close."""
