"""`uncaged trace`: what turns did, and what they set off."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from itertools import islice

import orjson

from functions.agent.agents.record import is_name, join_name
from functions.agent.runs.event_chain import EventChain
from functions.agent.runs.result import describe
from functions.agent.runs.run import Run
from functions.agent.runs.tree import (
    build_tree,
    describe_tree,
    find_run,
    format_tree,
    list_agents,
    scan_all_runs,
)
from functions.settings import Settings
from sigil.cli.printing import Printer
from sigil.cli.times import format_count, format_time
from sigil.errors import UsageError
from sigil.storage.kv import KV
from sigil.wiring import open_stores

LATEST = 20
LOOKED_MOST = 200
FOLLOW_SECONDS = 1.0
TURN_SECONDS_MOST = 7_200.0
"""Whoever follows sees turns that took less, with all their waits."""


def show_runs(
    name: str | None, *, follow: bool, json: bool, pause: Callable[[float], None] = time.sleep
) -> None:
    """Print what the turn of an event did, with all that it set off, or the latest runs of an
    agent; without a name, those of all agents. With `follow` wait for what comes.

    `UsageError` with ENOENT when nothing is known of the event.
    """
    settings = Settings.read()
    kv = open_stores(settings).kv
    agents = list_agents(kv, settings.agent)
    if name is None:
        _list_runs(kv, agents, follow=follow, json=json, pause=pause)
    elif name == settings.agent or (is_name(name) and join_name(settings.agent, name) in agents):
        chosen = name if name == settings.agent else join_name(settings.agent, name)
        _list_runs(kv, [chosen], follow=follow, json=json, pause=pause)
    else:
        most = settings.chain_tokens
        _show_run(kv, agents, name, most=most, follow=follow, json=json, pause=pause)


def _show_run(
    kv: KV,
    agents: Sequence[str],
    name: str,
    *,
    most: int,
    follow: bool,
    json: bool,
    pause: Callable[[float], None],
) -> None:
    run = find_run(kv, agents, name)
    while run is None and follow:
        pause(FOLLOW_SECONDS)
        run = find_run(kv, agents, name)
    if run is None:
        raise UsageError(
            "ENOENT",
            "no trace of this event",
            source=name,
            suggestion="`uncaged trace` lists the latest; older ones are gone after"
            " UNCAGED_RUN_DAYS",
        )
    tree = build_tree(kv, agents, run)
    if json:
        Printer(json=True).document(describe_tree(tree))
        return
    lines = format_tree(tree)
    runs = list(tree.walk())
    if len(runs) > 1:
        total = sum(each.usage.total for each in runs)
        lines.append(f"{format_count(len(runs), 'run')}, {total:,} tokens in all")
    if tree.chain:
        lines.append(_describe_chain(tree.chain, run.first, most))
    Printer().text("\n".join(lines))


def _describe_chain(chain: EventChain, first: str, most: int) -> str:
    """Return what everything that the event `first` set off has used, of `most` tokens."""
    limit = f" of {most:,}" if most else ""
    at_work = sum(each.open for each in chain.runs)
    busy = f" ({at_work} at work)" if at_work else ""
    events = format_count(chain.events, "event")
    return f"the chain of {first}: {events}{busy}, {chain.tokens:,}{limit} tokens"


def _list_runs(
    kv: KV,
    agents: Sequence[str],
    *,
    follow: bool,
    json: bool,
    pause: Callable[[float], None],
) -> None:
    """Print the latest runs, the newest first; with `follow` the oldest first, and go on with
    those that come.
    """
    latest = list(islice(scan_all_runs(kv, agents), LATEST))
    if not follow:
        if json:
            Printer(json=True).document([describe(run) for run in latest])
            return
        if not latest:
            Printer().note("no turn has a trace")
        for run in latest:
            _print_run(run, json=False)
        return
    known = {run.id for run in latest}
    for run in reversed(latest):
        _print_run(run, json=json)
    while True:
        pause(FOLLOW_SECONDS)
        # a turn is listed by its beginning, and written when it has ended
        newest = islice(scan_all_runs(kv, agents), LOOKED_MOST)
        fresh = [run for run in newest if run.began > time.time() - TURN_SECONDS_MOST]
        for run in reversed(fresh):
            if run.id not in known:
                known.add(run.id)
                _print_run(run, json=json)


def _print_run(run: Run, *, json: bool) -> None:
    if json:
        sys.stdout.write(orjson.dumps(describe(run)).decode() + "\n")
    else:
        why = f" ({run.why})" if run.why else ""
        what = f"{run.reason}: {run.outcome}{why}, {format_count(run.requests, 'request')}"
        Printer().line(f"{run.event}  {format_time(run.began)}  {run.session}  {what}")
    sys.stdout.flush()
