"""The first owner: a code that the server prints on its terminal makes whoever sends it the owner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hmac import compare_digest
from typing import Final

from functions.agent.people import code
from functions.agent.people.pairing import SECONDS
from functions.agent.people.roster import People
from functions.agent.swap import swapped
from functions.events import Event
from sigil.kv import KV, keys
from sigil.stored import Shape, Stored, dumps

CHARACTERS = 12
"""60 bits: anybody may try."""
TRIES = 5


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a try: whether its sender is the owner now, and how many tries are left."""

    right: bool
    left: int


@dataclass(frozen=True, slots=True)
class _Open(Stored):
    """The code that is open. `by`: the event that made its sender the owner."""

    digest: str
    at: float
    left: int = TRIES
    by: str = ""


_OPEN: Final = Shape[_Open](_Open)


class Claim:
    """The first owner's code of one agent. `now`: seconds since 1970."""

    def __init__(self, kv: KV, agent: str, people: People, now: Callable[[], float]) -> None:
        self._kv = kv
        self._key = keys.first_owner(agent)
        self._people = people
        self._now = now

    def offer(self) -> str:
        """A new code instead of the one before, for a person at the machine; empty when there is an owner."""
        if self._people.owned():
            return ""
        made = code.made(CHARACTERS)
        self._kv.put(self._key, _bytes(_Open(code.digest(made), self._now())), ttl=SECONDS)
        return code.shown(made)

    def tried(self, text: str, event: Event) -> Tried | None:
        """What sending `text` comes to; None when it is no such code, when none is open, or when there is an owner.

        A try counts before it is answered, so any number at once are five. The same event may come again.
        """
        wanted = code.read(text, CHARACTERS)
        if not wanted:
            return None
        now, digest = self._now(), code.digest(wanted)

        def decide(value: bytes | None) -> tuple[bytes | None, Tried | None]:
            known = _revived(value) if value else None
            if known is None or known.by:
                return None, Tried(True, 0) if known and known.by == event.id else None
            if known.left <= 0 or abs(now - known.at) >= SECONDS or self._people.owned():
                return None, None
            if compare_digest(known.digest, digest):
                return _bytes(replace(known, by=event.id)), Tried(True, known.left)
            return _bytes(replace(known, left=known.left - 1)), Tried(False, known.left - 1)

        tried = swapped(self._kv, self._key, decide, SECONDS)
        if tried and tried.right:
            self._people.let_in(event.sender.id, "owner", event.sender.name, "the server's code")
        return tried


def _revived(value: bytes) -> _Open | None:
    try:
        return _OPEN.read(value)
    except ValueError:
        return None


def _bytes(known: _Open) -> bytes:
    return dumps(known)
