"""Usage counts how often capabilities are called, how often they fail and how long they take, and
keeps the last runs of each.

It is counted in memory and written as absolute values; the last runs are in the same item, so that
a run costs no write of its own.

Each process writes under a name of its own, so a write that is repeated changes nothing, and two
processes never meet. What a process counted since its last write is lost when it is killed. Names
of processes that are done are summed up under `all`. When a capability is removed, its counts go: a
process that finds its own gone forgets them, and counts later versions apart.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Self

import orjson

from sigil.errors import BackendError, Conflict, one_line
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
"""A name that was not written for so long is written no more.

The process goes on under another one.
"""
DONE_SECONDS = 86_400.0
"""A name that was not written for so long may be summed up.

It is well above `EPOCH_SECONDS`, so that nobody writes it at that moment.
"""
COUNTED_MOST = 2_000
"""Capabilities that a process counts at a time.

Beyond that it writes what it has and begins anew under other names.
"""
ALL = "all"
PAGE = 500
RUNS_KEPT = 20
"""The last runs of a capability that a process keeps."""
LINES_KEPT = 10
LINE_CHARACTERS = 200
TEXT_CHARACTERS = 4_000
"""The most of all lines that are kept together; older runs lose theirs first."""


class RunNote(NamedTuple):
    """One run as it is kept. `code`: `ok`, or that of its error; `input_bytes`: 0 for an input that
    was refused; `home`: the agent on whose behalf it ran; `chat`: a mark of the chat, empty outside
    of chats; `lines`: how many lines it logged. `logs`, the lines themselves, are empty for a run
    in a chat: what is forgotten with the chat must not stay here.
    """

    at: float
    version: int
    input_bytes: int
    code: str
    milliseconds: float
    home: str = ""
    chat: str = ""
    lines: int = 0
    logs: tuple[str, ...] = ()


def mark_chat(session: str) -> str:
    """Return the mark by which the runs of a chat are told apart, without its name."""
    return hashlib.sha256(session.encode()).hexdigest()[:12] if session else ""


def note_run(
    version: int,
    code: str,
    *,
    input_bytes: int = 0,
    home: str = "",
    session: str = "",
    logs: Sequence[str] = (),
) -> RunNote:
    """Return a run to be kept; when it was and how long it took is added as it is counted."""
    kept = () if session else tuple(one_line(line, LINE_CHARACTERS) for line in logs[:LINES_KEPT])
    agent = home.partition("~")[0]
    return RunNote(0.0, version, input_bytes, code, 0.0, agent, mark_chat(session), len(logs), kept)


@dataclass(frozen=True, slots=True)
class UsageCounts:
    """The counts of one capability.

    `total_ms` and `classes` cover every call; `last` is when it was last called, in seconds since
    1970.
    """

    calls: int = 0
    errors: int = 0
    total_ms: float = 0.0
    last: float = 0.0
    classes: tuple[int, ...] = (0,) * (len(EDGES) + 1)
    runs: tuple[RunNote, ...] = ()

    def plus(self, other: Self) -> Self:
        """Return the counts of both together."""
        return replace(
            self,
            calls=self.calls + other.calls,
            errors=self.errors + other.errors,
            total_ms=self.total_ms + other.total_ms,
            last=max(self.last, other.last),
            classes=tuple(map(sum, zip(self.classes, other.classes, strict=True))),
            runs=tuple(sorted((*self.runs, *other.runs))[-RUNS_KEPT:]),
        )

    @property
    def mean_ms(self) -> float | None:
        return round(self.total_ms / self.calls, 3) if self.calls else None

    @property
    def p95_ms(self) -> float | None:
        """The upper end of the class of the 95th percentile, which is at most twice too large."""
        left = 0.95 * self.calls
        for edge, count in zip((*EDGES, EDGES[-1]), self.classes, strict=True):
            left -= count
            if left <= 0 and self.calls:
                return edge
        return None


@dataclass(slots=True)
class _ProcessCounts:
    """The counts of this process under `writer`, in plain numbers: a call costs microseconds."""

    writer: str
    calls: int = 0
    errors: int = 0
    total_ms: float = 0.0
    last: float = 0.0
    classes: list[int] = field(default_factory=lambda: [0] * (len(EDGES) + 1))
    written_at: float = 0.0
    dirty: bool = False
    token: str = ""
    runs: deque[RunNote] = field(default_factory=lambda: deque(maxlen=RUNS_KEPT))

    def count(self, milliseconds: float, failed: bool, now: float, run: RunNote | None) -> None:
        self.calls += 1
        self.errors += failed
        self.total_ms += milliseconds
        self.last = now
        self.classes[bisect_left(EDGES, milliseconds)] += 1
        self.dirty = True
        if run:
            self.runs.append(run._replace(at=round(now, 3), milliseconds=round(milliseconds, 3)))

    @property
    def counts(self) -> UsageCounts:
        return UsageCounts(
            self.calls,
            self.errors,
            self.total_ms,
            self.last,
            tuple(self.classes),
            _limit_text(self.runs),
        )


def _limit_text(runs: Iterable[RunNote]) -> tuple[RunNote, ...]:
    """Return the runs, the older ones without their lines where there are too many."""
    left = TEXT_CHARACTERS
    limited = []
    for run in reversed([*runs]):
        left -= sum(map(len, run.logs))
        limited.append(run if left >= 0 else run._replace(logs=()))
    return tuple(reversed(limited))


_Counted = tuple[str, str, int]
"""Namespace, name and version: removed and deployed again, a capability has higher numbers."""


class UsageStatistics:
    """The counts of this process and of all others.

    A failing store never fails a call. Thread-safe.
    """

    def __init__(self, kv: KV, clock: Callable[[], float] = time.time) -> None:
        self._kv = kv
        self._clock = clock
        self._counted: dict[_Counted, _ProcessCounts] = {}
        self._lock = threading.Lock()

    def record_call(
        self,
        namespace: str,
        name: str,
        milliseconds: float,
        *,
        failed: bool,
        version: int = 0,
        run: RunNote | None = None,
    ) -> bool:
        """Count one call, and return whether the counts were written.

        There is at most one small write in ten seconds for each version.
        """
        now = self._clock()
        key = (namespace, name, version)
        with self._lock:
            counted = self._counted.get(key)
            if counted is None or now - counted.written_at > EPOCH_SECONDS:
                self._write([key])
                if len(self._counted) >= COUNTED_MOST:
                    self._write(self._counted)
                    unwritten = [each for each in self._counted.items() if each[1].dirty]
                    self._counted = dict(unwritten)
                counted = self._counted[key] = _ProcessCounts(secrets.token_hex(8))
            counted.count(milliseconds, failed, now, run)
            is_due = not 0 <= now - counted.written_at < FLUSH_SECONDS
            if is_due:
                self._write([key])
            return is_due

    def flush(self) -> None:
        """Write what is not written yet."""
        with self._lock:
            self._write(self._counted)

    def read_counts(self, namespace: str, name: str) -> UsageCounts:
        """Return the counts of one capability, all processes together."""
        return self._sum_counts(namespace, f"{name}#").get(name, UsageCounts())

    def read_all_counts(self, namespace: str) -> dict[str, UsageCounts]:
        """Return the counts of a namespace's capabilities by name."""
        return self._sum_counts(namespace, "")

    def _sum_counts(self, namespace: str, prefix: str) -> dict[str, UsageCounts]:
        parts = _read_parts(self._kv, namespace, prefix)
        with self._lock:
            for (where, name, _), counted in self._counted.items():
                if where != namespace or not f"{name}#".startswith(prefix):
                    continue
                was_removed = counted.token and counted.writer not in parts.get(name, {})
                if not was_removed:
                    parts.setdefault(name, {})[counted.writer] = _WriterCounts(counted.counts)
        return {name: _total(of_name) for name, of_name in parts.items()}

    def _write(self, which: Iterable[_Counted]) -> None:
        """Write those of the counts that are not written yet."""
        for key in list(which):
            counted = self._counted.get(key)
            if counted is None or not counted.dirty:
                continue
            # also when it fails: a store that is away is not asked at every call
            counted.written_at = self._clock()
            namespace, name, _ = key
            expect = counted.token or ABSENT
            body = _encode_part(_WriterCounts(counted.counts))
            try:
                counted.token = self._kv.put(
                    keys.call_counts(namespace, name, counted.writer), body, expect=expect
                )
                counted.dirty = False
            except Conflict:  # the capability was removed, and what was counted goes with it
                del self._counted[key]
            except BackendError:
                continue


def last_uses(kv: KV, namespace: str) -> dict[str, float]:
    """Return when each capability of a namespace was last called."""
    return {name: _total(parts).last for name, parts in _read_parts(kv, namespace).items()}


def forget_counts(kv: KV, namespace: str, name: str) -> None:
    """Remove the counts of one capability, those of all processes."""
    for writer in _read_parts(kv, namespace, f"{name}#").get(name, {}):
        kv.delete(keys.call_counts(namespace, name, writer))


def fold_done_writers(kv: KV, namespace: str, now: float) -> int:
    """Sum up under `all` the writers that are done, and return how many those were.

    A crash in between loses nothing and counts nothing twice.
    """
    counts = _read_parts(kv, namespace)
    return sum(_fold_capability(kv, namespace, name, parts, now) for name, parts in counts.items())


@dataclass(frozen=True, slots=True)
class _WriterCounts:
    """The item that one writer wrote, with the store's version of it as `token`.

    The item of `all` also names the writers that it sums up as `within`; those count no more.
    `newer` means that a newer version of this software counts more than this one knows, so this one
    sums nothing of it up.
    """

    counts: UsageCounts
    within: tuple[str, ...] = ()
    token: str = ""
    newer: bool = False


_Parts = dict[str, _WriterCounts]
_Row = tuple[int, int, float, float, tuple[int, ...], tuple[str, ...]]
_COLUMNS: Final = 6
_ROW: Final = Shape[_Row](_Row)
_RUNS: Final = Shape[list[RunNote]](list[RunNote])
_KNOWN_COLUMNS: Final = 7
"""The seventh column, the last runs, came after 0.1.0: it is written when there are any."""


def _total(parts: _Parts) -> UsageCounts:
    within = parts[ALL].within if ALL in parts else ()
    whole = UsageCounts()
    for writer, part in parts.items():
        if writer not in within:
            whole = whole.plus(part.counts)
    return whole


def _fold_capability(kv: KV, namespace: str, name: str, parts: _Parts, now: float) -> int:
    """Sum up under `all` the writers of one capability that are done; return how many."""
    before = parts.get(ALL, _WriterCounts(UsageCounts()))
    # a process that died in here left writers behind that are summed up already
    left = [writer for writer in before.within if writer in parts]
    done = []
    for writer, part in parts.items():
        is_done = not part.newer and now - part.counts.last > DONE_SECONDS
        if is_done and writer != ALL and writer not in left:
            done.append(writer)
    if before.newer or not (done or left):
        return 0
    total = _total({ALL: before, **{writer: parts[writer] for writer in done}})
    key = keys.call_counts(namespace, name, ALL)
    body = _encode_part(_WriterCounts(total, (*left, *done)))
    with suppress(Conflict):  # or somebody else sums up at this moment
        token = kv.put(key, body, expect=before.token or ABSENT)
        for writer in left:
            kv.delete(keys.call_counts(namespace, name, writer))
        for writer in done:
            if not _delete_part(kv, keys.call_counts(namespace, name, writer), parts[writer].token):
                kv.delete(key, expect=token)  # the capability was removed meanwhile
                break
    return len(done)


def _delete_part(kv: KV, key: Key, token: str) -> bool:
    """Delete a part that was summed up; return False when it is gone already."""
    try:
        kv.delete(key, expect=token)
    except Conflict:
        return kv.get(key) is not None
    return True


def _read_parts(kv: KV, namespace: str, prefix: str = "") -> dict[str, _Parts]:
    """Return the parts of each capability by its name."""
    parts: dict[str, _Parts] = {}
    for sort, item in scan_all(
        kv, keys.call_counts(namespace, "", "").partition, prefix, page=PAGE
    ):
        name, _, writer = sort.rpartition("#")
        parts.setdefault(name, {})[writer] = _decode_part(item)
    return parts


def _encode_part(part: _WriterCounts) -> bytes:
    counts = part.counts
    row: _Row = (
        counts.calls,
        counts.errors,
        round(counts.total_ms, 3),
        counts.last,
        counts.classes,
        part.within,
    )
    return orjson.dumps((*row, [tuple(run) for run in counts.runs]) if counts.runs else row)


def _decode_part(item: Item) -> _WriterCounts:
    """Return the part that an item holds; one that was damaged counts no calls.

    A wrong count is no reason to stop anybody.
    """
    damaged = _WriterCounts(UsageCounts(), (), item.version)
    try:
        row = orjson.loads(item.value)
        known = row[:_COLUMNS] if isinstance(row, list) else row
        calls, errors, total_ms, last, classes, within = _ROW.convert(known)
    except ValueError:
        return damaged
    if len(classes) != len(EDGES) + 1:
        return damaged
    runs: list[RunNote] = []
    if len(row) > _COLUMNS:
        with suppress(ValueError):
            runs = _RUNS.convert(row[_COLUMNS])
    counts = UsageCounts(calls, errors, total_ms, last, classes, tuple(runs))
    return _WriterCounts(counts, within, item.version, newer=len(row) > _KNOWN_COLUMNS)
