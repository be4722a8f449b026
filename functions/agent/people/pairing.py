"""Pairing: whoever writes without being let in gets a code; an owner who is given it lets them in.

Only owners' tries are compared at all, so a code of 40 bits needs no count of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hmac import compare_digest
from typing import Final

from functions.agent.cleaning import clean
from functions.agent.people import code
from functions.agent.people.roster import NAME_CHARACTERS, People
from functions.agent.swap import swapped
from functions.events import Event
from sigil.errors import Conflict, UsageError, one_line
from sigil.kv import KV, keys
from sigil.stored import Shape, Stored, dumps

CHARACTERS = 8
SECONDS = 600.0
"""How long a code holds."""
KEPT_SECONDS = 3600.0
"""For so long it can be told that it was used, or is over."""
OPEN_MOST = 100
"""Codes that may be open at a time; who comes then gets no answer."""
CHAT_MOST = 3
KEPT_MOST = 150
SESSION_CHARACTERS = 200
EVENT_CHARACTERS = 120
AGAIN = "whoever waits writes to me again for a new one"


@dataclass(frozen=True, slots=True)
class Waiting(Stored):
    """Somebody who was told a code, by the event `asked`, at `at` (seconds since 1970). `digest` is empty where no code was told.

    `used`: the event by which an owner let them in.
    """

    id: str
    name: str
    session: str
    digest: str
    at: float
    asked: str
    used: str = ""

    def left(self, now: float) -> float:
        """The seconds for which the code still holds: none when it was used, or when the clock was set back beyond them."""
        return 0.0 if self.used else max(SECONDS - abs(now - self.at), 0.0)


_BOOK: Final = Shape[tuple[Waiting, ...]](tuple[Waiting, ...])


class Pairing:
    """The codes of one agent. `now`: seconds since 1970."""

    def __init__(self, kv: KV, agent: str, people: People, now: Callable[[], float]) -> None:
        self._kv = kv
        self._key = keys.pairing(agent)
        self._people = people
        self._now = now

    def offer(self, event: Event, *, lets_in: bool = True) -> str | None:
        """A code for the event's sender; None when they were told one that still holds, or when too many are open.

        `lets_in`: whether codes let anybody in; without, it is empty, and only says that the sender has to be answered now.
        """
        now, told = self._now(), code.made(CHARACTERS) if lets_in else ""
        name, digest = one_line(clean(event.sender.name), NAME_CHARACTERS), code.digest(told) if told else ""
        fresh = Waiting(event.sender.id, name, event.session, digest, now, event.id[:EVENT_CHARACTERS])

        def decide(value: bytes | None) -> tuple[bytes | None, bool]:
            book = _book(value, now)
            waiting = [known for known in book if known.left(now)]
            if any(known.id == fresh.id and known.asked != fresh.asked for known in waiting):
                return None, False
            others = [known.session for known in waiting if known.id != fresh.id]
            if len(others) >= OPEN_MOST or others.count(event.session) >= CHAT_MOST or len(event.session) > SESSION_CHARACTERS:
                return None, False
            return _bytes([*(known for known in book if known.id != fresh.id), fresh]), True

        return told if swapped(self._kv, self._key, decide, KEPT_SECONDS) else None

    def accept(self, text: str, by: str, event: str) -> Waiting:
        """Let in whoever was told the code `text`. The same event may come again: it changes nothing more.

        `UsageError` for what is no code, or none that is open; `Conflict` for one that was used.
        """
        wanted = code.read(text, CHARACTERS)
        if not wanted:
            raise UsageError("EINVAL", "that is no code", suggestion=f"a code has {CHARACTERS} letters and digits, such as 4F7K-9QXZ")
        self._people.demand_room()
        now, digest, event = self._now(), code.digest(wanted), event[:EVENT_CHARACTERS]

        def decide(value: bytes | None) -> tuple[bytes | None, Waiting]:
            book = _book(value, now)
            found = next((known for known in book if compare_digest(known.digest, digest)), None)
            if found is None:
                raise UsageError("ENOENT", "no such code is open", suggestion=f"look at it once more; or {AGAIN}")
            if found.used not in ("", event):
                raise Used(found.id)
            if not found.used and not found.left(now):
                raise UsageError("ENOENT", f"that code is over: it held for {SECONDS / 60:.0f} minutes", suggestion=AGAIN)
            used = replace(found, used=event)
            return _bytes([used if known is found else known for known in book]), used

        found = swapped(self._kv, self._key, decide, KEPT_SECONDS)
        self._people.let_in(found.id, "member", found.name, by)
        return found

    def waiting(self) -> list[Waiting]:
        """Whose codes hold, the oldest first."""
        item, now = self._kv.get(self._key), self._now()
        return [known for known in _book(item.value if item else None, now) if known.digest and known.left(now)]


class Used(Conflict):
    """The code was used before."""

    def __init__(self, who: str) -> None:
        super().__init__(f"that code was used: it let {who} in")
        self.suggestion = AGAIN


def _book(value: bytes | None, now: float) -> list[Waiting]:
    """The codes of the last hour; what cannot be read opens nothing."""
    try:
        return [known for known in _BOOK.read(value or b"[]") if abs(now - known.at) < KEPT_SECONDS]
    except ValueError:
        return []


def _bytes(book: list[Waiting]) -> bytes:
    newest = sorted(book, key=lambda known: known.at)[-KEPT_MOST:]
    return dumps(newest)
