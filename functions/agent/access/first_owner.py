"""The first owner's code, which the server prints on its terminal, makes its sender the owner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hmac import compare_digest
from typing import Final

from functions.agent.access import pairing, pairing_code
from functions.agent.access.members import People
from functions.events import Event
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, dumps

CHARACTERS = 12
"""60 bits: anybody may try."""
SECONDS = pairing.SECONDS
TRIES = 5
"""The tries of each sender: nobody uses up another one's, and 60 bits withstand any number of
senders.
"""


@dataclass(frozen=True, slots=True)
class CodeTry:
    """The outcome of a try: `right` says that its sender is the owner now, `left` counts tries; it
    is below zero for the one after the last, which counts for nothing.
    """

    right: bool
    left: int


@dataclass(frozen=True, slots=True)
class _Tries(Stored):
    """The events by which somebody tried the code that was made at `at`."""

    at: float
    events: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _OpenCode(Stored):
    """The code that is open.

    `by` is the event that made its sender the owner. Older versions count `left` down for all
    senders together; this one leaves it as it is.
    """

    digest: str
    at: float
    left: int = TRIES
    by: str = ""


_OPEN_CODE: Final = Shape[_OpenCode](_OpenCode)
_TRIES: Final = Shape[_Tries](_Tries, required=("at", "events"))


class OwnerClaim:
    """The first owner's code of one agent. `now` returns seconds since 1970."""

    def __init__(self, kv: KV, agent: str, people: People, now: Callable[[], float]) -> None:
        self._kv = kv
        self._agent = agent
        self._key = keys.first_owner(agent)
        self._people = people
        self._now = now

    def offer_code(self) -> str:
        """Return a new code, which replaces the one before, for a person at the machine.

        It is empty when there is an owner.
        """
        if self._people.has_owner():
            return ""
        code = pairing_code.make_code(CHARACTERS)
        opened = _OpenCode(pairing_code.hash_code(code), self._now())
        self._kv.put(self._key, dumps(opened), ttl=SECONDS)
        return pairing_code.format_code(code)

    def try_code(self, text: str, event: Event) -> CodeTry | None:
        """Try the code `text` for the event's sender.

        Returns None when it is nothing like such a code, when none is open, when there is an owner,
        and for senders who were told that they have used up their own tries. A try counts before it
        is answered, so any number at once are still five. The same event may come again.
        """
        code = pairing_code.parse_code(text, CHARACTERS)
        is_other = bool(pairing_code.parse_code(text, pairing.CHARACTERS))
        if not code and (is_other or not pairing_code.looks_mistyped(text)):
            return None
        item = self._kv.get(self._key)
        known = _read_open_code(item.value) if item else None
        if known is None or (known.by and known.by != event.id):
            return None
        if known.by:
            return self._make_owner(event) if code else None
        if known.left <= 0 or abs(self._now() - known.at) >= SECONDS or self._people.has_owner():
            return None
        left = self._count_try(known, event)
        if left is None:
            return None
        digest = pairing_code.hash_code(code)
        if left < 0 or not compare_digest(known.digest, digest):
            return CodeTry(False, left)

        def decide(value: bytes | None) -> tuple[bytes | None, bool]:
            current = _read_open_code(value) if value else None
            if current is None or current.digest != digest:
                return None, False
            if current.by:
                return None, current.by == event.id
            return dumps(replace(current, by=event.id)), True

        won = update(self._kv, self._key, decide, SECONDS)
        return self._make_owner(event) if won else None

    def _count_try(self, known: _OpenCode, event: Event) -> int | None:
        """Count a try of the event's sender and return how many are left, below zero for the first
        one too many, and None for all after it.
        """

        def decide(value: bytes | None) -> tuple[bytes | None, int | None]:
            tries = _Tries(known.at)
            if value is not None:
                try:
                    stored = _TRIES.read(value)
                except ValueError:
                    stored = _Tries(known.at, ("",) * (TRIES + 1))  # damaged: all are used up
                if stored.at == known.at:  # else they tried a code before this one
                    tries = stored
            if event.id in tries.events:
                return None, TRIES - len(tries.events)
            if len(tries.events) > TRIES:
                return None, None
            more = replace(tries, events=(*tries.events, event.id))
            return dumps(more), TRIES - len(more.events)

        key = keys.first_owner_tries(self._agent, event.sender.id)
        return update(self._kv, key, decide, SECONDS)

    def _make_owner(self, event: Event) -> CodeTry:
        self._people.let_in(event.sender.id, "owner", event.sender.name, "the server's code")
        return CodeTry(True, 0)


def _read_open_code(value: bytes) -> _OpenCode | None:
    try:
        return _OPEN_CODE.read(value)
    except ValueError:
        return None
