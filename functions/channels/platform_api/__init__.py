"""Requests to the API of a platform."""
