"""How fast this machine is, and how long its tests are meant to be.

Limits of time in tests are those of an idle machine of two cores: `within(20)` is more where the
machine is slower or has more to do. `THOROUGH=10` in the environment makes the random and the
repeated tests ten times as long, as `scripts/fuzz --rules` does.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

WORK_SECONDS = 0.06
"""Of the work below, on the machine that the limits were found on."""
SLOWEST = 20.0


def within(seconds: float) -> float:
    """Return the seconds that what takes at most `seconds` on an idle machine may take on this
    one.
    """
    return seconds * slowness()


def until(
    holds: Callable[[], object], what: str = "what was waited for", seconds: float = 60
) -> None:
    """Wait for something that can only be looked at, as long as `within(seconds)`."""
    began = looked = time.monotonic()
    end = began + within(seconds)
    while not holds():
        now = time.monotonic()
        assert now < end, f"it did not happen: {what}"
        # looks that ask a store would hold up what they wait for, if they followed one another; and
        # what has taken long may take a twentieth longer
        time.sleep(min(max(0.005, 2 * (now - looked), (now - began) / 20), 0.5))
        looked = time.monotonic()


def is_running(pid: int) -> bool:
    """Return whether a process is there and has not ended, asked for or not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def slowness() -> float:
    """Return how many times longer work takes than on an idle machine, 1 at least: by a piece of
    work that is timed once, and by the load at this moment.
    """
    loaded = os.getloadavg()[0] / (os.cpu_count() or 1)
    return min(max(_measure_work(), loaded, 1.0), SLOWEST)


@cache
def _measure_work() -> float:
    """Return how many times longer a piece of work took than on an idle machine."""
    begun = time.perf_counter()
    total = 0
    for number in range(1_000_000):
        total += number & 7
    return (time.perf_counter() - begun) / WORK_SECONDS


def times(count: int) -> int:
    """Return how many examples or turns make a test whose short form has `count` of them."""
    return round(count * float(os.environ.get("THOROUGH", "1")))
