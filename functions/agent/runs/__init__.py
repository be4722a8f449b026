"""Runs: what each turn did, for people and pages, without any text of anybody's."""
