"""What a turn does while its model gives no answer: how often it asks again, when, and what the
chat is told meanwhile.
"""

from __future__ import annotations

from typing import Final

from functions.agent import scheduled_replies
from functions.agent.model.base import Failure
from functions.agent.safety.retry import backoff_seconds
from functions.agent.session.document import Turn

TRIES_MOST: Final = 5
"""Failed tries of a message in all: those of the client within a request, and those after a wait.
"""
WAITED_MOST: Final = 3_600.0
"""Seconds that a turn waits in all: what takes longer is told instead."""
PAUSE_MOST: Final = 10.0
"""Seconds that a worker waits within a request, where the turn itself can wait instead and let
other chats go on.
"""
SILENT_SECONDS: Final = 20.0
"""A first wait that is longer is told at once; a shorter one only when the model is still away
after it.
"""
GROWTH: Final = 4
USUAL_MOST: Final = 60.0
"""Seconds that a wait takes at most when the endpoint asked for none."""
_WHY: Final = {"rate": "The model takes no more requests for now."}
AWAY: Final = "The model does not answer at the moment."
AGAIN: Final = "Your message is kept, and I try again in {time}."
EVENT_SUFFIX: Final = "~waiting"
"""Behind an event's id: the sentence is no answer to the event, so whoever waits for that must not
get it.
"""


def failed_tries(turn: Turn) -> int:
    """How many tries to reach the model have failed for a message."""
    return sum(int(row.get("tries") or 0) for row in turn.trace)


def asked_for(turn: Turn) -> float:
    """The seconds that the endpoint asked to wait when it failed last; 0.0 when it asked for
    nothing.
    """
    return float(turn.trace[-1].get("retry_after") or 0.0) if turn.trace else 0.0


def may_wait(turn: Turn) -> bool:
    """Whether the turn may ask again later, its last request having failed."""
    return failed_tries(turn) < TRIES_MOST and _waited(turn) + asked_for(turn) <= WAITED_MOST


def seconds_to_wait(turn: Turn, first: float) -> float:
    """How long to wait now: what the endpoint asked for, or about `first` seconds, and longer the
    next times.
    """
    usual = backoff_seconds(0, min(first * GROWTH ** waits_so_far(turn), USUAL_MOST))
    left = max(WAITED_MOST - _waited(turn), 0.0)
    return min(max(asked_for(turn), usual), left)


def waits_so_far(turn: Turn) -> int:
    return sum(row["kind"] == "wait" for row in turn.trace)


def is_to_tell(turn: Turn, seconds: float) -> bool:
    """Whether the chat is told now that the turn waits: once, and not for scheduled work, for whose
    answer nobody waits.
    """
    told = any(row.get("told") for row in turn.trace)
    return (
        not told
        and turn.event.kind not in scheduled_replies.KINDS
        and (waits_so_far(turn) > 0 or seconds > SILENT_SECONDS)
    )


def sentence(turn: Turn, seconds: float) -> str:
    """What the chat is told of the wait."""
    kind = str(turn.trace[-1].get("failure")) if turn.trace else ""
    return f"{_WHY.get(kind, AWAY)} {AGAIN.format(time=_span(seconds))}"


def still_to_wait(turn: Turn, now: float) -> float:
    """The seconds until a waiting turn may ask again; 0.0 when it may, or does not wait, or a clock
    that was set back cannot tell.
    """
    if not turn.waiting:
        return 0.0
    row = turn.trace[-1]
    gone = now - float(row.get("at") or 0.0)
    return max(float(row.get("seconds") or 0.0) - gone, 0.0) if gone >= 0 else 0.0


def again(retry_after: float | None) -> str:
    """What is said to somebody whose message is not waited for any longer, of what may pass."""
    return f"Please try again in {_span(retry_after) if retry_after else 'a moment'}."


def facts_of(
    failure: Failure | None, tries: int, retry_after: float | None
) -> dict[str, str | int | float]:
    """What a turn's trace keeps of failed tries, for owners."""
    facts: dict[str, str | int | float] = {"tries": tries} if tries else {}
    if failure:
        facts |= {"failure": failure.kind, "detail": failure.detail}
    if retry_after:
        facts["retry_after"] = retry_after
    return facts


def _waited(turn: Turn) -> float:
    return sum(float(row.get("seconds") or 0.0) for row in turn.trace if row["kind"] == "wait")


def _span(seconds: float) -> str:
    if seconds < 50:
        return f"{max(round(seconds / 5) * 5, 5)} seconds"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} minutes" if minutes > 1 else "a minute"
    hours = round(minutes / 60)
    return f"{hours} hours" if hours > 1 else "an hour"
