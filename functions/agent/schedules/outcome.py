"""The outcome of a run reaches its schedule when its turn is closed, or when its event is given up.

A person's turn writes nothing here.
"""

from __future__ import annotations

from functions.agent.schedules.schedule import FAILED, Run, Schedules, make_notice
from functions.agent.session.document import Turn
from functions.events import Event
from functions.texts.languages import load_texts
from sigil.storage.kv import KV


def note_run(kv: KV, turn: Turn, stopped: str, *, said: bool, now: float) -> tuple[Event, ...]:
    """Write down what became of the run that a turn was, and return what is to be said about it.

    `stopped` is why its session may not go on, empty when it may; `said` says that it had something
    to say. What a schedule says without a model is written down here only when it was not said.
    """
    event = turn.event
    if event.kind not in ("wakeup", "say") or not event.data.get("wakeup"):
        return ()
    step = turn.trace[-1] if turn.trace else {}
    reason = ""
    if step.get("kind") == "skip":
        outcome = "skipped"
        reason = str(step.get("reason", ""))
    elif step.get("kind") == "given-up" or turn.failed or stopped:
        outcome = "failed"
        reason = stopped or str(step.get("failure") or step["kind"])
    elif event.kind == "say":
        return ()
    else:
        outcome = "said" if said else "silent"
    tokens = turn.usage.counted
    return _note(kv, Run(event.id, _find_due(event), now, outcome, reason, tokens))


def note_lost_run(kv: KV, event: Event, reason: str, now: float) -> tuple[Event, ...]:
    """Write down that the event of a run was given up before its turn, and return what is to be
    said about it.
    """
    if event.kind not in ("wakeup", "say") or not event.data.get("wakeup"):
        return ()
    return _note(kv, Run(event.id, _find_due(event), now, "failed", reason))


def _find_due(event: Event) -> float:
    """Return when a run was due, by the name of its event."""
    name = event.id.rpartition(":")[2]
    return int(name) / 1000 if name.isdecimal() else event.at


def _note(kv: KV, run: Run) -> tuple[Event, ...]:
    head, id, name = run.event.rsplit(":", 2)
    agent = head.partition(":")[2]
    schedule = Schedules(kv, agent).note_run(id, run)
    if not schedule or schedule.paused != FAILED or run.outcome != "failed":
        return ()
    texts = load_texts(schedule.language)
    told = texts.wakeup_paused.format(
        title=schedule.title, count=schedule.failures, number=schedule.number
    )
    return (make_notice(schedule, agent, f"{name}-paused", run.ended, told),)
