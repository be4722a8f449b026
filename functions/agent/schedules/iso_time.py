"""A date and a time of day as ISO 8601 writes them, which every door reads alike:
`2026-11-25T09:00`, with or without seconds, `Z` or an offset.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from functions.time.time_zone import from_local

ISO_TIME: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-][01]\d(?::?\d{2})?)?"
    r"|\s(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|\+[01]\d(?::?\d{2})?))(?![\w:])",
    re.ASCII | re.IGNORECASE,
)
"""Between the date and the time a space may stand as well where an offset follows."""


def read_clock(words: str) -> datetime | None:
    """Return what the clocks show that such words name, with the offset that stands there; None
    for a date or a time that no calendar has.
    """
    try:
        return datetime.fromisoformat(words.upper())
    except ValueError:
        return None


def read_moment(words: str, zone: str) -> float | None:
    """Return the moment that such words mean, in seconds since 1970, by the clocks of a zone unless
    an offset stands there; None for one that no calendar has.
    """
    clock = read_clock(words)
    if clock is None:
        return None
    try:
        return clock.timestamp() if clock.tzinfo else from_local(clock, zone)
    except (ValueError, OverflowError):
        return None
