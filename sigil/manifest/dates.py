"""Reads a date as people write it: with dots, slashes, the name of a month, or as in ISO 8601."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

CHARACTERS = 40
"""A longer text is read as no date."""
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})", re.ASCII)
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})", re.ASCII)
_CHINESE = re.compile(r"(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]", re.ASCII)
_YEAR_LAST = re.compile(r"(\d{1,2})\s?([-/.])\s?(\d{1,2})\s?\2\s?(\d{4}|\d{2})", re.ASCII)
_DAY_MONTH = re.compile(r"(\d{1,2})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?([^\W\d_]+)\.?,?\s+(\d{4})")
_MONTH_DAY = re.compile(r"([^\W\d_]+)\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})")
_WEEKDAY = re.compile(r"\A(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+")
_MIDNIGHT = re.compile(r"[t ]00:00(?::00(?:\.0+)?)?z?\Z")
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar jänner janvier",
            "february feb februar février",
            "march mar märz mars",
            "april apr avril",
            "may mai",
            "june jun juni juin",
            "july jul juli juillet",
            "august aug août",
            "september sep sept septembre",
            "october oct oktober okt octobre",
            "november nov novembre",
            "december dec dezember dez décembre",
        ),
        1,
    )
    for name in names.split()
}


def list_dates(text: str) -> list[str] | None:
    """Return the dates that a text may mean, as ISO 8601 writes them; None for a text that is not
    written like one.

    The list is empty for a day that does not exist, and has two dates where the day may be the
    month. What has no century may mean any, so it means none here.
    """
    if len(text) > CHARACTERS:
        return None
    folded = _MIDNIGHT.sub("", _WEEKDAY.sub("", text.strip().casefold()))
    days = _list_days(folded)
    if days is None:
        return None
    found: dict[str, None] = {}
    for year, month, day in days:
        try:
            found[date(year, month, day).isoformat()] = None
        except ValueError:
            continue
    return list(found)


def is_iso(text: str) -> bool:
    """Return whether a text is a date that exists, as ISO 8601 writes it."""
    if not _ISO.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _list_days(text: str) -> list[tuple[int, int, int]] | None:
    """Return the years, months and days that a text may say, whether or not they exist."""
    year_first = _YEAR_FIRST.fullmatch(text)
    if year_first:
        return [(int(year_first[1]), int(year_first[3]), int(year_first[4]))]
    for form in (_COMPACT, _CHINESE):
        found = form.fullmatch(text)
        if found:
            return [(int(found[1]), int(found[2]), int(found[3]))]
    year_last = _YEAR_LAST.fullmatch(text)
    if year_last:
        return list(_order_days(year_last))
    day_month = _DAY_MONTH.fullmatch(text)
    if day_month and day_month[2] in _MONTHS:
        return [(int(day_month[3]), _MONTHS[day_month[2]], int(day_month[1]))]
    month_day = _MONTH_DAY.fullmatch(text)
    if month_day and month_day[1] in _MONTHS:
        return [(int(month_day[3]), _MONTHS[month_day[1]], int(month_day[2]))]
    return None


def _order_days(found: re.Match[str]) -> Iterator[tuple[int, int, int]]:
    """Yield what a date with its year at the end may say: with dots the day is first, with other
    signs that differs by country.
    """
    first, second, year = int(found[1]), int(found[3]), int(found[4])
    if len(found[4]) == 4:
        yield year, second, first
        if found[2] != ".":
            yield year, first, second
