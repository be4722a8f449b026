"""The agent: an event comes in, replies go out."""
