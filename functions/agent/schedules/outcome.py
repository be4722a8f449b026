"""The outcome of a run reaches its schedule, or the hook that set it off, when its turn is closed,
or when its event is given up.

A person's turn writes nothing here.
"""

from __future__ import annotations

from functions.agent.behaviours.chain import SPENT, has_said, name_run, read_count
from functions.agent.schedules.heartbeat import read_versions
from functions.agent.schedules.schedule import FAILED, HEARTBEAT, Run, Schedules, make_notice
from functions.agent.session.document import Turn
from functions.channels.platforms import find_command_sign
from functions.events import Event
from functions.hooks import HookRun, Hooks
from functions.texts.languages import load_texts
from sigil.storage.kv import KV, keys


def note_run(kv: KV, turn: Turn, stopped: str, *, said: bool, now: float) -> tuple[Event, ...]:
    """Write down what became of the run that a turn was, and return what is to be said about it.

    `stopped` is why its session may not go on, empty when it may; `said` says that it had something
    to say. What a schedule says without a model, at its time, is written down here only when it was
    not said, or quiet hours hold it back.
    """
    event = turn.event
    if not (_is_run(event) or event.hook):
        return ()
    step = turn.trace[-1] if turn.trace else {}
    reason = ""
    if step.get("kind") == "skip":
        outcome = "skipped"
        reason = str(step.get("reason", ""))
    elif step.get("kind") == "given-up" or turn.failed or turn.is_cut_short or stopped:
        outcome = "failed"
        reason = stopped or str(step.get("failure") or step.get("limit") or step["kind"])
    elif turn.held_back:
        outcome = "silent"
        reason = turn.held_back
    elif turn.is_handed_on or (event.kind == "say" and _is_by_tick(event)):
        return ()
    elif event.kind == "say":
        outcome = "said"
    else:
        outcome = "said" if said or has_said(event, turn.trace) else "silent"
    tokens = read_count(event, SPENT) + turn.usage.counted
    run = Run(name_run(event), _find_due(event), now, outcome, reason, tokens)
    return _note(kv, event, run, turn.began)


def note_lost_run(kv: KV, event: Event, reason: str, now: float) -> tuple[Event, ...]:
    """Write down that the event of a run was given up before its turn, and return what is to be
    said about it.
    """
    if not (_is_run(event) or event.hook):
        return ()
    tokens = read_count(event, SPENT)
    return _note(kv, event, Run(name_run(event), _find_due(event), now, "failed", reason, tokens))


def note_skipped_run(kv: KV, event: Event, reason: str, now: float) -> bool:
    """Write down that a run was left out, because its agent is away for the time being; False for
    what is no run.
    """
    if not _is_run(event):
        return False
    _note(kv, event, Run(event.id, _find_due(event), now, "skipped", reason))
    return True


def _is_run(event: Event) -> bool:
    """Return whether an event is a run of a schedule."""
    is_known = event.data.get("wakeup") and event.data.get("owner")
    return event.kind in ("wakeup", "say") and bool(is_known)


def _is_by_tick(event: Event) -> bool:
    """Return whether the tick woke it at its time, and so has written down that it was said."""
    data = event.data
    return event.id.removeprefix(f"wakeup:{data['owner']}:{data['wakeup']}:").isdecimal()


def _find_due(event: Event) -> float:
    """Return when a run was due."""
    due = event.data.get("due")
    return float(due) if isinstance(due, int | float) and due >= 0 else event.at


def _note(kv: KV, event: Event, run: Run, began: float = 0.0) -> tuple[Event, ...]:
    """Write down a run whose last turn `began` at this time (seconds since 1970)."""
    if event.hook:
        hooks = Hooks(kv, keys.root_of(event.agent))
        ended = HookRun(run.event, run.outcome, run.reason, run.tokens, run.ended)
        hooks.note_run(event.hook, event.session, ended)
        return ()
    agent = str(event.data["owner"])
    id = str(event.data["wakeup"])
    seen = None
    if id == HEARTBEAT and run.outcome in ("said", "silent"):
        # with what the run has changed itself, so that it does not run for that again; of files
        # that people changed since its turn began it was not told
        seen = read_versions(kv, agent, until=began)
    schedule = Schedules(kv, agent).note_run(id, run, seen)
    if not schedule or schedule.paused != FAILED or run.outcome != "failed":
        return ()
    texts = load_texts(schedule.language, find_command_sign(schedule.session))
    told = texts.wakeup_paused.format(
        title=schedule.title, count=schedule.failures, number=schedule.number
    )
    name = f"{round(run.due * 1000)}-paused"
    return (make_notice(schedule, agent, name, run.ended, told),)
