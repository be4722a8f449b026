"""The sweeper removes what has expired, and hides from queries what nobody used for long.

It reads no manifest, so every process can afford it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import orjson

from sigil.catalog import changes, heads, public_index, usage
from sigil.catalog.audit import Audit
from sigil.catalog.heads import HeadState
from sigil.errors import BackendError, Conflict
from sigil.storage.kv import ABSENT, KV, Item, keys
from sigil.storage.kv.update import scan_all

IDLE_SECONDS = 30 * 86_400.0
DAY_SECONDS = 86_400.0
AGAIN_SECONDS = 300.0
"""When the daily work is begun anew after a process that died in it; longer than a tick may take.
"""
AT_ONCE = 500
"""At most so many expiries a tick; the next one goes on."""
PAGE = 500


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The counts of what a sweep did."""

    expired: int = 0
    inactive: int = 0


@dataclass(frozen=True, slots=True)
class _Head:
    namespace: str
    name: str
    state: HeadState
    record: dict[str, Any]
    token: str


class Sweeper:
    """The sweeper over a store. Several may run: each step is a conditional write, and the daily
    work is begun by one of them.
    """

    def __init__(self, kv: KV, clock: Callable[[], float] = time.time) -> None:
        self._kv = kv
        self._clock = clock
        self._audit = Audit(kv, clock)

    def sweep(self) -> SweepResult:
        """Remove what has expired; once a day, mark what is unused and sum up the statistics.

        Daily work that fails is told by its exception, and done by the next sweep.
        """
        expired = self.remove_expired()
        with self._daily() as is_first:
            return SweepResult(expired, self.mark_idle() if is_first else 0)

    def remove_expired(self) -> int:
        """Remove the capabilities whose time has run out; how many those were."""
        gone = 0
        partition, now = keys.expiry_mark(0, "", "").partition, self._clock()
        for sort, _ in self._kv.scan(partition, limit=AT_ONCE):
            due, namespace, name = sort.split("#", 2)
            if int(due) >= now:
                break
            gone += self._expire(keys.unescape(namespace), name)
            self._kv.delete(keys.expiry_mark(int(due), keys.unescape(namespace), name))
        return gone

    def mark_idle(self) -> int:
        """Mark the normal capabilities that nobody called for 30 days, and sum up the statistics;
        how many were marked.

        What a process that died in between left undone is done here: public marks follow their
        heads. A damaged record keeps nobody else's from being looked at; it is told at the end.
        """
        marked, damage = 0, None
        for namespace in self._namespaces():
            try:
                marked += self._idle_in(namespace)
            except BackendError as problem:
                if problem.code != "EDAMAGED":
                    raise
                damage = problem
        for namespace, name, _ in list(public_index.list_marks(self._kv)):
            try:
                public_index.update_mark(self._kv, namespace, name, self._clock())
            except BackendError as problem:
                if problem.code != "EDAMAGED":
                    raise
                damage = problem
        if damage:
            raise damage
        return marked

    def _expire(self, namespace: str, name: str) -> int:
        head = self._head(namespace, name)
        if head is None or head.state.removed or not heads.is_expired(head.record, self._clock()):
            return 0  # it was removed, or another version runs
        granted = self._kv.get(keys.grants(namespace, namespace, name))
        try:
            with changes.announced_change(self._kv, namespace, name, self._clock()):
                self._end(head)
        except Conflict:
            return 0
        if granted:
            self._ungrant(head, granted)
        public_index.update_mark(self._kv, namespace, name, self._clock())
        self._audit.note(
            namespace,
            "expire",
            name=name,
            version=head.record["version"],
            digest=head.record["digest"],
        )
        return 1

    def _end(self, head: _Head) -> None:
        """An older version that lasts runs again; where there is none the name goes, unless a
        withdrawn one may be brought back by hand.
        """
        key = keys.capability(head.namespace, head.name)
        older = heads.fall_back(self._kv, head.state, head.record, self._clock())
        if older:
            self._kv.put(key, older, expect=head.token)
        elif not self._kv.scan(
            keys.version(head.namespace, head.name, 0).partition, f"{head.name}#", limit=1
        ):
            self._kv.delete(key, expect=head.token)
            usage.forget_counts(self._kv, head.namespace, head.name)

    def _ungrant(self, head: _Head, granted: Item) -> None:
        """What was granted to the version that ended ends with it: whoever deploys it again is
        somebody else.
        """
        key = keys.grants(head.namespace, head.namespace, head.name)
        left = _others(granted, head.record["digest"])
        with suppress(
            Conflict
        ):  # an owner grants something at this moment; a deploy of that version takes it away too
            self._kv.put(key, orjson.dumps(left), expect=granted.version)

    def _idle_in(self, namespace: str) -> int:
        usage.fold_done_writers(self._kv, namespace, self._clock())
        uses = usage.last_uses(self._kv, namespace)
        marked = 0
        for head in self._heads(namespace):
            if public_index.mark_for(head.state, head.record, self._clock()):
                public_index.update_mark(self._kv, namespace, head.name, self._clock())
            if not head.state.inactive and self._is_idle(head, uses.get(head.name, 0.0)):
                with (
                    suppress(Conflict),
                    changes.announced_change(self._kv, namespace, head.name, self._clock()),
                ):  # it was used at this moment
                    self._rewrite(head, replace(head.state, inactive=True))
                    public_index.update_mark(self._kv, namespace, head.name, self._clock())
                    self._audit.note(
                        namespace, "inactive", name=head.name, version=head.record["version"]
                    )
                    marked += 1
        return marked

    def _is_idle(self, head: _Head, last: float) -> bool:
        lifetime = head.record["manifest"].get("lifetime", "normal")
        steps = head.state.history
        touched = max(last, head.record["at"], steps[-1].at if steps else 0.0)
        return (
            not head.state.removed
            and lifetime == "normal"
            and self._clock() - touched > IDLE_SECONDS
        )

    def _rewrite(self, head: _Head, standing: HeadState) -> None:
        body = heads.encode_head(standing, heads.encode_record(head.record))
        self._kv.put(keys.capability(head.namespace, head.name), body, expect=head.token)

    def _head(self, namespace: str, name: str) -> _Head | None:
        item = self._kv.get(keys.capability(namespace, name))
        return _read(namespace, name, item) if item else None

    def _heads(self, namespace: str) -> Iterator[_Head]:
        for sort, item in scan_all(self._kv, keys.capability(namespace, "").partition, page=PAGE):
            yield _read(namespace, sort, item)

    def _namespaces(self) -> Iterator[str]:
        for sort, _ in scan_all(self._kv, keys.generation("").partition, page=PAGE):
            yield keys.unescape(sort)

    @contextmanager
    def _daily(self) -> Iterator[bool]:
        """Yield whether this sweep is the one that does the daily work. It is done for today only
        when the block ends well.

        What stands meanwhile is a time a day ago but for `AGAIN_SECONDS`, so that the work of a
        process that died is begun anew.
        """
        key, now = keys.daily_task("lifetimes"), self._clock()
        item = self._kv.get(key)
        if item and _is_recent(item, now):
            yield False
            return
        try:
            begun = self._kv.put(
                key,
                _moment(now - DAY_SECONDS + AGAIN_SECONDS),
                expect=item.version if item else ABSENT,
            )
        except Conflict:  # somebody else begins at this moment
            yield False
            return
        try:
            yield True
        except BaseException:
            with suppress(Conflict, BackendError):
                self._kv.delete(key, expect=begun)
            raise
        with suppress(Conflict):
            self._kv.put(key, _moment(now), expect=begun)


def _moment(at: float) -> bytes:
    return b"%.3f" % at


def _is_recent(item: Item, now: float) -> bool:
    """Return whether the daily work was done, or begun, within a day; a damaged time says no."""
    try:
        return 0 <= now - float(item.value) < DAY_SECONDS
    except ValueError:
        return False


def _others(granted: Item, digest: str) -> list[Any]:
    """The grants of other versions than this one; none when they cannot be read, since nobody has
    them then.
    """
    try:
        return [row for row in orjson.loads(granted.value) if row["digest"] != digest]
    except (ValueError, TypeError, LookupError):
        return []


def _read(namespace: str, name: str, item: Item) -> _Head:
    standing, record = heads.decode_head(item.value)
    return _Head(namespace, name, standing, record, item.version)


@runtime_checkable
class SweepableStore(Protocol):
    """A store that does not forget expired items by itself."""

    def sweep(self) -> int:
        """Remove what has expired; how many items that were."""


def sweep(kv: KV, clock: Callable[[], float] = time.time) -> Mapping[str, int]:
    """Sweep once: how many `items` went, and capabilities that `expired` or became `inactive`; what
    is 0 is left out.
    """
    items = kv.sweep() if isinstance(kv, SweepableStore) else 0
    aged = Sweeper(kv, clock).sweep()
    counts = {"items": items, "expired": aged.expired, "inactive": aged.inactive}
    return {name: count for name, count in counts.items() if count}
