"""Locks hold an owner's halt and unlock of a session or of a whole agent.

They are written beside the sessions, never behind their queues.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Final

from msgspec import Meta

from sigil.errors import one_line
from sigil.storage.kv import KV, Item, keys
from sigil.storage.stored import Shape, Stored, dumps

BY_CHARACTERS = 80
PAGE = 100
LATER = 0.001
"""Seconds by which each halt or unlock is later than the one before, whatever the clock shows."""
FOREVER = 1e11
"""A time later than any that a clock shows."""
BELIEVED = FOREVER / 2
"""Times from here on are damage; the sum of two earlier ones is still below `FOREVER`."""
Moment = Annotated[float, Meta(ge=0, lt=BELIEVED)]


@dataclass(frozen=True, slots=True)
class Lock(Stored):
    """The last halt and unlock of a session or an agent.

    `halted` and `unlocked` are seconds since 1970, 0 for never; `by` is who did the last of them.
    `forgave` is when an unlock last opened everything, whatever else had locked it. An unlock of
    the agent from within one chat ends only the halt.
    """

    halted: Moment = 0.0
    unlocked: Moment = 0.0
    by: str = ""
    forgave: Moment = 0.0

    @property
    def closed(self) -> bool:
        return self.halted > self.unlocked


_LOCK: Final = Shape[Lock](Lock, required=("halted", "unlocked", "by", "forgave"))


def halt(kv: KV, whom: str, by: str, now: float) -> Lock:
    """Close a session (S of the keys) or an agent (its escaped name)."""
    before = read_lock(kv, whom)
    at = max(now, before.unlocked + LATER)
    return _write(kv, whom, replace(before, halted=at, by=one_line(by, BY_CHARACTERS)))


def unlock(kv: KV, whom: str, by: str, now: float, *, forgives: bool = True) -> Lock:
    """Open a session (S of the keys) or an agent (its escaped name) again.

    `forgives` says that whatever else locked it before this moment is over as well.
    """
    before = read_lock(kv, whom)
    halted = before.halted if before.halted < FOREVER else 0.0
    at = max(now, halted, before.unlocked + LATER)
    forgave = at if forgives else before.forgave
    return _write(
        kv,
        whom,
        replace(
            before, halted=halted, unlocked=at, by=one_line(by, BY_CHARACTERS), forgave=forgave
        ),
    )


def list_halted_sessions(kv: KV, agent: str) -> Iterator[str]:
    """Yield the sessions (S of the keys) of an agent (its escaped name) that were halted singly."""
    prefix, after = f"{agent}#", ""
    while page := kv.scan(keys.lock(agent).partition, prefix, after, PAGE):
        for after, _ in page:
            if read_lock(kv, after).closed:
                yield after


def read_lock(kv: KV, whom: str) -> Lock:
    """Return the lock of a session or an agent; one that cannot be read is closed."""
    return parse_lock(kv.get(keys.lock(whom)))


def parse_lock(item: Item | None) -> Lock:
    """Return the lock in an item, an open one where there is none."""
    if item is None:
        return Lock()
    try:
        return _LOCK.read(item.value)
    except ValueError:
        return Lock(halted=FOREVER, by="nobody: the record is damaged")


def _write(kv: KV, whom: str, lock: Lock) -> Lock:
    kv.put(keys.lock(whom), dumps(lock))
    return lock
