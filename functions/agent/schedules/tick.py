"""The tick wakes agents whose time has come.

For each item of the index that is due: the event of the run is put into the queue, the item of the
next time is written, then the record, and the old item is deleted. Whatever crashes in between, or
works on the same item beside it, puts the same event again, which the queue and the session know.
An item whose time is not the one of its record is one that such a crash has left, and is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from functions.agent.behaviours.built_in import ON_SELF_IMPROVE
from functions.agent.schedules.schedule import (
    HEARTBEAT,
    SCHEDULE,
    SETTLED_SECONDS,
    WELL,
    Run,
    Schedule,
    Schedules,
    make_event,
    make_notice,
)
from functions.events import Event
from functions.texts.languages import load_texts
from functions.time.time_zone import format_clock
from sigil.errors import Conflict
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.base import KEYS_MOST, get_many
from sigil.storage.kv.update import retry_conflicts
from sigil.storage.stored import NewerFormat

FIRST_PAGE: Final = 25
PAGE: Final = 500
"""So many items of the index are read at once; at first few, since mostly nothing is due."""
LATE_MOST: Final = 86_400.0
"""What was due so many seconds ago does not run any more, unless a setting says another number; its
chat is told.
"""
PUNCTUAL: Final = 60.0
"""A reminder that comes so many seconds late does not say so."""
MISSED_MOST: Final = 1_000
"""So many missed times are counted."""

Put = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class DueItem:
    """An item of the index that is due: its sort key, the item, and the record of its schedule.

    `versions` are those of what a heartbeat watches, where they were read together with the record.
    """

    sort: str
    mark: Item
    record: Item | None
    versions: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Woken:
    """What a tick did: `queued` events, and when the next one is due (seconds since 1970; infinity
    for never).
    """

    queued: int
    due: float


def wake_agents(
    kv: KV,
    put: Put,
    root: str,
    now: float,
    *,
    late_most: float = LATE_MOST,
    only: str = "",
    hands: int = 1,
) -> Woken:
    """Put the events of all schedules of a root and the agents below it that are due, or `only` of
    one of them.

    What was due more than `late_most` seconds ago does not run any more. Up to so many `hands` work
    at once, each on what is due in chats of its own: where requests take long, ten thousand in a
    row would take minutes.
    """
    with ThreadPoolExecutor(hands) as pool:
        run_all = pool.map if hands > 1 else map
        partition = keys.due_wakeup(root, 0.0, "", "").partition
        return _wake_due(_Waker(kv, put, partition, now, late_most, run_all), now, only)


def _wake_due(waker: _Waker, now: float, only: str) -> Woken:
    """Let everything be woken that the index says is due, page after page."""
    queued = 0
    after = ""
    limit = FIRST_PAGE
    while True:
        page = waker.kv.scan(waker.partition, after=after, limit=limit)
        due = [row for row in page if _time_of(row[0]) <= now]
        wanted = [row for row in due if only in ("", _agent_of(row[0]))]
        for first in range(0, len(wanted), KEYS_MOST):
            queued += waker.wake_all(wanted[first : first + KEYS_MOST])
        if len(due) < len(page):
            return Woken(queued, _time_of(page[len(due)][0]))
        if len(page) < limit:
            return Woken(queued, inf)
        after = page[-1][0]
        limit = PAGE


def restore_marks(kv: KV, agents: Iterable[str], now: float) -> int:
    """Make the index of these agents anew from the records, and return how many items were missing.

    After a clock was set back, what was due next by the wrong time, or over by it, is due by the
    right one.
    """
    mended = 0
    for agent in agents:
        schedules = Schedules(kv, agent)
        for schedule in list(schedules.scan()):
            if schedule.paused:
                continue
            if schedules.set_right(schedule, now):
                mended += 1
            elif not schedule.is_over and kv.get(schedules.key_of_due(schedule)) is None:
                kv.put(schedules.key_of_due(schedule), b"")
                mended += 1
    return mended


def _time_of(sort: str) -> float:
    """Return the time of an item of the index, in seconds since 1970."""
    digits = sort.partition("#")[0]
    return int(digits) / 1000 if digits.isdecimal() else 0.0


def _agent_of(sort: str) -> str:
    """Return the agent that an item of the index is of."""
    return keys.unescape((*sort.split("#"), "")[1])


def _id_of(sort: str) -> str:
    """Return the id of the schedule that an item of the index is of."""
    return keys.unescape((*sort.split("#"), "", "")[2])


def _record_key(sort: str) -> Key:
    return keys.wakeup(_agent_of(sort), _id_of(sort))


def _row_of(sort: str, record: Item | None) -> str:
    """Return the chat in which a schedule speaks, whose words keep their order; for one that works,
    in a session of its own, a name of its own.
    """
    with suppress(ValueError, NewerFormat):
        schedule = SCHEDULE.read(record.value) if record else None
        if schedule and schedule.say:
            return schedule.session
    return sort


@dataclass(frozen=True, slots=True)
class _Waker:
    """Puts the events of what is due `now` by the index in `partition`, unless it is too late."""

    kv: KV
    put: Put
    partition: str
    now: float
    late_most: float
    run_all: Callable[[Callable[[list[DueItem]], int], Iterable[list[DueItem]]], Iterator[int]]

    def wake_all(self, due: Sequence[tuple[str, Item]]) -> int:
        """Put the events of items of the index, and return their count."""
        rows: dict[str, list[DueItem]] = {}
        for item in self._read_records(due):
            rows.setdefault(_row_of(item.sort, item.record), []).append(item)
        return sum(self.run_all(self._wake_in_order, rows.values()))

    def _read_records(self, due: Sequence[tuple[str, Item]]) -> Iterator[DueItem]:
        """Yield what is due with its records, and with what heartbeats watch: all of it with one
        request, as far as that takes so many keys.
        """
        wanted = [_record_key(sort) for sort, _ in due]
        watched = {}
        for sort, _ in due:
            if _id_of(sort) != HEARTBEAT:
                continue
            # it knows documents and history, which take 30 ms of a cold start
            from functions.agent.schedules.heartbeat import find_versions, list_watched

            named = list_watched(_agent_of(sort))
            if len(wanted) + len(named) <= KEYS_MOST:
                watched[sort] = (len(wanted), named)
                wanted += named.values()
        items = get_many(self.kv, wanted)
        for (sort, mark), record in zip(due, items[: len(due)], strict=True):
            versions = None
            if sort in watched:
                first, named = watched[sort]
                versions = find_versions(named, items[first : first + len(named)])
            yield DueItem(sort, mark, record, versions)

    def _wake_in_order(self, row: list[DueItem]) -> int:
        queued = 0
        for item in row:
            queued += self._wake(item)
            with suppress(Conflict):  # whoever wrote it anew meanwhile needs it
                self.kv.delete(Key(self.partition, item.sort), expect=item.mark.version)
        return queued

    def _wake(self, item: DueItem) -> int:
        """Put the event of one item, whose record is known as it was a moment ago."""
        read = [item]

        def attempt() -> int:
            if read:
                known = read.pop()
                return self._wake_once(known.sort, known.record, known.versions)
            return self._wake_once(item.sort, self.kv.get(_record_key(item.sort)))

        return retry_conflicts(attempt)

    def _wake_once(
        self, sort: str, item: Item | None, versions: Mapping[str, str] | None = None
    ) -> int:
        agent = _agent_of(sort)
        schedules = Schedules(self.kv, agent)
        try:
            schedule = SCHEDULE.read(item.value) if item else None
        except (ValueError, NewerFormat):
            schedule = None
        if not schedule or schedule.paused or schedules.key_of_due(schedule).sort != sort:
            return 0
        if schedule.heartbeat:
            from functions.agent.schedules.heartbeat import look

            changed, events = look(self.kv, schedule, agent, self.now, versions=versions)
        elif schedule.behaviour == ON_SELF_IMPROVE and not self._has_failed(schedule, agent):
            changed, events = _leave_out(schedule, agent, self.now), []
        else:
            changed, events = _decide(schedule, agent, self.now, self.late_most)
        for event in events:
            self.put(event)
        if changed.last and changed.last != schedule.last:
            schedules.keep_run(schedule.id, changed.last)
        settled = changed.due > self.now + SETTLED_SECONDS
        schedules.write(item, changed, moved=True, settled=settled)
        return len(events)

    def _has_failed(self, schedule: Schedule, agent: str) -> bool:
        """Return whether a run of the agent has failed since this schedule ran last."""
        # it knows sessions, which a tick mostly does without
        from functions.agent.runs.failures import has_failed_since

        return has_failed_since(self.kv, agent, schedule.started or schedule.since)


def _leave_out(schedule: Schedule, agent: str, now: float) -> Schedule:
    """Return what becomes of a schedule that looks for what to do better, where nothing failed."""
    event = make_event(schedule, agent, f"{round(schedule.due * 1000)}", now)
    run = Run(event.id, schedule.due, now, "skipped", WELL)
    return replace(schedule, due=schedule.find_next(max(now, schedule.due)), last=run)


def _decide(
    schedule: Schedule, agent: str, now: float, late_most: float
) -> tuple[Schedule, list[Event]]:
    """Return what becomes of a schedule that is due, and the events to put."""
    name = f"{round(schedule.due * 1000)}"
    missed = _count_missed(schedule, now)
    texts = load_texts(schedule.language)
    changed = replace(schedule, due=schedule.find_next(max(now, schedule.due)))
    was_due = format_clock(schedule.due, schedule.when.zone, now)
    if schedule.collects:
        return replace(changed, runs=1), [make_event(schedule, agent, name, now)]
    if now - schedule.due > late_most and not _was_due_since(schedule, now - late_most, now):
        text = texts.wakeup_too_late.format(title=schedule.title, time=was_due, count=missed + 1)
        # by a clock that is ahead: the event of this time may still come
        notice = make_notice(schedule, agent, f"late-{name}", now, text)
        run = Run(notice.id, schedule.due, now, "skipped", "late")
        return replace(changed, missed=schedule.missed + missed + 1, last=run), [notice]
    if schedule.is_running(now):
        return replace(changed, skipped=schedule.skipped + missed + 1), []
    note = ""
    if missed:
        note = texts.wakeup_missed.format(count=missed, time=was_due)
    elif schedule.say and now - schedule.due > PUNCTUAL:
        note = texts.wakeup_late.format(time=was_due)
    event = make_event(schedule, agent, name, now, note)
    changed = replace(changed, runs=schedule.runs + 1, missed=schedule.missed + missed)
    if changed.when.times and changed.runs >= changed.when.times:
        changed = replace(changed, due=0.0)
    if schedule.say:
        run = Run(event.id, schedule.due, now, "said")
        return replace(changed, last=run), [event]
    return changed.begin_run(event.id, now), [event]


def _count_missed(schedule: Schedule, now: float) -> int:
    """Return how many times of a schedule have passed after the one that is due."""
    due = schedule.find_next(schedule.due)
    count = 0
    while due and due <= now and count < MISSED_MOST:
        count += 1
        due = schedule.find_next(due)
    return count


def _was_due_since(schedule: Schedule, begin: float, now: float) -> bool:
    """Return whether one of its times came after `begin`, so that there is something to make up
    for.
    """
    found = schedule.find_next(begin)
    return bool(found) and found <= now
