"""Queues of events: one contract, one file a back-end."""
