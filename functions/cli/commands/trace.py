"""`uncaged trace`: what turns did and are doing, and what they set off."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import orjson

from functions.agent.agents.record import is_name, join_name
from functions.agent.runs.event_chain import EventChain
from functions.agent.runs.progress import Progress, list_new_steps
from functions.agent.runs.result import describe, describe_step
from functions.agent.runs.run import Run, Step, format_at_work, format_step
from functions.agent.runs.tree import (
    build_tree,
    describe_tree,
    find_run,
    format_tree,
    list_agents,
    scan_all_runs,
)
from functions.agent.session.store import Sessions
from functions.settings import Settings
from functions.turns_in_progress import TurnsInProgress, open_turns
from sigil.cli.printing import Printer
from sigil.cli.times import format_count, format_time
from sigil.errors import UsageError
from sigil.storage.kv import KV
from sigil.wiring import open_stores

LATEST = 20
LOOKED_MOST = 200
FOLLOW_SECONDS = 1.0
LOOKS_MOST = 10
"""So often the row of a turn that is closed is looked for: a crash may have lost it."""
TURN_SECONDS_MOST = 7_200.0
"""Whoever follows sees turns that took less, with all their waits."""


@dataclass(frozen=True, slots=True)
class TraceReader:
    """What `uncaged trace` reads: the runs of these agents, and the turns in progress.

    A chain may use `chain_tokens`. `pause` waits a number of seconds between two looks.
    """

    kv: KV
    agents: Sequence[str]
    turns: TurnsInProgress
    chain_tokens: int
    json: bool
    pause: Callable[[float], None]

    def list_running(self) -> list[Progress]:
        """Return the turns in progress of these agents, those that began last first."""
        return [each for each in self.turns.list_all() if each.run.agent in self.agents]

    def find(self, name: str) -> Run | None:
        """Return a run by its id or its event, as far as it has come; None when there is none."""
        found = self.turns.find(name)
        return found.run if found else find_run(self.kv, self.agents, name)


def show_runs(
    name: str | None, *, follow: bool, json: bool, pause: Callable[[float], None] = time.sleep
) -> None:
    """Print what the turn of an event did, with all that it set off, or the latest runs of an
    agent; without a name, those of all agents. With `follow` wait for what comes: of an event each
    step until its turn is closed.

    `UsageError` with ENOENT when nothing is known of the event.
    """
    settings = Settings.read()
    stores = open_stores(settings)
    agents = list_agents(stores.kv, settings.agent)
    turns = open_turns(Sessions(stores.kv, stores.artifacts), settings, stores.kv)
    reader = TraceReader(stores.kv, agents, turns, settings.chain_tokens, json, pause)
    if name is not None and name != settings.agent:
        full_name = join_name(settings.agent, name) if is_name(name) else ""
        if full_name not in agents:
            show = _follow_run if follow else _show_run
            show(reader, name)
            return
        reader = replace(reader, agents=[full_name])
    elif name is not None:
        reader = replace(reader, agents=[name])
    if follow:
        _follow_runs(reader)
    else:
        _list_runs(reader)


def _show_run(reader: TraceReader, name: str) -> None:
    run = reader.find(name)
    if run is None:
        raise _refuse_unknown(name)
    tree = build_tree(reader.kv, reader.agents, run)
    if reader.json:
        Printer(json=True).document(describe_tree(tree))
        return
    lines = format_tree(tree)
    runs = list(tree.walk())
    if len(runs) > 1:
        total = sum(each.usage.total for each in runs)
        lines.append(f"{format_count(len(runs), 'run')}, {total:,} tokens in all")
    if tree.chain:
        lines.append(_describe_chain(tree.chain, run.first, reader.chain_tokens))
    Printer().text("\n".join(lines))


def _describe_chain(chain: EventChain, first: str, most: int) -> str:
    """Return what everything that the event `first` set off has used, of `most` tokens."""
    limit = f" of {most:,}" if most else ""
    at_work = sum(each.open for each in chain.runs)
    busy = f" ({at_work} at work)" if at_work else ""
    events = format_count(chain.events, "event")
    return f"the chain of {first}: {events}{busy}, {chain.tokens:,}{limit} tokens"


def _refuse_unknown(name: str) -> UsageError:
    return UsageError(
        "ENOENT",
        "no trace of this event",
        source=name,
        suggestion="`uncaged trace` lists the latest; older ones are gone after UNCAGED_RUN_DAYS",
    )


def _follow_run(reader: TraceReader, name: str) -> None:
    """Print each step of an event's turn when it happens, and the whole run once it is closed.

    It waits for an event that nobody has begun with.
    """
    found = reader.turns.find(name)
    closed = None
    while found is None and closed is None:
        closed = find_run(reader.kv, reader.agents, name)
        if closed is None:
            reader.pause(FOLLOW_SECONDS)
            found = reader.turns.find(name)
    steps = StepPrinter(json=reader.json)
    while found is not None:
        name = found.run.id
        steps.show(found.run, found.now)
        reader.pause(FOLLOW_SECONDS)
        found = reader.turns.refresh(found)
    # the row of a run is written after its session, by which the turn is closed
    for _ in range(LOOKS_MOST):
        closed = closed or find_run(reader.kv, reader.agents, name)
        if closed:
            break
        reader.pause(FOLLOW_SECONDS)
    if closed is None:
        raise _refuse_unknown(name)
    steps.show(closed, ())
    if reader.json:
        _print_run(closed, json=True)
    else:
        Printer().line(_describe_run(closed))


@dataclass(slots=True)
class StepPrinter:
    """Prints the steps of a run as they happen, each once, and what is at work when it changes."""

    json: bool
    _seen: set[str] = field(default_factory=set)
    _at_work: set[str] = field(default_factory=set)
    _requests: int = 0

    def show(self, run: Run, now: Sequence[Step]) -> None:
        """Print what is new in a run, whose steps at work are those of `now`."""
        for step in list_new_steps(run.steps, self._seen):
            if step["kind"] == "request":
                self._requests += 1
            self._print(run, step, format_step(step, self._requests))
        for step in now:
            name = f"{step.get('n')} {step.get('id')} {step['at']} {step['state']}"
            name += f" {step.get('progress')}"
            if name not in self._at_work:
                self._at_work.add(name)
                what = str(step.get("name") or f"request {step.get('n')}")
                self._print(run, step, f"  │   … {what} {format_at_work(step)}")

    def _print(self, run: Run, step: Step, line: str) -> None:
        if self.json:
            row = {"run": run.id, "step": describe_step(step, run)}
            sys.stdout.write(orjson.dumps(row).decode() + "\n")
        else:
            Printer().line(line)
        sys.stdout.flush()


def _list_runs(reader: TraceReader) -> None:
    """Print the turns in progress and the latest runs, the newest first."""
    latest = [each.run for each in reader.list_running()]
    latest += islice(scan_all_runs(reader.kv, reader.agents), LATEST)
    if reader.json:
        Printer(json=True).document([describe(run) for run in latest])
        return
    if not latest:
        Printer().note("no turn has a trace")
    for run in latest:
        _print_run(run, json=False)


def _follow_runs(reader: TraceReader) -> None:
    """Print the latest runs, the oldest first, and go on with those that come: a turn when it
    begins, whenever another step is at work, and when it is closed.
    """
    latest = list(islice(scan_all_runs(reader.kv, reader.agents), LATEST))
    known = {run.id for run in latest}
    for run in reversed(latest):
        _print_run(run, json=reader.json)
    at_work: set[str] = set()
    while True:
        for progress in reversed(reader.list_running()):
            name = f"{progress.run.id} {progress.run.outcome} {len(progress.turn.trace)}"
            if name not in at_work:
                at_work.add(name)
                _print_run(progress.run, json=reader.json)
        # a turn is listed by its beginning, and written when it has ended
        newest = islice(scan_all_runs(reader.kv, reader.agents), LOOKED_MOST)
        fresh = [run for run in newest if run.began > time.time() - TURN_SECONDS_MOST]
        for run in reversed(fresh):
            if run.id not in known:
                known.add(run.id)
                _print_run(run, json=reader.json)
        reader.pause(FOLLOW_SECONDS)


def _print_run(run: Run, *, json: bool) -> None:
    if json:
        sys.stdout.write(orjson.dumps(describe(run)).decode() + "\n")
    else:
        Printer().line(_describe_run(run))
    sys.stdout.flush()


def _describe_run(run: Run) -> str:
    """Return a run in one line, with what is at work where it is in progress."""
    why = f" ({run.why})" if run.why else ""
    what = f"{run.reason}: {run.outcome}{why}, {format_count(run.requests, 'request')}"
    now = [
        f"{step.get('name') or 'request'} {format_at_work(step)}"
        for step in run.steps
        if "state" in step
    ]
    begun = f"{run.event}  {format_time(run.began)}  {run.session}  {what}"
    return ", ".join([begun, *now])
