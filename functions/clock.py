"""Time, injected: one wall for stamps and lifetimes, one that never jumps for deadlines."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """`now`: seconds since the epoch, which people and other machines set as they like. `monotonic`: seconds that only grow.

    `pause` waits for seconds, `wait` for an event or for seconds, and says whether it was the event.
    """

    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep
    wait: Callable[[threading.Event, float], bool] = threading.Event.wait


SYSTEM = Clock()
"""The machine's own."""
