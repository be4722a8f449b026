"""A field that holds a time and nothing else: words, a cron expression, or a date and time as ISO
8601 has them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from functions.agent.schedules.iso_time import ISO_TIME, read_moment
from functions.agent.schedules.when import CRON_CHARACTERS, When, expand_cron
from functions.texts.en import Texts
from sigil.errors import UsageError, one_line

SHOWN_CHARACTERS: Final = 60
ASK: Final = "ask the person exactly that, and send it again with a time that leaves no doubt"
ONLY_A_TIME: Final = "send only the time, as in: every weekday at 8; what is to happen stands apart"


def read_time(
    words: str, now: float, zone: str, texts: Texts, until: str = "", *, said: str = ""
) -> When:
    """Return the time that a field holds, and the end that another one gives it.

    It may hold what is `said` at that time as well: a whole request, as somebody wrote it.
    `UsageError` EASK for no time, and one that may be two: the message is the question to the
    person. EINVAL for words that say more.
    """
    if ISO_TIME.fullmatch(words):
        return When(kind="at", at=_read_moment(words, now, zone, texts), zone=zone)
    cron = expand_cron(words) if len(words) <= CRON_CHARACTERS else ""
    if cron:
        when = When(kind="cron", cron=cron, zone=zone)
    else:
        when = _read_words(words, now, zone, texts, said)
    return replace(when, until=_read_end(until, now, when.zone, texts)) if until else when


def _read_words(words: str, now: float, zone: str, texts: Texts, said: str = "") -> When:
    # the patterns of all phrases take 40 ms to compile, which no other request should wait for
    from functions.agent.schedules.phrase import Question, parse_when

    try:
        when, rest = parse_when(words, now, zone, texts)
    except Question as question:
        raise UsageError("EASK", question.message, source="schedule", suggestion=ASK) from None
    if rest and rest != said:
        raise UsageError(
            "EINVAL",
            f"{one_line(rest, SHOWN_CHARACTERS)!r} is no part of a time",
            source="schedule",
            suggestion=ONLY_A_TIME,
        )
    return when


def _read_end(until: str, now: float, zone: str, texts: Texts) -> float:
    """Return the last moment; a day counts to its last minute."""
    if ISO_TIME.fullmatch(until):
        return _read_moment(until, now, zone, texts)
    try:
        return _read_words(f"every hour until {until}", now, zone, texts).until
    except UsageError as problem:
        problem.message = f"until: {problem.message}"
        raise


def _read_moment(words: str, now: float, zone: str, texts: Texts) -> float:
    at = read_moment(words, zone)
    if at is None:
        message = texts.when_no_such_date.format(words=words)
        raise UsageError("EASK", message, source="schedule", suggestion=ASK)
    if at <= now:
        message = texts.when_past.format(words=words)
        raise UsageError("EASK", message, source="schedule", suggestion=ASK)
    return at
