"""Numbers that may be a time of day, and may be a price, a date or a year as well: 19.30, 0730."""

from __future__ import annotations

import re
from typing import Final

from functions.agent.schedules.phrase_part import ClockTime, Part, Pattern

UNIT_BEHIND: Final = (
    r"(?!\s*(?:[%°€$£¥]|(?:k?m|[cm]m|k?g|mg|m?l|[gmk]b|x|eur|usd|euros?|cents?|dollars?|bucks|percent"
    r"|prozent|pounds?|miles?|meters?|metres?|inch(?:es)?|lit(?:er|re)s?|kilos?|stars?|points?|punkte?"
    r"|grad|degrees?)\b|[元块塊米斤克升度公]))"
)
_DOTTED: Final = re.compile(
    r"(?<![A-Za-zäöüß\d.,/:$€£¥#§+-])(?:(?:at|um|@)\s*)?(?P<hour>[01]?\d|2[0-4])\.(?P<minute>[0-5]\d)"
    rf"(?:\s*(?:uhr|h)\b)?(?![A-Za-zäöüß\d:/-]|[.,]\d){UNIT_BEHIND}",
    re.IGNORECASE,
)
"""A time of day as Europeans write it, which may be a price or a date as well: 19.30."""
_DIGITS: Final = re.compile(
    r"(?<![\d.,/:$€£¥#§+-])(?P<hour>0\d|1\d|2[1-3])(?P<minute>[0-5]\d)"
    rf"(?:\s*(?:uhr|h)\b)?(?![\d.,:/-])(?!(?<!\b0\d\d\d)\s*\w{{3,}}s\b){UNIT_BEHIND}"
)
"""Four digits, as timetables write them; 20xx is a year."""


def _read_loose_clock(found: re.Match[str]) -> Part:
    hour = int(found["hour"])
    certain = hour > 12 or found["hour"].startswith("0")
    clock = ClockTime(hour, int(found["minute"]), certain, digits=True)
    return Part(clocks=(clock,), loose=True, words=found[0])


LOOSE_CLOCKS: Final[tuple[Pattern, ...]] = (
    (_DOTTED, _read_loose_clock),
    (_DIGITS, _read_loose_clock),
)
