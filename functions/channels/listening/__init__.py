"""Listening to platforms over connections that we open, for machines without a public address."""
