"""An outage is a time in which the model does not answer: a turn waits and asks again, and the chat
is told once.

How often it asked and waited is kept in the turn's trace, so that every worker that goes on with
the turn knows it. A trace is a sequence of rows, the newest last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from functions.agent.model.base import Failure, ModelReply
from functions.agent.safety.retry import backoff_seconds
from functions.texts.en import TEXTS as ENGLISH
from functions.texts.en import Texts
from sigil.json_fields import as_integer, as_number
from sigil.protocol import Json

Trace = Sequence[Mapping[str, Json]]

TRIES_MOST: Final = 5
"""Failed tries of a message in all: those of the client within a request, and those after a wait.
"""
WAITED_MOST: Final = 3_600.0
"""Seconds that a turn waits in all; a longer wait ends the turn with an answer that says so."""
ASKED_MOST: Final = 60.0
"""An endpoint that asks to wait for more seconds is not waited for, since what else people send
would wait as well: the turn ends with an answer that says how long it is.
"""
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
AWAY: Final = frozenset({"key", "money", "model"})
"""Failures that end when an owner has mended something. Work for whose answer nobody waits goes on
then.
"""
EVENT_SUFFIX: Final = "~waiting"
"""Behind an event's id: the notice of a wait is no answer to the event, so the client that
waits for the answer must not get it.
"""


def count_failed_tries(trace: Trace) -> int:
    """Return how many tries to reach the model have failed for a message."""
    return sum(as_integer(row.get("tries"), 0) or 0 for row in trace)


def count_reductions(trace: Trace) -> int:
    """Return how often requests of the turn were sent again with less in them."""
    return sum(as_integer(row.get("reduced"), 0) or 0 for row in trace)


def count_waits(trace: Trace) -> int:
    """Return how often the turn has waited for the model."""
    return sum(row["kind"] == "wait" for row in trace)


def may_wait(trace: Trace) -> bool:
    """Return whether the turn may ask again later, its last request having failed."""
    if count_failed_tries(trace) >= TRIES_MOST or _seconds_asked_for(trace) > ASKED_MOST:
        return False
    return _sum_waited(trace) + _seconds_asked_for(trace) <= WAITED_MOST


def may_wait_long(trace: Trace, reply: ModelReply) -> bool:
    """Return whether work that nobody waits for may ask again later, its last request having failed
    with this reply: as often as it takes, for as long as a turn waits in all.
    """
    is_away = reply.transient or (reply.failure is not None and reply.failure.kind in AWAY)
    return is_away and _sum_waited(trace) < WAITED_MOST


def is_over(trace: Trace) -> bool:
    """Return whether a turn has waited for as long as it may, and its model was still away."""
    return _sum_waited(trace) >= WAITED_MOST and trace[-1].get("finish") == "error"


def seconds_to_wait(trace: Trace, first: float) -> float:
    """Return the seconds to wait now.

    That is as long as the endpoint asked for, or about `first` seconds and longer the next times.
    """
    usual = backoff_seconds(0, min(first * GROWTH ** count_waits(trace), USUAL_MOST))
    left = max(WAITED_MOST - _sum_waited(trace), 0.0)
    return min(max(_seconds_asked_for(trace), usual), left)


def seconds_still_to_wait(trace: Trace, now: float) -> float:
    """Return the seconds until a waiting turn may ask again.

    0.0 when it may, when it does not wait, or when a clock that was set back cannot tell.
    """
    if not trace or trace[-1]["kind"] != "wait":
        return 0.0
    row = trace[-1]
    gone = now - as_number(row.get("at"))
    return max(as_number(row.get("seconds")) - gone, 0.0) if gone >= 0 else 0.0


def is_worth_telling(trace: Trace, seconds: float) -> bool:
    """Return whether a wait of so many seconds should be told: once a turn, and not a short one."""
    if any(row.get("told") for row in trace):
        return False
    return count_waits(trace) > 0 or seconds > SILENT_SECONDS


def describe_wait(trace: Trace, seconds: float, texts: Texts = ENGLISH) -> str:
    """Return what the chat is told about a wait of so many seconds."""
    is_busy = bool(trace) and trace[-1].get("failure") == "rate"
    why = texts.model_busy if is_busy else texts.model_away
    return f"{why} {texts.try_again_in.format(time=texts.format_span(seconds))}"


def suggest_retry(retry_after: float | None, texts: Texts = ENGLISH) -> str:
    """Return the request to try again, for a person whose message the turn no longer waits with."""
    if not retry_after:
        return texts.please_try_soon
    return texts.please_try_in.format(time=texts.format_span(retry_after))


def failure_facts(
    failure: Failure | None, tries: int, retry_after: float | None
) -> dict[str, str | int | float]:
    """Return the fields about failed tries for a row of the trace, which only owners read."""
    facts: dict[str, str | int | float] = {}
    if tries:
        facts["tries"] = tries
    if failure:
        facts["failure"] = failure.kind
        facts["detail"] = failure.detail
    if retry_after:
        facts["retry_after"] = retry_after
    return facts


def _seconds_asked_for(trace: Trace) -> float:
    """Return the seconds that the endpoint asked to wait when it failed last, 0.0 for none."""
    return as_number(trace[-1].get("retry_after")) if trace else 0.0


def _sum_waited(trace: Trace) -> float:
    return sum(as_number(row.get("seconds")) for row in trace if row["kind"] == "wait")
