"""When something is to happen: once, again and again after so many seconds, or by a calendar."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from math import floor
from typing import Annotated, Final, Literal

from msgspec import Meta

from functions.time.time_zone import LATEST, load_zone, to_local
from sigil.storage.stored import Stored, later

Seconds = Annotated[float, Meta(ge=0, lt=1e12)]

SHORTEST: Final = 60.0
"""The seconds between two times of the kind `every`, at least."""
WEEK: Final = 7
CRON_CHARACTERS: Final = 200
YEARS_AHEAD: Final = 60
"""A time of the kind `cron` that does not come in so many years never comes."""
MACROS: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class When(Stored):
    """The times that somebody asked for, resolved.

    `at` is the one time of the kind `at`, in seconds since 1970; `every` are the seconds between
    two times of the kind `every`; `cron` has the five fields of the kind `cron`, which are read in
    `zone`, the IANA name of a time zone; `also` are more such expressions, for times that one
    cannot tell. `start` is the first moment that counts and `until` the last one, 0 for none. The
    times of the kind `every` are counted from `start`. `times` says how often it happens, 0 for
    always: whoever keeps the schedule counts.

    `cycle` leaves out days of the kind `cron`: of so many days, counted from the date `anchor`
    (`2026-11-23`), only the first counts. Of whole weeks it is the first week: every other Friday
    is `0 17 * * 5` with a cycle of 14 days, anchored at the Monday of the first Friday's week.
    """

    kind: Literal["at", "every", "cron"]
    at: Seconds = 0.0
    every: Seconds = 0.0
    cron: str = ""
    zone: str
    until: Seconds = 0.0
    times: int = 0
    cycle: int = 0
    anchor: str = ""
    also: tuple[str, ...] = later(())
    start: Seconds = later(0.0)

    @property
    def crons(self) -> tuple[str, ...]:
        """Return all cron expressions of the kind `cron`."""
        return (self.cron, *self.also)


def find_next(when: When, after: float, *, began: float) -> float | None:
    """Return the first of the times after `after`, None when there is none any more.

    `began` is when it was asked for: the times of the kind `every` are counted from there. A time
    of the kind `cron` that the clocks skip comes at the first minute after the gap; one that they
    show twice comes once, unless it is one of every hour or every minute.
    """
    found: float | None
    if when.kind == "at":
        found = when.at if when.at > after else None
    elif when.kind == "every" and when.start > after:
        found = when.start
    elif when.kind == "every":
        every = max(when.every, SHORTEST)
        began = when.start or began
        passed = max(floor((after - began) / every), 0)
        found = began + (passed + 1) * every
        if found <= after:  # the division was rounded down
            found += every
    else:
        after = max(after, when.start - 1)
        coming = [_find_next_of_cron(when, cron, after) for cron in when.crons]
        found = min((each for each in coming if each is not None), default=None)
    if found is None or (when.until and found > when.until):
        return None
    return found


def list_next(when: When, after: float, *, began: float, count: int = 3) -> tuple[float, ...]:
    """Return the first times after `after`, at most `count` of them."""
    found: list[float] = []
    most = min(count, when.times) if when.times else count
    while len(found) < most:
        next_time = find_next(when, found[-1] if found else after, began=began)
        if next_time is None:
            break
        found.append(next_time)
    return tuple(found)


@lru_cache(maxsize=256)
def expand_cron(cron: str) -> str:
    """Return the five fields of a cron expression or a macro such as `@daily`; empty when it is
    none, or names days that no year has.
    """
    from cronsim import CronSim, CronSimError

    fields = MACROS.get(cron.strip().lower(), cron).upper().split()
    if len(fields) != 5 or len(cron) > CRON_CHARACTERS:
        return ""
    expanded = " ".join(fields)
    try:
        next(CronSim(expanded, datetime(2024, 1, 1)))
    except (CronSimError, ValueError, StopIteration, RuntimeError):
        return ""
    return expanded


def _find_next_of_cron(when: When, cron: str, after: float) -> float | None:
    from cronsim import CronSim

    if not expand_cron(cron):
        return None
    zone = load_zone(when.zone)
    last_year = to_local(min(max(after, 0.0), LATEST), when.zone).year + YEARS_AHEAD
    if last_year >= 9_900:
        return None
    cron = _fix_minutes(cron)
    start: datetime | None = to_local(after, when.zone)
    while start is not None and start.year <= last_year:
        begun, start = start, None
        found: datetime
        for found in CronSim(cron, begun):
            if found.timestamp() <= after:  # the second pass of a repeated hour
                continue
            skipped = _count_days_off(when, found.date())
            if not skipped:
                return found.timestamp()
            start = _begin_of(found.date() + timedelta(days=skipped), zone)
            break
    return None


def _begin_of(day: date, zone: tzinfo) -> datetime:
    """Return the second before a day: the search begins after it."""
    return datetime.combine(day - timedelta(days=1), time(23, 59, 59), zone)


def _count_days_off(when: When, day: date) -> int:
    """Return the days until the next date that the cycle leaves, 0 for such a date."""
    if when.cycle <= 1 or not when.anchor:
        return 0
    window = 1 if when.cycle % WEEK else WEEK
    place = (day - date.fromisoformat(when.anchor)).days % when.cycle
    return 0 if place < window else when.cycle - place


def _fix_minutes(cron: str) -> str:
    """Return the fields with the minutes of certain hours written out.

    cronsim takes a star in the minutes for “by the time that passes”, as Debian's cron does, and
    would repeat `*/15 2 * * *` in the hour that the clocks show twice.
    """
    minutes, _, others = cron.partition(" ")
    if minutes.startswith("*") and not others.startswith("*"):
        return f"0-59{minutes[1:]} {others}"
    return cron
