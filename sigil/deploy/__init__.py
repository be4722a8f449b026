"""Deploys of capabilities: checks, golden tests, transfers, and the standard library."""
