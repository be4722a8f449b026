"""Connections to foreign servers, checked against addresses inside."""
