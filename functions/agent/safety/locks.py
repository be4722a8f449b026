"""Halt and unlock: an owner's word about a session or a whole agent. It is written beside the
sessions, never behind their queues.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Final

from msgspec import Meta

from sigil.errors import one_line
from sigil.storage.kv import KV, keys
from sigil.storage.stored import Shape, Stored, dumps

BY_CHARACTERS = 80
PAGE = 100
LATER = 0.001
"""What is said after something else is later, whatever the clock shows."""
FOREVER = 1e11
"""Later than any time that a clock shows."""
BELIEVED = FOREVER / 2
"""No time from here on is believed: two of them together are still earlier than `FOREVER`."""
Moment = Annotated[float, Meta(ge=0, lt=BELIEVED)]


@dataclass(frozen=True, slots=True)
class Lock(Stored):
    """What was said last: `halted` and `unlocked` are seconds since 1970, 0 for never; `by` who
    said it.

    `forgave`: when an unlock last meant whatever else had locked it, too. Of an agent, an unlock in
    one chat only ends the halt.
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
    before = read(kv, whom)
    return _write(
        kv,
        whom,
        replace(before, halted=max(now, before.unlocked + LATER), by=one_line(by, BY_CHARACTERS)),
    )


def unlock(kv: KV, whom: str, by: str, now: float, *, forgives: bool = True) -> Lock:
    """Open it again. `forgives`: whatever locked it before this moment is over, not the halt
    alone.
    """
    before = read(kv, whom)
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


def closed(kv: KV, agent: str) -> Iterator[str]:
    """The sessions of an agent (its escaped name) that are halted one by one."""
    prefix, after = f"{agent}#", ""
    while page := kv.scan(keys.lock(agent).partition, prefix, after, PAGE):
        for after, _ in page:
            if read(kv, after).closed:
                yield after


def read(kv: KV, whom: str) -> Lock:
    """What was said last; one that cannot be read is closed."""
    item = kv.get(keys.lock(whom))
    if item is None:
        return Lock()
    try:
        return _LOCK.read(item.value)
    except ValueError:
        return Lock(halted=FOREVER, by="nobody: the record is damaged")


def _write(kv: KV, whom: str, lock: Lock) -> Lock:
    kv.put(keys.lock(whom), dumps(lock))
    return lock
