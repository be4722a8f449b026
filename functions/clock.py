"""Time, injected: one wall for stamps and lifetimes, one that never jumps for deadlines."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """`now`: seconds since the epoch, which people and other machines set as they like.
    `monotonic`: seconds that only grow.

    `pause` waits for seconds.
    """

    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep


SYSTEM = Clock()
"""The machine's own."""
