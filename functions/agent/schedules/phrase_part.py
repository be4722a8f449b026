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
    """A time of day. An hour that is not `certain` may be one of the morning or the afternoon."""

    hour: int
    minute: int = 0
    certain: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """What a part of a phrase says; whatever it does not say holds its default.

    A day is told by one of `days` and `months` from today, `weekday` (0 is Sunday, as in cron; in
    the week `week`), or `date` (year, month, day; 0 is not told). A repetition has `every`, the
    seconds, or `unit` and `step`. `fault` is the name of a text that asks back, about `words`. A
    `weak` part means a time only behind another one. The `daypart` `same` is the time of now.
    """

    span: float = 0.0
    days: int | None = None
    months: int | None = None
    weekday: int | None = None
    week: str = ""
    date: tuple[int, int, int] | None = None
    clocks: tuple[ClockTime, ...] = ()
    daypart: str = ""
    every: float = 0.0
    unit: str = ""
    step: int = 0
    weekdays: tuple[int, ...] = ()
    month_days: tuple[str, ...] = ()
    nth: str = ""
    hours: tuple[int, int] | None = None
    until: Part | None = None
    lasting: float = 0.0
    times: int = 0
    zone: str = ""
    cron: str = ""
    fault: str = ""
    words: str = ""
    weak: bool = False

    @property
    def repeats(self) -> bool:
        """Return whether it tells something that happens again and again."""
        return bool(self.every or self.unit)

    @property
    def tells_day(self) -> bool:
        """Return whether it tells one day."""
        return any(
            each is not None for each in (self.days, self.months, self.weekday, self.date)
        ) or bool(self.span)

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
    two parts. The end of a repetition stands behind `until`, and before `until_end`.
    """

    patterns: tuple[Pattern, ...]
    filler: re.Pattern[str]
    joining: re.Pattern[str]
    until: re.Pattern[str]
    until_end: re.Pattern[str]


_DEFAULTS: Final[Mapping[str, object]] = {each.name: each.default for each in fields(Part)}


def combine(first: Part, second: Part) -> Part | None:
    """Return what two parts say together; None when both speak of the same."""
    if first.tells_day and second.tells_day:
        if {first.weekday, second.weekday} == {None} or not (first.date or second.date):
            return None
        if first.date and second.date:
            return None
    if second.span and (first.repeats or first.tells_clock):
        return None
    if second.lasting and not first.repeats:
        return None
    changed: dict[str, object] = {}
    for name, default in _DEFAULTS.items():
        said = getattr(second, name)
        if said == default or name == "weak":
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
