"""Finds words beside a time that no pattern reads, and that speak of a time all the same: what is
not understood is asked about, and never left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from functions.agent.schedules.loose_clock import UNIT_BEHIND
from functions.agent.schedules.phrase_part import Part

_CLOCK_LIKE: Final = re.compile(
    rf"(?<![A-Za-zäöüß\d.,/:$€£¥#§+-])(?:(?:[01]?\d|2[0-4])[.:][0-5]\d(?![\d.,:/-]){UNIT_BEHIND}"
    r"|\d{1,4}\s?(?:[ap]\.?m\b|uhr\b|o['’]?clock\b(?!\s+news))|0\d[0-5]\d(?!\d)|\d{1,2}[点點])",
    re.IGNORECASE,
)
"""What looks like a time of day, among words that no pattern reads."""
_BESIDE: Final = re.compile(r"[\s,]*(?:20[0-5]\d)(?![\w.,/-])")
_MOVING: Final = (
    r"(?:easter|good|pentecost|whit|thanksgiving|(?:mother|father)['’]?s|ostern?|pfingst(?:en)?"
    r"|kar|oster|pfingst|mutter|vater)"
)
_MOVING_BEFORE: Final = re.compile(rf"\b{_MOVING}\s*$", re.IGNORECASE)
"""A feast that is another date each year, before a day of the week: “easter sunday”."""
_DAY_LIKE: Final = re.compile(
    r"\b(?:every|each|jede[nrsm]?|alle)\s+(?:other\s+|zweiten?\s+)?"
    r"(?:mo|tu|di|we|mi|th|do|fr|sa|su|so|day|tag|month|monat|week|woche|year|jahr)\w*"
    r"|\b(?:daily|weekly|monthly|täglich|wöchentlich|monatlich)\b|[每隔][天日周月年]"
    r"|\b(?:[1-4]\.\s*)?advent\b"
    r"|\b(?:easter(?!\s+egg)|ostern|pfingsten|thanksgiving|ramadan|hanukkah)\b"
    r"|大年[三初]十?|[农陰阴]历|\b(?:next|nächste[nr]?|kommende[nr]?)\s+(?:week|month|woche|monat)\b",
    re.IGNORECASE,
)
"""What speaks of days, among words that no pattern reads."""
_CLOCK_WORDS: Final = re.compile(
    r"\bhalf\s+(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,2})\b(?!\s*[:.%])"
    r"|\b(?:shortly|just|kurz)\s+(?:before|after|vor|nach)\s+\w+|\b(?:cob|eod|noonish|\d{1,2}ish)\b"
    r"|\b(?:same|gleiche|selbe)\s+(?:uhr)?(?:time|zeit)\b"
    r"|\b(?:drei\s?)?viertel\s+(?:(?:vor|nach)\s+)?(?:\d{1,2}|eins|zwei|drei|vier|fünf|sechs|sieben"
    r"|acht|neun|zehn|elf|zwölf)\b",
    re.IGNORECASE,
)
"""Times of day that somebody else than the words has to know, or that no pattern reads."""
_SPAN_BEFORE: Final = re.compile(
    r"\b(?:\d{1,3}|an?|half an|one|two|three|eine?|zwei|drei)\s*(?:m|min|minutes?|minuten?|h|hrs?"
    r"|hours?|std|stunden?|days?|tage?|weeks?|wochen?)\s+(?:before|after|prior|vor|nach)\b"
    r"|提前\s*[\d一二两三四五六七八九十半]+\s*(?:个?小时|分钟?|天)",
    re.IGNORECASE,
)
"""A time that is told from another one: “2 hours before my flight”."""
_LASTING: Final = re.compile(
    r"\bfor\s+(?:the\s+next\s+)?(?:\d{1,3}|two|three|four|five|six|seven|ten)\s+(?:days|weeks|months)\b"
    r"|\bdie\s+n(?:ä|ae)chsten\s+\w+\s+(?:tage|wochen|monate)\b",
    re.IGNORECASE,
)
_SHORT_DAY_BEFORE: Final = re.compile(
    r"(?:^|\s)(?:mo|di|mi|do|fr|sa|so|mon|tues?|wed|thur?s?|fri|sat|sun)\b\.?,?\s*$", re.IGNORECASE
)
"""A day as a calendar writes it, before the time of day."""
_DATE_BESIDE: Final = re.compile(r"(?<![\w.,/:-])\d{1,2}[./]\d{1,2}\.?[\s,]*$")
_DAY_AND_MONTH: Final = re.compile(r"\d{1,2}\.(?:0[1-9]|1[0-2])")
_DAYS_SPELT: Final = (
    "sunday monday tuesday wednesday thursday friday saturday tomorrow tonight sonntag montag"
    " dienstag mittwoch donnerstag freitag samstag sonnabend übermorgen"
).split()
_MISSPELT_RATIO: Final = 0.83
"""How much a misspelt name of a day has in common with it: thrusday, but not “summary”."""


def find_unread(pieces: Sequence[str], said: Part) -> Part | None:
    """Return the question about words that no pattern reads, and that look like the time of day or
    the day which the rest does not tell.
    """
    told_from = _first(_SPAN_BEFORE, pieces)
    if told_from and not said.shift:
        return _ask(told_from)
    if not (said.clocks or said.hours or said.moment or said.cron or said.every):
        vague = _first(_CLOCK_WORDS, pieces)
        if vague:
            return _ask(vague)
    tells_clock = said.tells_clock or said.span or said.every or said.cron or said.start
    if not tells_clock:
        behind = [_BESIDE.match(piece) for piece in pieces[1:]]
        found = next(filter(None, [*map(_CLOCK_LIKE.search, pieces), *behind]), None)
        return _ask(found[0]) if found else None
    feast = _MOVING_BEFORE.search(pieces[0]) if said.weekday is not None else None
    if feast:
        return _ask(feast[0])
    lasting = "" if said.repeats else _first(_LASTING, pieces)
    if lasting:
        return _ask(lasting)
    beside = _SHORT_DAY_BEFORE.search(pieces[0])
    if beside and (said.days or 0) >= 7:
        return _ask(beside[0])  # “Fri in 2 weeks”
    if said.tells_day or said.repeats or not said.clocks:
        return None
    if said.loose and _DAY_AND_MONTH.fullmatch(said.words):
        return _ask(said.words)
    beside = beside or _DATE_BESIDE.search(pieces[0])
    words = beside[0] if beside else _first(_DAY_LIKE, pieces)
    words = words or _find_misspelt_day(" ".join(pieces))
    return _ask(words) if words else None


def _ask(words: str) -> Part:
    return Part(fault="when_unread", words=words.strip(" ,"))


def _first(pattern: re.Pattern[str], pieces: Sequence[str]) -> str:
    """Return the first words that a pattern finds, empty for none."""
    found = next(filter(None, map(pattern.search, pieces)), None)
    return found[0] if found else ""


def _find_misspelt_day(text: str) -> str:
    """Return a word that is nearly the name of a day, empty for none."""
    from difflib import SequenceMatcher

    for word in re.findall(r"[a-zäöüß]{5,12}", text.lower()):
        if word in _DAYS_SPELT:
            continue
        matcher = SequenceMatcher(b=word)
        for name in _DAYS_SPELT:
            matcher.set_seq1(name)
            if matcher.quick_ratio() >= _MISSPELT_RATIO and matcher.ratio() >= _MISSPELT_RATIO:
                return str(word)
    return ""
