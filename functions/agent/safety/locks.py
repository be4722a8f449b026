"""Halt and unlock: an owner's word about a session or a whole agent. It is written beside the sessions, never behind their queues."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

import orjson

from sigil.errors import one_line
from sigil.kv import KV, keys

BY_CHARACTERS = 80
PAGE = 100
LATER = 0.001
"""What is said after something else is later, whatever the clock shows."""
FOREVER = 1e11
"""Later than any time that a clock shows."""
BELIEVED = FOREVER / 2
"""No time from here on is believed: two of them together are still earlier than `FOREVER`."""


@dataclass(frozen=True, slots=True)
class Lock:
    """What was said last: `halted` and `unlocked` are seconds since 1970, 0 for never; `by` who said it.

    `forgave`: when an unlock last meant whatever else had locked it, too. Of an agent, an unlock in one chat only ends the halt.
    """

    halted: float = 0.0
    unlocked: float = 0.0
    by: str = ""
    forgave: float = 0.0

    @property
    def closed(self) -> bool:
        return self.halted > self.unlocked


def halt(kv: KV, whom: str, by: str, now: float) -> Lock:
    """Close a session (S of the keys) or an agent (its escaped name)."""
    before = read(kv, whom)
    return _write(kv, whom, replace(before, halted=max(now, before.unlocked + LATER), by=one_line(by, BY_CHARACTERS)))


def unlock(kv: KV, whom: str, by: str, now: float, *, forgives: bool = True) -> Lock:
    """Open it again. `forgives`: whatever locked it before this moment is over, not the halt alone."""
    before = read(kv, whom)
    halted = before.halted if before.halted < FOREVER else 0.0
    at = max(now, halted, before.unlocked + LATER)
    return _write(kv, whom, Lock(halted, at, one_line(by, BY_CHARACTERS), at if forgives else before.forgave))


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
        fields = orjson.loads(item.value)
        lock = Lock(fields["halted"], fields["unlocked"], str(fields["by"]), fields["forgave"])
        sound = all(type(time) in (int, float) and 0 <= time < BELIEVED for time in (lock.halted, lock.unlocked, lock.forgave))
    except (ValueError, TypeError, KeyError):
        sound = False
    return lock if sound else Lock(halted=FOREVER, by="nobody: the record is damaged")


def _write(kv: KV, whom: str, lock: Lock) -> Lock:
    kv.put(keys.lock(whom), orjson.dumps(asdict(lock)))
    return lock
