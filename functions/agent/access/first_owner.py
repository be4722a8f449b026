"""The first owner: a code that the server prints on its terminal makes whoever sends it the
owner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hmac import compare_digest
from typing import Final

from functions.agent.access import pairing_code
from functions.agent.access.members import People
from functions.agent.access.pairing import SECONDS
from functions.events import Event
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, dumps

CHARACTERS = 12
"""60 bits: anybody may try."""
TRIES = 5
"""Of each sender: nobody uses up another one's, and at 60 bits no number of senders comes near."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a try: whether its sender is the owner now, and how many tries they have
    left.
    """

    right: bool
    left: int


@dataclass(frozen=True, slots=True)
class _Tries(Stored):
    """The events by which somebody tried the code that was made `at`."""

    at: float
    events: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Open(Stored):
    """The code that is open. `by`: the event that made its sender the owner; `left` is what older
    versions count down for all together.
    """

    digest: str
    at: float
    left: int = TRIES
    by: str = ""


_OPEN: Final = Shape[_Open](_Open)
_TRIES: Final = Shape[_Tries](_Tries, required=("at", "events"))


class Claim:
    """The first owner's code of one agent. `now`: seconds since 1970."""

    def __init__(self, kv: KV, agent: str, people: People, now: Callable[[], float]) -> None:
        self._kv = kv
        self._agent = agent
        self._key = keys.first_owner(agent)
        self._people = people
        self._now = now

    def offer(self) -> str:
        """A new code instead of the one before, for a person at the machine; empty when there is an
        owner.
        """
        if self._people.owned():
            return ""
        made = pairing_code.made(CHARACTERS)
        self._kv.put(self._key, _bytes(_Open(pairing_code.digest(made), self._now())), ttl=SECONDS)
        return pairing_code.shown(made)

    def tried(self, text: str, event: Event) -> Tried | None:
        """What sending `text` comes to; None when it is no such code, when none is open, or when
        there is an owner.

        None as well for whoever has used up their own tries. A try counts before it is answered, so
        any number at once are five. The same event may come again.
        """
        wanted = pairing_code.read(text, CHARACTERS)
        item = self._kv.get(self._key) if wanted else None
        known = _revived(item.value) if item else None
        if known is None or (known.by and known.by != event.id):
            return None
        if known.by:
            return self._owned_by(event)
        if known.left <= 0 or abs(self._now() - known.at) >= SECONDS or self._people.owned():
            return None
        left = self._count(known, event)
        if left is None:
            return None
        digest = pairing_code.digest(wanted)
        if not compare_digest(known.digest, digest):
            return Tried(False, left)

        def decide(value: bytes | None) -> tuple[bytes | None, bool]:
            now = _revived(value) if value else None
            if now is None or now.digest != digest:
                return None, False
            return (
                (None, now.by == event.id) if now.by else (_bytes(replace(now, by=event.id)), True)
            )

        return self._owned_by(event) if update(self._kv, self._key, decide, SECONDS) else None

    def _count(self, known: _Open, event: Event) -> int | None:
        """Count a try of the event's sender; how many they have left, None when it is one too
        many.
        """

        def decide(value: bytes | None) -> tuple[bytes | None, int | None]:
            tries = _revived_tries(value, known.at)
            if event.id in tries.events:
                return None, TRIES - len(tries.events)
            if len(tries.events) >= TRIES:
                return None, None
            more = replace(tries, events=(*tries.events, event.id))
            return dumps(more), TRIES - len(more.events)

        return update(
            self._kv, keys.first_owner_tries(self._agent, event.sender.id), decide, SECONDS
        )

    def _owned_by(self, event: Event) -> Tried:
        self._people.let_in(event.sender.id, "owner", event.sender.name, "the server's code")
        return Tried(True, 0)


def _revived_tries(value: bytes | None, at: float) -> _Tries:
    """The tries of the code that was made `at`; what cannot be read counts as all of them."""
    if value is None:
        return _Tries(at)
    try:
        tries = _TRIES.read(value)
    except ValueError:
        return _Tries(at, ("",) * TRIES)
    return tries if tries.at == at else _Tries(at)


def _revived(value: bytes) -> _Open | None:
    try:
        return _OPEN.read(value)
    except ValueError:
        return None


def _bytes(known: _Open) -> bytes:
    return dumps(known)
