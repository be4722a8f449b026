"""The progress of a run whose turn is not closed: its steps so far, and what is at work now.

All of it is in the session's document, which is saved before each request to the model and before
each round of calls: a turn writes nothing more for it. How far a call that takes long has come is
beside the document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from functions.agent.conversation.messages import find_unanswered
from functions.agent.runs.call_progress import LONG_SECONDS, read_call_progress
from functions.agent.runs.result import describe_step
from functions.agent.runs.run import RUNNING, WAITING, Run, Step, make_run
from functions.agent.session.document import Turn
from functions.agent.session.store import SessionHandle
from sigil.json_fields import as_number
from sigil.protocol import Json
from sigil.storage.kv import KV

CLOCK_SECONDS: Final = 2.0
"""The clocks of two processes may differ by so much."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A turn that is not closed, in the session with this key (S).

    `run` is what it did so far, and `now` are the steps at work: a request to the model, or the
    calls of a round. They wait where the model does not answer, or no worker has the turn.
    """

    key: str
    turn: Turn
    run: Run
    now: tuple[Step, ...]

    @property
    def is_waiting(self) -> bool:
        """Return whether nobody works on it at this moment."""
        return self.run.outcome == WAITING

    def describe(self) -> dict[str, object]:
        """Return it as programs get it, with the steps at work `now`."""
        run = self.run
        return {
            "id": run.id,
            "event": run.event,
            "state": run.outcome,
            "seconds": run.seconds,
            "now": [describe_step(step, run) for step in self.now],
        }

    def answers(self, event: str) -> bool:
        """Return whether the turn answers this event."""
        return any(each.id == event for each in self.turn.events)


def find_progress(
    opened: SessionHandle, now: float, kv: KV, *, model: str = "", held: bool = True
) -> Progress | None:
    """Return how far the turn of a session has come; None where none is in progress.

    `now` is in seconds since 1970. `kv` has the progress of calls that take long. `model` is the
    name of the agent's, and `held` says that some worker has the session.
    """
    turn = opened.document.turn
    if turn is None:
        return None
    is_waiting = turn.is_between_requests or not held
    state = WAITING if is_waiting else RUNNING
    at_work = _list_at_work(opened, turn, turn.count_ms(now), state)
    seconds = as_number(at_work[0]["ms"]) / 1000
    if at_work[0]["kind"] == "call" and state == RUNNING and seconds >= LONG_SECONDS:
        since = now - seconds - CLOCK_SECONDS
        told = read_call_progress(kv, opened.key, turn.event.id, since)
        at_work = tuple(_add_progress(step, told) for step in at_work)
    run = make_run(turn, opened, now, "", model)
    run = replace(run, outcome=state, why="", steps=(*run.steps, *at_work))
    return Progress(opened.key, turn, run, at_work)


def _list_at_work(opened: SessionHandle, turn: Turn, now: int, state: str) -> tuple[Step, ...]:
    """Return the steps of a turn that are at work `now`, in milliseconds since it began."""
    since = turn.since
    if turn.waiting:
        # of a wait the turn knows the time of day
        since = turn.count_ms(as_number(turn.trace[-1].get("at")))
    facts = {"at": since, "ms": max(now - since, 0), "state": state}
    calls = find_unanswered(opened.document.messages)
    if calls:
        return tuple({"kind": "call", "id": call.id, "name": call.name, **facts} for call in calls)
    return ({"kind": "request", "n": turn.next_request, **facts},)


def _add_progress(step: Step, told: Mapping[str, Mapping[str, Json]]) -> Step:
    """Return a call at work with how far it says that it has come, where it does."""
    found = told.get(str(step.get("id")))
    return {**step, "progress": dict(found)} if found else step


def list_new_steps(steps: Sequence[Step], seen: set[str]) -> list[Step]:
    """Return the steps that are over and were not `seen`, which has them afterwards."""
    fresh: list[Step] = []
    for step in steps:
        # a row leaves out the model that a turn in progress names
        name = repr(sorted((key, value) for key, value in step.items() if key != "model"))
        if "state" not in step and name not in seen:
            seen.add(name)
            fresh.append(step)
    return fresh
