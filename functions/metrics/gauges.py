"""The values that are read when somebody asks for them: of the queue, the budget, the sandbox."""

from __future__ import annotations

import time
from itertools import islice
from typing import Final, Protocol, runtime_checkable

from functions.agent.app import App
from functions.agent.safety.budget import (
    TokenBudget,
    name_period,
    read_forgiven,
    read_total,
)
from functions.metrics import instruments as known
from functions.metrics.meter import Meter
from functions.queues.base import Queue
from functions.queues.leases import read_end
from functions.queues.waiting_events import decode_waiting
from sigil.errors import UsageError
from sigil.registry import LocalRegistry
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import scan_all

LANES: Final = {"chats": keys.READY, "control": keys.READY_CONTROL, "work": keys.READY_WORK}
COUNTED_MOST: Final = 1_000
LOOKED_MOST: Final = 50
"""The age of the oldest event is that of so many sessions of a lane."""


@runtime_checkable
class CountsEvents(Protocol):
    """A queue that can count its events, if not list them."""

    def count_waiting(self) -> int:
        """Return about how many events are in it."""


@runtime_checkable
class CountsWatchers(Protocol):
    """Knows how many clients look on at turns."""

    def count_watchers(self) -> int:
        """Return how many there are."""


def read_gauges(meter: Meter, app: App, queue: Queue, live: CountsWatchers) -> None:
    """Set the gauges of a server to what they are now."""
    if isinstance(queue, CountsEvents):
        meter.set(known.QUEUE_EVENTS, (), queue.count_waiting())
    else:
        _read_queue(meter, app.kv, app.root)
    dead = keys.dead_letter("").partition
    meter.set(known.DEAD_LETTERS, (), _count(app.kv, dead))
    _read_budget(meter, app)
    meter.set(known.WATCHERS, (), live.count_watchers())
    if isinstance(app.registry, LocalRegistry):
        sandbox = app.registry.count_runners()
        meter.set(known.SANDBOX_CHILDREN, (), sandbox["children"])
        meter.set(known.SANDBOX_BUSY, (), sandbox["busy"])
        meter.set(known.SANDBOX_WAITING, (), sandbox["waiting"])


def _count(kv: KV, partition: str) -> int:
    return sum(1 for _ in islice(scan_all(kv, partition), COUNTED_MOST))


def _read_queue(meter: Meter, kv: KV, root: str) -> None:
    """Set how many sessions of each lane wait for a worker, and how long the first of them."""
    now = time.time()
    prefix = keys.escape(root)
    claims = scan_all(kv, keys.session_claim("").partition, prefix)
    held = {group for group, item in islice(claims, COUNTED_MOST) if read_end(item) > now}
    for lane, index in LANES.items():
        groups = [
            group
            for group, _ in islice(scan_all(kv, index, prefix), COUNTED_MOST)
            if keys.belongs_to(root, group) and group not in held
        ]
        begins = [_find_begin(kv, group, now) for group in groups[:LOOKED_MOST]]
        meter.set(known.QUEUE_SESSIONS, (lane,), len(groups))
        meter.set(known.QUEUE_AGE, (lane,), max(now - min(begins, default=now), 0.0))


def _find_begin(kv: KV, group: str, now: float) -> float:
    """Return when the first event of a session was sent, `now` where that is not known."""
    for sort, item in kv.scan(keys.inbox_event(group, "").partition, limit=1):
        try:
            return decode_waiting(sort, item).event.at
        except UsageError:  # the queue makes it a dead letter
            return now
    return now


def _read_budget(meter: Meter, app: App) -> None:
    """Set what the budget's period has spent, as its running total knows it."""
    budget = TokenBudget(app.kv, app.root, app.limits, app.clock.now)
    period = name_period(app.clock.now(), app.limits)
    total = read_total(app.kv.get(budget.total_key(period)))
    forgiven = read_forgiven(app.kv.get(budget.forgiven_key(period)))
    spent = max(total.tokens - forgiven, 0) if total else 0
    meter.set(known.BUDGET_SPENT, (), spent)
    meter.set(known.BUDGET_LIMIT, (), app.limits.tokens)
