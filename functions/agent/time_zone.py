"""The time zone of a chat: the time that its people's clocks show."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

DEFAULT: Final = "UTC"
DAY_SECONDS: Final = 86_400
LATEST: Final = 253_000_000_000.0
"""A time of the year 9987: later than any that a clock shows."""


@lru_cache(maxsize=64)
def load_zone(name: str) -> tzinfo:
    """Return the zone of a stored name; UTC for one that this machine does not know."""
    if name == DEFAULT:
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError):
        return UTC


def to_local(at: float, zone: str) -> datetime:
    """Return seconds since 1970 as the time that clocks show in a zone."""
    return datetime.fromtimestamp(min(max(at, 0.0), LATEST), load_zone(zone))


def format_clock(at: float, zone: str, now: float) -> str:
    """Return a moment for people: `00:00 UTC`, `01:00 (Europe/Berlin)`.

    The date is before it when the moment is more than a day away.
    """
    moment = to_local(at, zone)
    shown = f"{moment:%H:%M} {zone}" if zone == DEFAULT else f"{moment:%H:%M} ({zone})"
    return f"{moment:%Y-%m-%d} {shown}" if at - now > DAY_SECONDS else shown
