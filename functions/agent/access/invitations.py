"""Invitations into rooms are bound: strangers may invite us only so often, and into so many rooms.

An owner's are always taken. What peers do is to take all of them, or only those of listed people.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from functions.events import Event
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, dumps

SECONDS: Final = 3600.0
PERSON_MOST: Final = 5
"""So many invitations of one stranger are taken within `SECONDS`."""
SERVER_MOST: Final = 20
"""So many of all strangers of one server."""
ALL_MOST: Final = 60
ROOMS_MOST: Final = 1_000
"""In so many rooms we may be for others than owners."""


@dataclass(frozen=True, slots=True)
class Invitation(Stored):
    """An invitation that was taken, with digests of who sent it, of their server, and of the
    event.
    """

    at: float
    who: str
    server: str
    event: str


@dataclass(frozen=True, slots=True)
class _Taken(Stored):
    invitations: tuple[Invitation, ...] = ()


_TAKEN: Final = Shape[_Taken](_Taken)


def take_invitation(kv: KV, agent: str, event: Event, now: Callable[[], float]) -> bool:
    """Return whether a stranger's invitation is taken, which then counts. The same one may come
    again.
    """
    person = event.sender.id
    server = person.partition(":")[2].partition(":")[2]
    wanted = Invitation(now(), _hash(person), _hash(server), _hash(event.id))

    def decide(value: bytes | None) -> tuple[bytes | None, bool]:
        known = [each for each in _read(value) if abs(wanted.at - each.at) < SECONDS]
        if any(each.event == wanted.event for each in known):
            return None, True
        is_full = (
            len(known) >= ALL_MOST
            or sum(each.server == wanted.server for each in known) >= SERVER_MOST
            or sum(each.who == wanted.who for each in known) >= PERSON_MOST
        )
        return (None if is_full else dumps(_Taken((*known, wanted)))), not is_full

    return update(kv, keys.invitations(agent, event.platform), decide, SECONDS)


def _hash(text: str) -> str:
    return sha256(text.encode(errors="replace")).hexdigest()[:16]


def _read(value: bytes | None) -> tuple[Invitation, ...]:
    try:
        return _TAKEN.read(value).invitations if value else ()
    except ValueError:
        return ()
