"""How much a capability's store holds: one item that every writer changes over what it read, and
that mends itself.

    [keys, bytes, epoch, [[mark, keys, bytes, at], …]]

Whoever makes the store larger takes the room before and leaves a mark until the write is done, so
that somebody who counts what is stored knows what may be on its way. Whoever makes it smaller says
so afterwards, unless somebody counted meanwhile, which gives the store another `epoch`. So the item
never says too little, and when it says too much (after a crash, or when items have expired),
whoever finds the store full counts anew. Only a writer that stalls for longer than `HOLD_SECONDS`
is not expected; it counts anew itself.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import orjson

from sigil.errors import BackendError, Conflict, Refused
from sigil.protocol import Json
from sigil.storage.kv import ABSENT, KV, Item, Key

HOLD_SECONDS = 60.0
"""How long a write may be on its way: longer than a run, in which it has to be answered."""
RACES = 50
DAMAGED = "damaged"
"""The epoch of a count that cannot be read."""
COUNTS = 8
"""How often somebody counts before it believes that what is on its way will stay."""
PAUSE_SECONDS = 0.002
PAGE = 200


class QuotaChange(NamedTuple):
    """So many keys and bytes more."""

    keys: int = 0
    size: int = 0

    @property
    def undone(self) -> QuotaChange:
        return QuotaChange(-self.keys, -self.size)


@dataclass(frozen=True, slots=True)
class _Mark:
    """Room that was taken for a write. `at`: seconds since the epoch. `rest`: what a newer version
    wrote behind them.
    """

    name: str
    keys: int
    size: int
    at: float
    rest: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class _State:
    """What the item says; `token` is its version, empty when there is none. `rest`: what a newer
    version wrote behind it.
    """

    keys: int = 0
    size: int = 0
    epoch: str = ""
    marks: tuple[_Mark, ...] = ()
    token: str = ""
    rest: tuple[Json, ...] = ()

    def after(self, change: QuotaChange) -> _State:
        return replace(
            self, keys=max(self.keys + change.keys, 0), size=max(self.size + change.size, 0)
        )

    def without(self, name: str) -> _State:
        return replace(self, marks=tuple(mark for mark in self.marks if mark.name != name))

    def body(self) -> bytes:
        marks = [[mark.name, mark.keys, mark.size, mark.at, *mark.rest] for mark in self.marks]
        return orjson.dumps([self.keys, self.size, self.epoch, marks, *self.rest])


@dataclass(frozen=True, slots=True)
class Reservation:
    """What somebody found before its write. `mark`: the name of the room that it took, empty when
    it took none.
    """

    state: _State
    mark: str = ""


class StorageUsage:
    """The usage at `places`: the key of its item, and the partition that it is about. `life`:
    seconds for which the item is kept.
    """

    def __init__(
        self, kv: KV, places: tuple[Key, str], life: float | None, clock: Callable[[], float]
    ) -> None:
        self._kv = kv
        self._key, self._partition = places
        self._life = life
        self._clock = clock

    def take(self, change: QuotaChange, most: QuotaChange) -> Reservation:
        """Take room for a write; `Refused` EQUOTA when more than `most` would be stored, also after
        counting anew.
        """
        counts = 0
        for attempt in range(RACES):
            read = self._read()
            state = self._fresh(read) if counts or not read.token or read.epoch == DAMAGED else read
            counts += state is not read
            wanted = self._marked(state, change)
            if wanted.keys <= most.keys and wanted.size <= most.size:
                held = self._written(wanted, read)
                if held:
                    return Reservation(held, wanted.marks[-1].name)
            elif counts and (not state.marks or counts >= COUNTS):
                raise Refused(
                    "EQUOTA",
                    f"a capability keeps at most {most.keys:,} keys and {most.size:,} bytes",
                    source="kv",
                )
            elif not counts:
                counts = 1
                continue
            pause(attempt)
        raise Conflict("the store is being written by too many at this moment")

    def watch(self) -> Reservation:
        """Look before a write that takes no room."""
        return Reservation(self._read())

    def settle(self, held: Reservation, change: QuotaChange = QuotaChange()) -> None:  # noqa: B008 (a constant)
        """The write is done, and the store is that much larger beside what was taken. A store that
        is away fails nothing here.
        """
        with suppress(BackendError):
            state = held.state
            for attempt in range(RACES):
                if self._is_settled(state, held, change):
                    return
                late = bool(held.mark) and all(
                    mark.name != held.mark for mark in state.marks
                )  # somebody may have counted without it
                if self._written(
                    self._fresh(state) if late else state.without(held.mark).after(change), state
                ):
                    return
                pause(attempt)
                state = self._read()

    def count(self) -> QuotaChange:
        """What is stored."""
        keys = size = 0
        after = ""
        while page := self._kv.scan(self._partition, after=after, limit=PAGE):
            keys += len(page)
            size += sum(len(sort.encode()) + len(item.value) for sort, item in page)
            after = page[-1][0]
        return QuotaChange(keys, size)

    def clear(self) -> None:
        """Forget the count; the next writer counts anew."""
        self._kv.delete(self._key)

    def _is_settled(self, state: _State, held: Reservation, change: QuotaChange) -> bool:
        """Whether there is nothing to tell: no count to change, or one that somebody made since."""
        return not state.token or (
            not held.mark and (change == (0, 0) or state.epoch != held.state.epoch)
        )

    def _fresh(self, read: _State) -> _State:
        """What is stored, and what may come by those who took room."""
        keys, size = self.count()
        coming = QuotaChange(
            sum(mark.keys for mark in read.marks), sum(mark.size for mark in read.marks)
        )
        return replace(read, keys=keys, size=size, epoch=secrets.token_hex(4)).after(coming)

    def _marked(self, state: _State, change: QuotaChange) -> _State:
        mark = _Mark(secrets.token_hex(6), change.keys, change.size, self._clock())
        return replace(state.after(change), marks=(*state.marks, mark))

    def _read(self) -> _State:
        """What stands; of marks only those that may still be on their way."""
        item = self._kv.get(self._key)
        now = self._clock()
        state = _state(item) if item else _State()
        return replace(
            state, marks=tuple(mark for mark in state.marks if abs(now - mark.at) < HOLD_SECONDS)
        )

    def _written(self, state: _State, over: _State) -> _State | None:
        """The state with its token, None when somebody else wrote."""
        try:
            return replace(
                state,
                token=self._kv.put(
                    self._key, state.body(), expect=over.token or ABSENT, ttl=self._life
                ),
            )
        except Conflict:
            return None


def pause(attempt: int) -> None:
    """Let others go first, the longer the more often it came to nothing."""
    if attempt:
        time.sleep(random.uniform(0, PAUSE_SECONDS) * min(attempt, 10))


def _state(item: Item) -> _State:
    """What stands; a count that cannot be read is none, and whoever writes next counts anew."""
    try:
        keys, size, *more = orjson.loads(item.value)
        epoch, marks, *rest = more or ("", [])
        state = _State(
            int(keys),
            int(size),
            str(epoch),
            tuple(_mark(*mark) for mark in marks),
            item.version,
            tuple(rest),
        )
    except (ValueError, TypeError):
        return _State(epoch=DAMAGED, token=item.version)
    return state


def _mark(name: str, keys: int, size: int, at: float, *rest: Json) -> _Mark:
    return _Mark(str(name), int(keys), int(size), float(at), rest)
