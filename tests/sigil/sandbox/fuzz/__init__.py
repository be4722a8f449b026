"""Seeded hostility: modules, sources and frames that nobody would write, and what must hold
whatever they are.
"""
