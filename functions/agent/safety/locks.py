"""Locks hold an owner's halt and unlock of a session or of a whole agent.

They are written beside the sessions, never behind their queues.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

from msgspec import Meta

from functions.events import ID_CHARACTERS
from sigil.errors import one_line
from sigil.storage.evolve import evolve
from sigil.storage.kv import KV, Item, keys
from sigil.storage.kv.update import scan_all, update
from sigil.storage.stored import Shape, Stored, dumps

PAGE = 100
LATER = 0.001
"""Each halt or unlock is so many seconds later than the one before, whatever the clock shows."""
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
        """Return whether the last of them was a halt."""
        return self.halted > self.unlocked


_LOCK: Final = Shape[Lock](Lock, required=("halted", "unlocked", "by", "forgave"))


def halt(kv: KV, whom: str, by: str, now: float) -> Lock:
    """Close a session (S of the keys) or an agent (its escaped name)."""

    def decide(value: bytes | None) -> tuple[bytes, Lock]:
        before = _read_lock_value(value)
        at = max(now, before.unlocked + LATER)
        lock = evolve(before, halted=at, by=one_line(by, ID_CHARACTERS))
        return dumps(lock), lock

    return update(kv, keys.owner_lock(whom), decide)


def unlock(kv: KV, whom: str, by: str, now: float, *, forgives: bool = True) -> Lock:
    """Open a session (S of the keys) or an agent (its escaped name) again.

    `forgives` says that whatever else locked it before this moment is over as well.
    """

    def decide(value: bytes | None) -> tuple[bytes, Lock]:
        before = _read_lock_value(value)
        halted = before.halted if before.halted < FOREVER else 0.0
        at = max(now, halted, before.unlocked + LATER)
        lock = evolve(
            before,
            halted=halted,
            unlocked=at,
            by=one_line(by, ID_CHARACTERS),
            forgave=at if forgives else before.forgave,
        )
        return dumps(lock), lock

    return update(kv, keys.owner_lock(whom), decide)


def list_halted(kv: KV, agent: str) -> Iterator[str]:
    """Yield what was halted singly below an agent (its escaped name): its sessions (S of the keys),
    and for a root the agents below it and theirs.
    """
    is_root = keys.root_of(agent) == agent
    for whom, item in scan_all(kv, keys.owner_lock(agent).partition, agent, page=PAGE):
        is_below = whom != agent and (
            keys.belongs_to(agent, whom) if is_root else whom.startswith(f"{agent}#")
        )
        if is_below and parse_lock(item).closed:
            yield whom


def read_lock(kv: KV, whom: str) -> Lock:
    """Return the lock of a session or an agent; one that cannot be read is closed."""
    return parse_lock(kv.get(keys.owner_lock(whom)))


def parse_lock(item: Item | None) -> Lock:
    """Return the lock in an item, an open one where there is none."""
    return _read_lock_value(item.value if item else None)


def _read_lock_value(value: bytes | None) -> Lock:
    if value is None:
        return Lock()
    try:
        return _LOCK.read(value)
    except ValueError:
        return Lock(halted=FOREVER, by="nobody: the record is damaged")
