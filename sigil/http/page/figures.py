"""Figures as people read them on a page: counts, spans of time, sizes, texts that are cut."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Final
from unicodedata import category

from sigil.errors import one_line

SHOWN_CHARACTERS: Final = 1_500
"""A row of a page shows so many characters of a text; the rest is a link."""
_UNUSUAL: Final = re.compile(r"[^\n\t\x20-\x7e]")
_HIDDEN: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
"""The Unicode categories of what is not seen."""


def count(number: object) -> str:
    """Return a count with marks between thousands; what is no number as it is."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        return "" if number is None else str(number)
    if isinstance(number, float) and not number.is_integer():
        return f"{number:,.2f}".rstrip("0").rstrip(".")
    return f"{int(number):,}"


def span(milliseconds: object) -> str:
    """Return a span of milliseconds: `4.1 ms`, `981 ms`, `10 s`, `2 min 5 s`, `3 h 10 min`."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return ""
    if milliseconds < 10:
        return f"{milliseconds:.1f} ms".replace(".0 ", " ")
    if milliseconds < 1_000:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1_000
    if seconds < 10:
        return f"{seconds:.1f} s".replace(".0 ", " ")
    if round(seconds) < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} d {hours % 24} h"


def size(octets: object) -> str:
    """Return a number of bytes: `512 B`, `3.4 kB`, `12 MB`."""
    if isinstance(octets, bool) or not isinstance(octets, int | float):
        return ""
    left = float(octets)
    for unit in ("B", "kB", "MB"):
        if left < 1_000:
            return f"{left:.0f} {unit}" if left >= 10 or unit == "B" else f"{left:.1f} {unit}"
        left /= 1_000
    return f"{left:.1f} GB"


def moment(seconds: object) -> str:
    """Return a time in seconds since 1970 as ISO 8601 in UTC, for `<time datetime>`; empty for none
    that a calendar has.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0:
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")[:19] + "Z"
    except (ValueError, OverflowError, OSError):
        return ""


def clock(seconds: object) -> str:
    """Return a time in seconds since 1970 to be read where no script turns it into local time."""
    written = moment(seconds)
    return f"{written[:10]} {written[11:16]} UTC" if written else ""


def line(text: object, most: int = 200) -> str:
    """Return a text on one line, without what nobody sees, of at most `most` characters."""
    return one_line(str(text), most)


def clean(text: object, most: int = SHOWN_CHARACTERS) -> str:
    """Return at most `most` characters of a text with its lines; what would not be seen, or would
    turn what stands around it, is written as its code.
    """
    return _UNUSUAL.sub(_escape_hidden, str(text)[:most].replace("\r\n", "\n"))


def pretty(text: object) -> str:
    """Return JSON with a line for each of its fields where that is short; any other text as it
    is.
    """
    given = str(text)
    if len(given) > 20_000:
        return given
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        return given
    if not isinstance(value, dict | list) or len(given) < 100:
        return given
    return json.dumps(value, ensure_ascii=False, indent=2)


def _escape_hidden(found: re.Match[str]) -> str:
    """Return a character, or its code where nobody would see it or it moves what is around it."""
    character = found[0]
    return f"\\u{ord(character):04x}" if category(character) in _HIDDEN else character
