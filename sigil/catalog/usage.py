"""How often capabilities are called, how often they fail, how long they take: counted in memory,
written as absolute values.

Each process writes under a name of its own, so a write that is repeated changes nothing, and two
processes never meet. What a process counted since its last write is lost when it is killed. Names
of processes that are done are summed up under `all`. When a capability is removed, its counts go: a
process that finds its own gone forgets them, and counts later versions apart.
"""

from __future__ import annotations

import secrets
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, Self

import orjson

from sigil.errors import BackendError, Conflict
from sigil.storage.kv import ABSENT, KV, Item, Key, keys
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import Shape

EDGES = (
    0.25,
    0.5,
    1.0,
    2.0,
    4.0,
    8.0,
    16.0,
    32.0,
    64.0,
    128.0,
    256.0,
    512.0,
    1_024.0,
    2_048.0,
    4_096.0,
    8_192.0,
    16_384.0,
    32_768.0,
)
"""Upper ends of the classes of durations in milliseconds; one more class is open."""
FLUSH_SECONDS = 10.0
EPOCH_SECONDS = 43_200.0
"""A name that was not written for so long is written no more: the process goes on under another
one.
"""
DONE_SECONDS = 86_400.0
"""A name that was not written for so long may be summed up; well above `EPOCH_SECONDS`, so that
nobody writes it at that moment.
"""
COUNTED_MOST = 2_000
"""Capabilities that a process counts at a time; beyond that it writes what it has and begins anew
under other names.
"""
ALL = "all"
PAGE = 500


@dataclass(frozen=True, slots=True)
class UsageCounts:
    """Counts of one capability. `total_ms` and `classes` cover every call; `last` is when it was
    last called.
    """

    calls: int = 0
    errors: int = 0
    total_ms: float = 0.0
    last: float = 0.0
    classes: tuple[int, ...] = (0,) * (len(EDGES) + 1)

    def plus(self, other: Self) -> Self:
        """Both together."""
        classes = tuple(map(sum, zip(self.classes, other.classes, strict=True)))
        total = self.total_ms + other.total_ms
        return replace(
            self,
            calls=self.calls + other.calls,
            errors=self.errors + other.errors,
            total_ms=total,
            last=max(self.last, other.last),
            classes=classes,
        )

    @property
    def mean_ms(self) -> float | None:
        return round(self.total_ms / self.calls, 3) if self.calls else None

    @property
    def p95_ms(self) -> float | None:
        """The upper end of the class in which the 95th percentile lies: at most twice too large."""
        left = 0.95 * self.calls
        for edge, count in zip((*EDGES, EDGES[-1]), self.classes, strict=True):
            left -= count
            if left <= 0 and self.calls:
                return edge
        return None


@dataclass(slots=True)
class _ProcessCounts:
    """What this process counted under `writer`, kept in plain numbers: a call costs
    microseconds.
    """

    writer: str
    calls: int = 0
    errors: int = 0
    total_ms: float = 0.0
    last: float = 0.0
    classes: list[int] = field(default_factory=lambda: [0] * (len(EDGES) + 1))
    written_at: float = 0.0
    dirty: bool = False
    token: str = ""

    def count(self, milliseconds: float, failed: bool, now: float) -> None:
        self.calls += 1
        self.errors += failed
        self.total_ms += milliseconds
        self.last = now
        self.classes[bisect_left(EDGES, milliseconds)] += 1
        self.dirty = True

    @property
    def use(self) -> UsageCounts:
        return UsageCounts(self.calls, self.errors, self.total_ms, self.last, tuple(self.classes))


_Place = tuple[str, str, int]
"""Namespace, name and version: removed and deployed again, a capability has higher numbers."""


class UsageStatistics:
    """The counts of this process and of all others. A failing store never fails a call.
    Thread-safe.
    """

    def __init__(self, kv: KV, clock: Callable[[], float] = time.time) -> None:
        self._kv = kv
        self._clock = clock
        self._counted: dict[_Place, _ProcessCounts] = {}
        self._lock = threading.Lock()

    def record_call(
        self, namespace: str, name: str, milliseconds: float, *, failed: bool, version: int = 0
    ) -> bool:
        """Count one call. At most one small write in ten seconds for each version; True when this
        was one.
        """
        now, place = self._clock(), (namespace, name, version)
        with self._lock:
            counted = self._counted.get(place)
            if counted is None or now - counted.written_at > EPOCH_SECONDS:
                self._write([place])
                self._make_room()
                counted = self._counted[place] = _ProcessCounts(secrets.token_hex(8))
            counted.count(milliseconds, failed, now)
            due = not 0 <= now - counted.written_at < FLUSH_SECONDS
            if due:
                self._write([place])
            return due

    def flush(self) -> None:
        """Write what is not written yet."""
        with self._lock:
            self._write(self._counted)

    def read_counts(self, namespace: str, name: str) -> UsageCounts:
        """The counts of one capability, all processes together."""
        return self._sum(namespace, f"{name}#").get(name, UsageCounts())

    def read_all_counts(self, namespace: str) -> dict[str, UsageCounts]:
        """The counts of a namespace's capabilities by name."""
        return self._sum(namespace, "")

    def _sum(self, namespace: str, prefix: str) -> dict[str, UsageCounts]:
        parts = _parts(self._kv, namespace, prefix)
        with self._lock:
            for (where, name, _), counted in self._counted.items():
                stands = not counted.token or counted.writer in parts.get(name, {})
                if stands and where == namespace and f"{name}#".startswith(prefix):
                    parts.setdefault(name, {})[counted.writer] = _WriterCounts(counted.use)
        return {name: _total(of_name) for name, of_name in parts.items()}

    def _make_room(self) -> None:
        if len(self._counted) >= COUNTED_MOST:
            self._write(self._counted)
            self._counted = {
                place: counted for place, counted in self._counted.items() if counted.dirty
            }

    def _write(self, which: Iterable[_Place]) -> None:
        for place in list(which):
            counted = self._counted.get(place)
            if counted is None or not counted.dirty:
                continue
            counted.written_at = (
                self._clock()
            )  # also when it fails: a store that is away is not asked at every call
            try:
                self._put(place, counted)
            except Conflict:  # the capability was removed, and what was counted goes with it
                del self._counted[place]
            except BackendError:
                continue

    def _put(self, place: _Place, counted: _ProcessCounts) -> None:
        namespace, name, _ = place
        body = _encode(_WriterCounts(counted.use))
        counted.token = self._kv.put(
            keys.use(namespace, name, counted.writer), body, expect=counted.token or ABSENT
        )
        counted.dirty = False


def last_uses(kv: KV, namespace: str) -> dict[str, float]:
    """Return when each capability of a namespace was last called."""
    return {name: _total(parts).last for name, parts in _parts(kv, namespace).items()}


def forget_counts(kv: KV, namespace: str, name: str) -> None:
    """Remove the counts of one capability, whoever counted."""
    for writer in _parts(kv, namespace, f"{name}#").get(name, {}):
        kv.delete(keys.use(namespace, name, writer))


def fold_done_writers(kv: KV, namespace: str, now: float) -> int:
    """Sum up under `all` the names that are done; how many. A crash in between loses nothing and
    counts nothing twice.
    """
    return sum(
        _fold(kv, (namespace, name), parts, now) for name, parts in _parts(kv, namespace).items()
    )


@dataclass(frozen=True, slots=True)
class _WriterCounts:
    """What stands under one writer's name; under `all`, also the names that it sums up, which count
    no more. `token`: its version.

    `newer`: a newer version counts more than this one knows, so this one sums nothing of it up.
    """

    use: UsageCounts
    within: tuple[str, ...] = ()
    token: str = ""
    newer: bool = False


_Parts = dict[str, _WriterCounts]
_Row = tuple[int, int, float, float, tuple[int, ...], tuple[str, ...]]
_COLUMNS: Final = 6
_ROW: Final = Shape[_Row](_Row)


def _total(parts: _Parts) -> UsageCounts:
    within = parts[ALL].within if ALL in parts else ()
    whole = UsageCounts()
    for writer, part in parts.items():
        whole = whole if writer in within else whole.plus(part.use)
    return whole


def _fold(kv: KV, place: tuple[str, str], parts: _Parts, now: float) -> int:
    before = parts.get(ALL, _WriterCounts(UsageCounts()))
    left = [writer for writer in before.within if writer in parts]
    settled = {
        writer
        for writer, part in parts.items()
        if not part.newer and now - part.use.last > DONE_SECONDS
    }
    done = [writer for writer in parts if writer in settled and writer not in (ALL, *left)]
    if before.newer or (not done and not left):
        return 0
    use = _total({ALL: before, **{writer: parts[writer] for writer in done}})
    with suppress(Conflict):  # or somebody else sums up at this moment
        token = kv.put(
            keys.use(*place, ALL),
            _encode(_WriterCounts(use, (*left, *done))),
            expect=before.token or ABSENT,
        )
        for writer in left:
            kv.delete(keys.use(*place, writer))
        if not all(
            _summed_up(kv, keys.use(*place, writer), parts[writer].token) for writer in done
        ):
            kv.delete(keys.use(*place, ALL), expect=token)  # the capability was removed meanwhile
    return len(done)


def _summed_up(kv: KV, key: Key, token: str) -> bool:
    """Delete a part that was summed up; False when it is gone already."""
    try:
        kv.delete(key, expect=token)
    except Conflict:
        return kv.get(key) is not None
    return True


def _parts(kv: KV, namespace: str, prefix: str = "") -> dict[str, _Parts]:
    parts: dict[str, _Parts] = {}
    for sort, item in scan_all(kv, keys.use(namespace, "", "").partition, prefix, page=PAGE):
        name, _, writer = sort.rpartition("#")
        parts.setdefault(name, {})[writer] = _decode(item)
    return parts


def _encode(part: _WriterCounts) -> bytes:
    use = part.use
    return orjson.dumps(
        [use.calls, use.errors, round(use.total_ms, 3), use.last, use.classes, part.within]
    )


def _decode(item: Item) -> _WriterCounts:
    """A part as it stands; one that was damaged counts no calls, since a wrong count is no reason
    to stop anybody.
    """
    with suppress(ValueError):
        row = orjson.loads(item.value)
        calls, errors, total_ms, last, classes, within = _ROW.convert(
            row[:_COLUMNS] if isinstance(row, list) else row
        )
        if len(classes) == len(EDGES) + 1:
            return _WriterCounts(
                UsageCounts(calls, errors, total_ms, last, classes),
                within,
                item.version,
                newer=len(row) > _COLUMNS,
            )
    return _WriterCounts(UsageCounts(), (), item.version)
