"""Quiet hours hold back what an agent says by itself, and collect it until they end."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Final

from functions.agent.schedules.schedule import Schedule
from functions.agent.schedules.when import When
from functions.agent.session.document import Document
from functions.events import Event
from functions.texts.en import Texts
from functions.time.time_zone import to_local

HELD_MOST: Final = 32
HELD_CHARACTERS: Final = 2_000
"""Of what is held back, so many texts are kept, with so many characters each."""
_HOURS: Final = re.compile(
    r"([01]?\d|2[0-4])(?:[:.\uff1a]([0-5]\d))?\s*(?:-|\u2013|to|bis|\u5230|\u81f3)\s*"
    r"([01]?\d|2[0-4])(?:[:.\uff1a]([0-5]\d))?",
    re.IGNORECASE | re.ASCII,
)


def parse_hours(words: str) -> str:
    """Return the hours that somebody names as `22:00-07:00`, empty when they name none."""
    found = _HOURS.fullmatch(words.strip())
    if not found:
        return ""
    times = [(int(found[1]) % 24, int(found[2] or 0)), (int(found[3]) % 24, int(found[4] or 0))]
    begin, end = (f"{hour:02d}:{minute:02d}" for hour, minute in times)
    return f"{begin}-{end}" if begin != end else ""


def is_quiet(hours: str, at: float, zone: str) -> bool:
    """Return whether a moment is within these hours of a zone; none are within no hours."""
    begin, _, end = hours.partition("-")
    now = f"{to_local(at, zone):%H:%M}"
    if begin < end:
        return begin <= now < end
    return bool(hours) and (now >= begin or now < end)


def find_end(hours: str, at: float, zone: str) -> float:
    """Return when these hours end next, in seconds since 1970."""
    hour, _, minute = hours.partition("-")[2].partition(":")
    local = to_local(at, zone)
    end = local.replace(hour=int(hour), minute=int(minute), second=0, microsecond=0)
    if end.timestamp() <= at:
        end += timedelta(days=1)
    return end.timestamp()


def hold_back(document: Document, text: str) -> Document:
    """Return the document with one more text that waits for the end of its quiet hours."""
    cut = text if len(text) <= HELD_CHARACTERS else f"{text[:HELD_CHARACTERS]}…"
    return replace(document, held=(*document.held, cut)[-HELD_MOST:])


def make_collection(
    document: Document, event: Event, now: float, texts: Texts, zone: str
) -> Schedule:
    """Return the schedule that says what is held back when the quiet hours end."""
    return Schedule(
        id="",
        when=When(kind="at", at=find_end(document.quiet, now, zone), zone=zone),
        session=event.session,
        by=event.behalf,
        since=now,
        say=texts.quiet_over,
        language=texts.code,
        collects=True,
    )
