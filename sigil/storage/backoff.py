"""Spread pauses at random, so that those who wait do not all come back at once."""

from __future__ import annotations

import random


def jitter(seconds: float, spread: float = 0.5) -> float:
    """Return a random pause around `seconds`: from `1 - spread` to `1 + spread` times as long."""
    return seconds * random.uniform(1 - spread, 1 + spread)
