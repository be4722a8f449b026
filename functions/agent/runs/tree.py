"""The tree of a run: what it did, and the runs that it set off, whichever agent did them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import islice

from functions.agent.agents.record import join_name, scan_agents
from functions.agent.runs.event_chain import EventChain, load_chain
from functions.agent.runs.result import describe
from functions.agent.runs.run import LOOKED_MOST, Run, format_run, load_run, load_runs, scan_runs
from sigil.storage.kv import KV

RUNS_MOST = 200
"""A tree shows so many runs at most."""


@dataclass(frozen=True, slots=True)
class RunTree:
    """A run with those that its events set off, the oldest first.

    `left_out` counts the runs of the tree that are not in it. `chain` is the chain of events that
    all of them belong to, at the top of the tree, where it is known.
    """

    run: Run
    children: tuple[RunTree, ...] = ()
    left_out: int = 0
    chain: EventChain | None = None

    def walk(self) -> Iterator[Run]:
        """Yield all runs of the tree, each before those that it set off."""
        yield self.run
        for child in self.children:
            yield from child.walk()


def list_agents(kv: KV, root: str) -> list[str]:
    """Return the names of a root and of all agents below it."""
    return [root, *(join_name(root, name) for name, _ in scan_agents(kv, root))]


def scan_all_runs(kv: KV, agents: Sequence[str]) -> Iterator[Run]:
    """Yield the runs of several agents, the newest first."""
    return merge(*(scan_runs(kv, agent) for agent in agents), key=lambda run: run.id)


def find_run(kv: KV, agents: Sequence[str], name: str) -> Run | None:
    """Return the run of one of these agents by its id or its event, None when there is none."""
    return next((run for agent in agents if (run := load_run(kv, agent, name))), None)


def build_tree(kv: KV, agents: Sequence[str], run: Run) -> RunTree:
    """Return the tree of a run, from the runs that the record of its chain names.

    Where there is none, of an older release or after its time, what these agents did since then is
    looked through. Of more runs than a record names the newest are there, below the first event.
    """
    if run.posts == 0 and not run.root:
        return RunTree(run)
    chain = load_chain(kv, run.agent, run.first)
    if chain:
        others = load_runs(kv, [(each.agent, each.run) for each in chain.runs])
    else:
        others = list(_scan_chain(kv, agents, run))
    known = {run.event, *(other.event for other in others)}
    by_cause: dict[str, list[Run]] = defaultdict(list)
    for other in others:
        cause = other.cause
        if chain and cause and cause not in known:
            cause = run.first
        by_cause[cause].append(other)
    by_cause.pop("", None)
    left = RUNS_MOST

    def grow(run: Run) -> RunTree:
        nonlocal left
        # a cause is handled once, whatever is stored: nothing can go in a circle
        found = by_cause.pop(run.event, [])[::-1]
        taken = found[:left]
        left -= len(taken)
        children = tuple(grow(child) for child in taken)
        return RunTree(run, children, len(found) - len(taken))

    tree = grow(run)
    if not chain:
        return tree
    more = chain.left_out if run.event == run.first else 0
    return replace(tree, chain=chain, left_out=tree.left_out + more)


def _scan_chain(kv: KV, agents: Sequence[str], run: Run) -> Iterable[Run]:
    """Yield the runs of the chain of a run that these agents have done since it began."""
    for other in islice(scan_all_runs(kv, agents), LOOKED_MOST):
        if other.began < run.began:
            return
        if other.root == run.first and other.cause:
            yield other


def format_tree(tree: RunTree, *, is_top: bool = True) -> list[str]:
    """Return the tree as lines: a run, its requests and their calls, and below it the runs that it
    set off.
    """
    run = tree.run
    lines = format_run(run)
    if run.kind != "message" or run.outcome not in ("said", "silent"):
        why = f" ({run.why})" if run.why else ""
        lines.insert(1, f"  {run.reason}: {run.outcome}{why}")
    if is_top and run.cause:
        lines.insert(1, f"  set off by {run.cause}")
    for child in tree.children:
        first, *rest = format_tree(child, is_top=False)
        lines.append(f"  └ {first}")
        lines.extend(f"    {line}" for line in rest)
    if tree.left_out and tree.chain:
        lines.append(f"  └ more than {RUNS_MOST}, the newest are shown: {tree.left_out:,} are not")
    elif tree.left_out:
        lines.append(f"  └ and {tree.left_out} more")
    return lines


def describe_chain(chain: EventChain, first: str) -> dict[str, object]:
    """Return what programs get of the chain that the event `first` began."""
    at_work = sum(each.open for each in chain.runs)
    return {"event": first, "events": chain.events, "at_work": at_work, "tokens": chain.tokens}


def describe_tree(tree: RunTree) -> dict[str, object]:
    """Return the tree as programs get it: a run, with those that it set off as its `children`."""
    fields = describe(tree.run)
    fields["children"] = [describe_tree(child) for child in tree.children]
    if tree.left_out:
        fields["left_out"] = tree.left_out
    if tree.chain:
        fields["chain"] = describe_chain(tree.chain, tree.run.first)
    return fields
