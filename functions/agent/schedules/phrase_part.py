"""What one part of a phrase says about a time, in any language."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Final

MINUTE: Final = 60.0
HOUR: Final = 3_600.0
NEXT: Final = -1
"""Instead of a month or a year: the one after this."""
SAME: Final = "same"
WORKDAYS: Final = (1, 2, 3, 4, 5)
WEEKEND: Final = (6, 0)


@dataclass(frozen=True, slots=True)
class ClockTime:
    """A time of day. An hour that is not `certain` may be one of the morning or the afternoon.

    One with `digits` was written with its minutes: `3:00`.
    """

    hour: int
    minute: int = 0
    certain: bool = False
    digits: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """What a part of a phrase says; whatever it does not say holds its default.

    A day is told by one of `days` and `months` from today, `weekday` (0 is Sunday, as in cron; in
    the week `week`, or `weeks` after the next one), or `date` (year, month, day; 0 is not told). A
    repetition has `every`, the seconds, or `unit` and `step`, and may have `in_months` alone.
    `fault` is the name of a text that asks back, about `words`. A `weak` part means a time only
    behind another one. The `daypart` `same` is the time of now.

    A `loose` one is only a number that may be a time of day: it counts beside a day, or where
    nothing else tells a time. `shift` are the days from the day that is told to the one meant.

    A `period` (`week`, `month`, `year`) is the whole one that the day is in, of which the end alone
    is meant when it is `closing`; the day 0 of a `date` tells a month. `dates` are several, and
    `other` is what the same words may mean as well. A repetition is from `start` to `until`. A
    `moment` is the same day and time of day as ISO 8601 writes them, with the offset that counts.
    """

    span: float = 0.0
    days: int | None = None
    months: int | None = None
    weekday: int | None = None
    week: str = ""
    weeks: int = 0
    date: tuple[int, int, int] | None = None
    moment: str = ""
    clocks: tuple[ClockTime, ...] = ()
    daypart: str = ""
    every: float = 0.0
    unit: str = ""
    step: int = 0
    weekdays: tuple[int, ...] = ()
    month_days: tuple[str, ...] = ()
    nth: str = ""
    hours: tuple[int, int] | None = None
    in_months: tuple[int, ...] = ()
    dates: tuple[tuple[int, int, int], ...] = ()
    period: str = ""
    closing: bool = False
    other: Part | None = None
    start: Part | None = None
    until: Part | None = None
    lasting: float = 0.0
    times: int = 0
    zone: str = ""
    cron: str = ""
    fault: str = ""
    words: str = ""
    weak: bool = False
    loose: bool = False
    shift: int = 0

    @property
    def repeats(self) -> bool:
        """Return whether it tells something that happens again and again."""
        return bool(self.every or self.unit)

    @property
    def tells_day(self) -> bool:
        """Return whether it tells one day."""
        return any(
            each is not None for each in (self.days, self.months, self.weekday, self.date)
        ) or bool(self.span or self.dates)

    @property
    def tells_clock(self) -> bool:
        """Return whether it tells a time of day."""
        return bool(self.clocks or self.daypart or self.hours)


Pattern = tuple[re.Pattern[str], Callable[[re.Match[str]], Part | None]]
"""What a language calls something, and what it means; None where it means something else."""


@dataclass(frozen=True, slots=True)
class Language:
    """How a language speaks of times.

    `filler` is “remind me to”, which is neither the time nor the text. `joining` may stand between
    two parts. The end of a repetition stands behind `until`, and before `until_end`; its beginning
    behind `start`, and before `start_end`, which has to be there where the group `pair` of `start`
    is; behind these, `periods` are read as well. `edges` remain at the ends of a text whose time is
    taken out; `asked_edges` only where the filler was taken out, too. `asked_behind` is the filler
    at the end of a text: “…, and remind me”.
    """

    patterns: tuple[Pattern, ...]
    periods: tuple[Pattern, ...]
    filler: re.Pattern[str]
    joining: re.Pattern[str]
    until: re.Pattern[str]
    until_end: re.Pattern[str]
    start: re.Pattern[str]
    start_end: re.Pattern[str]
    edges: re.Pattern[str]
    asked_edges: re.Pattern[str]
    asked_behind: re.Pattern[str]


_DEFAULTS: Final[Mapping[str, object]] = {each.name: each.default for each in fields(Part)}


def place_in_part(hour: int, part: str) -> int:
    """Return the hour of 24 that an hour of 12 is in a part of the day."""
    if part in ("morning", "early"):
        return hour % 12
    if part == "noon":
        return hour + 12 if hour <= 3 else hour
    if part == "midnight" or (part == "night" and (hour == 12 or hour <= 4)):
        return 24 if hour == 12 else 24 + hour
    return hour % 12 + 12


def add_hours(words: str, part: Part) -> Part:
    """Return a part with times of day that has the full hours before them as well: `8, 12 and`."""
    hours = [int(each) for each in re.findall(r"\d+", words)]
    if part.fault or max(hours) > 24:
        return part
    told = part.clocks[0]
    first = tuple(ClockTime(hour, 0, told.certain or hour > 12 or hour == 0) for hour in hours)
    return Part(clocks=(*first, *part.clocks))


def sum_span(span: tuple[float, int, int]) -> float:
    """Return a span of seconds, days and months in seconds."""
    seconds, days, months = span
    return seconds + days * 86_400 + months * 30 * 86_400


def combine(first: Part, second: Part) -> Part | None:
    """Return what two parts say together; None when both speak of the same."""
    if first.tells_day and second.tells_day:
        if {first.weekday, second.weekday} == {None} or not (first.date or second.date):
            return None
        if first.date and second.date:
            return None
    if (first.moment and second.tells_clock) or (second.moment and first.tells_clock):
        return None
    if any(
        spanned.span and (other.repeats or other.tells_clock)
        for spanned, other in ((first, second), (second, first))
    ):
        return None  # “in an hour, every day”
    if second.lasting and not first.repeats:
        return None
    if {first.unit, second.unit} == {"day", "week"}:
        # “every 14 days on Fridays”
        days = first if first.unit == "day" else second
        if days.step > 1 and days.step % 7:
            return None
        weeks = replace(days, unit="week", step=max(days.step // 7, 1))
        return combine(weeks, second) if days is first else combine(first, weeks)
    changed: dict[str, object] = {}
    for name, default in _DEFAULTS.items():
        said = getattr(second, name)
        if said == default or name in ("weak", "loose"):
            continue
        known = getattr(first, name)
        if known == default or (name == "daypart" and known == SAME):
            changed[name] = said
        elif name == "step" and 1 in (known, said):
            changed[name] = max(known, said)
        elif name == "unit" and (known == said or {known, said} == {"day", "week"}):
            changed[name] = "week" if "week" in (known, said) else known
        elif name == "words":
            changed[name] = f"{known} {said}"
        elif known != said:
            return None
    return replace(first, **changed)  # type: ignore[arg-type]
