"""Pairing: whoever writes without being let in gets a code; an owner who is given it lets them in.

Everybody who waits has a record of their own, which ends by itself: no number of strangers keeps
the next one from a code. Only owners' tries are compared at all, so a code of 40 bits needs no
count of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hmac import compare_digest
from typing import Final

from functions.agent.access import pairing_code
from functions.agent.access.members import NAME_CHARACTERS, People
from functions.agent.sanitize import clean
from functions.events import Event
from sigil.errors import Conflict, UsageError, one_line
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, dumps

CHARACTERS = 8
SECONDS = 600.0
"""How long a code holds."""
KEPT_SECONDS = 3600.0
"""For so long it can be told that it was used, or is over."""
CHAT_MOST = 3
"""Codes that may be open in one chat at a time."""
PAGE = 100
SESSION_CHARACTERS = 200
EVENT_CHARACTERS = 120
AGAIN = "whoever waits writes to me again for a new one"


@dataclass(frozen=True, slots=True)
class Waiting(Stored):
    """Somebody who was told a code, by the event `asked`, at `at` (seconds since 1970). `digest` is
    empty where no code was told.

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
        """The seconds for which the code still holds: none when it was used, or when the clock was
        set back beyond them.
        """
        return 0.0 if self.used else max(SECONDS - abs(now - self.at), 0.0)


_WAITING: Final = Shape[Waiting](Waiting)


class Pairing:
    """The codes of one agent. `now`: seconds since 1970."""

    def __init__(self, kv: KV, agent: str, people: People, now: Callable[[], float]) -> None:
        self._kv = kv
        self._agent = agent
        self._people = people
        self._now = now

    def offer(self, event: Event, *, lets_in: bool = True) -> str | None:
        """A code for the event's sender; None when they were told one that still holds, or when too
        many are open in this chat.

        `lets_in`: whether codes let anybody in; without, it is empty, and only says that the sender
        has to be answered now.
        """
        if len(event.session) > SESSION_CHARACTERS:
            return None
        now, told = self._now(), pairing_code.made(CHARACTERS) if lets_in else ""
        name, digest = (
            one_line(clean(event.sender.name), NAME_CHARACTERS),
            pairing_code.digest(told) if told else "",
        )
        fresh = Waiting(
            event.sender.id, name, event.session, digest, now, event.id[:EVENT_CHARACTERS]
        )
        others = sum(
            1 for known in self._of_chat(event.session) if known.left(now) and known.id != fresh.id
        )
        if others >= CHAT_MOST:
            return None

        def decide(value: bytes | None) -> tuple[bytes | None, bool]:
            known = _revived(value)
            if known and known.left(now) and known.asked != fresh.asked:
                return None, False
            return _bytes(fresh), True

        return told if update(self._kv, self._key(fresh), decide, KEPT_SECONDS) else None

    def accept(self, text: str, by: str, event: str) -> Waiting:
        """Let in whoever was told the code `text`. The same event may come again: it changes
        nothing more.

        `UsageError` for what is no code, or none that is open; `Conflict` for one that was used.
        """
        wanted = pairing_code.read(text, CHARACTERS)
        if not wanted:
            raise UsageError(
                "EINVAL",
                "that is no code",
                suggestion=f"a code has {CHARACTERS} letters and digits, such as 4F7K-9QXZ",
            )
        self._people.demand_room()
        now, digest, event = self._now(), pairing_code.digest(wanted), event[:EVENT_CHARACTERS]
        asked = next((known for known in self._all() if compare_digest(known.digest, digest)), None)
        if asked is None:
            raise _unknown()

        def decide(value: bytes | None) -> tuple[bytes | None, Waiting]:
            found = _revived(value)
            if found is None or found.digest != digest:
                raise _unknown()
            if found.used not in ("", event):
                raise Used(found.id)
            if not found.used and not found.left(now):
                raise UsageError(
                    "ENOENT",
                    f"that code is over: it held for {SECONDS / 60:.0f} minutes",
                    suggestion=AGAIN,
                )
            used = replace(found, used=event)
            return _bytes(used), used

        found = update(self._kv, self._key(asked), decide, KEPT_SECONDS)
        self._people.let_in(found.id, "member", found.name, by)
        return found

    def waiting(self) -> list[Waiting]:
        """Whose codes hold, the oldest first."""
        now = self._now()
        return sorted(
            (known for known in self._all() if known.digest and known.left(now)),
            key=lambda known: known.at,
        )

    def _key(self, waiting: Waiting) -> Key:
        return keys.waiting(self._agent, waiting.session, waiting.id)

    def _of_chat(self, session: str) -> Iterator[Waiting]:
        first = keys.waiting(self._agent, session, "")
        rows = self._kv.scan(first.partition, first.sort, limit=PAGE)
        yield from filter(None, (_revived(item.value) for _, item in rows))

    def _all(self) -> Iterator[Waiting]:
        """Everybody who was told a code within the hour; what cannot be read opens nothing."""
        after, now = "", self._now()
        while rows := self._kv.scan(
            keys.waiting(self._agent, "", "").partition, after=after, limit=PAGE
        ):
            for _, item in rows:
                known = _revived(item.value)
                if known and abs(now - known.at) < KEPT_SECONDS:
                    yield known
            after = rows[-1][0]


class Used(Conflict):
    """The code was used before."""

    def __init__(self, who: str) -> None:
        super().__init__(f"that code was used: it let {who} in")
        self.suggestion = AGAIN


def _unknown() -> UsageError:
    return UsageError(
        "ENOENT", "no such code is open", suggestion=f"look at it once more; or {AGAIN}"
    )


def _revived(value: bytes | None) -> Waiting | None:
    """Who was told a code; None for what is not there, or cannot be read."""
    try:
        return _WAITING.read(value or b"")
    except ValueError:
        return None


def _bytes(waiting: Waiting) -> bytes:
    return dumps(waiting)
