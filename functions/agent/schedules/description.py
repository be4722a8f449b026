"""Say in words when something happens, always with the zone whose clocks are meant, in the language
in which it was told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from functions.agent.schedules.phrase_part import WORKDAYS
from functions.agent.schedules.when import WEEK, When
from functions.agent.session.document import Document
from functions.texts.en import Texts
from functions.texts.languages import load_texts
from functions.time.time_zone import format_clock, to_local

_NUMBERS: Final = re.compile(r"\d{1,2}(?:,\d{1,2})*")
_HOURS: Final = re.compile(r"(\d{1,2})-(\d{1,2})")
_NTH: Final = re.compile(r"([0-6])(?:#([1-5])|L)")
_NAMES: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_NAME: Final = re.compile("|".join(_NAMES))
_DATE: Final = re.compile(r"(\d{1,2}) (\d{1,2}) \*")
LATE_SECONDS: Final = 120.0
"""What is due for so long is late: on AWS the scheduler comes once a minute."""
CLOCKS: Final = 6
"""So many times of a day are named; of more, the expression is shown."""


def choose_texts_of_time(words: str, texts: Texts, document: Document | None = None) -> Texts:
    """Return the texts in the language in which words tell a time; `texts` where they have none, or
    where the chat of a `document` chose a language.
    """
    if document and document.language:
        return texts
    # the patterns of all phrases take 40 ms to compile, which no other message should wait for
    from functions.agent.schedules.phrase import find_language

    code = find_language(words)
    return load_texts(code, texts.command_sign) if code else texts


def describe_when(when: When, texts: Texts, now: float) -> str:
    """Return when something happens, in words: `every weekday at 08:00 (Europe/Berlin)`."""
    if when.kind == "at":
        moment = to_local(when.at, when.zone)
        return texts.when_at.format(
            day=texts.format_day(moment.date()), clock=f"{moment:%H:%M}", zone=when.zone
        )
    if when.kind == "every":
        span = texts.format_exact_span(max(round(when.every / 60), 1))
        said = texts.when_span.format(span=span, zone=when.zone)
    else:
        said = _describe_calendar(when, texts)
    if when.start:
        begin = to_local(when.start, when.zone)
        is_day = when.kind == "cron" and (begin.hour, begin.minute) == (0, 0)
        shown = texts.format_day(begin.date()) if is_day else _show(when.start, when.zone, texts)
        said = texts.when_from.format(when=said, start=shown)
    if when.until:
        said = texts.when_until.format(when=said, end=_show(when.until, when.zone, texts))
    if when.times:
        said = texts.when_times.format(when=said, count=when.times)
    return said


def describe_late(due: float, zone: str, texts: Texts, now: float) -> str:
    """Return since when something is due that nobody has come for; empty for what is not late."""
    if now - due < LATE_SECONDS:
        return ""
    return texts.wakeup_due_since.format(time=format_clock(due, zone, now))


def describe_next(times: Sequence[float], zone: str, texts: Texts) -> str:
    """Return the next times on one line: `Thursday, 26 November 2026 08:00; … (Europe/Berlin)`."""
    shown = "; ".join(_show(each, zone, texts) for each in times)
    return texts.when_next.format(times=shown, zone=zone)


def _show(at: float, zone: str, texts: Texts) -> str:
    moment = to_local(at, zone)
    return f"{texts.format_day(moment.date())} {moment:%H:%M}"


def _describe_calendar(when: When, texts: Texts) -> str:
    """Return cron expressions in words, where they are ones that people would say."""
    clocks: dict[str, list[str]] = {}
    for cron in when.crons:
        minute, hours, days = cron.upper().split(maxsplit=2)
        clocks.setdefault(days, []).append(f"{minute} {hours}")
    dates = [_DATE.fullmatch(days) for days in clocks]
    said = []
    if len(clocks) > 1 and all(dates) and len(set(map(tuple, clocks.values()))) == 1:
        names = [texts.format_year_day(int(each[2]), int(each[1])) for each in dates if each]
        days = texts.when_year.format(date=_join(names, texts))
        said.append(_describe_clocks(when, days, next(iter(clocks.values())), texts))
    else:
        for fields, told in clocks.items():
            said.append(_describe_clocks(when, _describe_days(when, fields, texts), told, texts))
    if all(said):
        return _join(said, texts)
    cycle = f" /{when.cycle}" if when.cycle > 1 else ""
    crons = _join([f"`{cron}{cycle}`" for cron in when.crons], texts)
    return texts.when_cron.format(cron=crons, zone=when.zone)


def _describe_clocks(when: When, said: str, clocks: Sequence[str], texts: Texts) -> str:
    """Return the times of days in words; empty where they have none. `said` are the days."""
    spread = _HOURS.fullmatch(clocks[0].removeprefix("0 "))
    if said and spread and len(clocks) == 1:
        first, last = (f"{int(each):02}:00" for each in spread.groups())
        return texts.when_hours.format(days=said, first=first, last=last, zone=when.zone)
    shown = []
    for clock in clocks:
        minute, hours = clock.split()
        if not (minute.isdigit() and _NUMBERS.fullmatch(hours)):
            return ""
        shown += [f"{int(each):02}:{int(minute):02}" for each in hours.split(",")]
    if not said or len(shown) > CLOCKS:
        return ""
    return texts.when_calendar.format(days=said, clocks=_join(sorted(shown), texts), zone=when.zone)


def _describe_days(when: When, fields: str, texts: Texts) -> str:
    """Return the days of a cron expression in words; empty where they have none."""
    days, months, weekdays = fields.split()
    weekdays = _NAME.sub(lambda found: str(_NAMES.index(found[0])), weekdays)
    if days == months == "*":
        return _describe_weekdays(when, weekdays, texts)
    names = ""
    if _NUMBERS.fullmatch(months):
        names = _join([texts.name_month(int(each)) for each in months.split(",")], texts)
    nth = _NTH.fullmatch(weekdays)
    if days == "*" and names and nth:
        return _describe_nth(when, nth, texts, names)
    if days == "*" and names:
        said = _describe_weekdays(when, weekdays, texts)
        return texts.when_in_months.format(days=said, months=names) if said else ""
    if when.cycle > 1:
        return ""
    if weekdays == "*" and (days == "L" or _NUMBERS.fullmatch(days)):
        shown = _join(days.split(","), texts)
        if months == "*":
            text = texts.when_month_end if days == "L" else texts.when_month
            return text.format(days=shown)
        if months.isdigit() and days.isdigit():
            return texts.when_year.format(date=texts.format_year_day(int(months), int(days)))
        if names:
            text = texts.when_months_end if days == "L" else texts.when_months
            return text.format(days=shown, months=names)
    return ""


def _describe_weekdays(when: When, weekdays: str, texts: Texts) -> str:
    """Return the days of the week in words."""
    nth = _NTH.fullmatch(weekdays)
    if nth and when.cycle <= 1:
        return _describe_nth(when, nth, texts)
    numbers = _list_weekdays(weekdays)
    if weekdays == "*":
        if when.cycle <= 1:
            return texts.when_day
        return texts.when_days.format(count=when.cycle)
    if not numbers:
        return ""
    if when.cycle > WEEK and when.cycle % WEEK == 0:
        return texts.when_weeks.format(
            count=when.cycle // WEEK, names=_join_weekdays(numbers, texts)
        )
    if when.cycle not in (0, 1, WEEK):
        return ""
    if tuple(numbers) == WORKDAYS:
        return texts.when_workdays
    return texts.when_weekdays.format(names=_join_weekdays(numbers, texts))


def _describe_nth(when: When, nth: re.Match[str], texts: Texts, months: str = "") -> str:
    """Return the first or another such weekday of every month, or of these months, in words."""
    if when.cycle > 1:
        return ""
    place = texts.when_nth_names[int(nth[2]) if nth[2] else 0]
    name = texts.weekday_names[int(nth[1])]
    if months:
        return texts.when_nth_months.format(nth=place, name=name, months=months)
    return texts.when_nth.format(nth=place, name=name)


def _list_weekdays(field: str) -> list[int]:
    """Return the days of the week that a field names by numbers, from Monday on."""
    numbers: set[int] = set()
    for each in field.split(","):
        spread = re.fullmatch(r"([0-7])(?:-([0-7]))?", each)
        if not spread:
            return []
        first = int(spread[1])
        numbers.update(day % WEEK for day in range(first, int(spread[2] or first) + 1))
    return sorted(numbers, key=lambda day: (day - 1) % WEEK)


def _join_weekdays(numbers: Sequence[int], texts: Texts) -> str:
    return _join([texts.weekday_names[each] for each in numbers], texts)


def _join(words: Sequence[str], texts: Texts) -> str:
    """Return `1, 4 and 7`."""
    first = texts.list_mark.join(words[:-1])
    return texts.join_words([first, words[-1]]) if first else words[-1]
