"""Pairing lets people in: a stranger who writes gets a code, and an owner accepts it.

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
from functions.agent.sanitize import clean_text
from functions.events import Event
from functions.texts.en import TEXTS as ENGLISH
from sigil.errors import Conflict, UsageError, one_line
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.update import scan_all, update
from sigil.storage.stored import Shape, Stored, dumps, later

CHARACTERS = 8
SECONDS = 600.0
"""A code is valid for so long."""
KEPT_SECONDS = 3600.0
"""The record stays for so long, to tell that a code was used or is over."""
CHAT_MOST = 3
"""At most so many codes are open in one chat at a time."""
PAGE = 100
SESSION_CHARACTERS = 200
EVENT_CHARACTERS = 120
AGAIN = "whoever waits writes to me again for a new one"


@dataclass(frozen=True, slots=True)
class Waiting(Stored):
    """Somebody who was told a code, by the event `asked`, at `at` (seconds since 1970).

    `digest` is empty where no code was told; `used` is the event by which an owner let them in.
    `language` is the code of theirs, for the word that they are in.
    """

    id: str
    name: str
    session: str
    digest: str
    at: float
    asked: str
    used: str = ""
    language: str = later("")

    def seconds_left(self, now: float) -> float:
        """Return the seconds for which the code is still valid.

        There are none when it was used, or when the clock was set back beyond them.
        """
        return 0.0 if self.used else max(SECONDS - abs(now - self.at), 0.0)


_WAITING: Final = Shape[Waiting](Waiting)


class Pairing:
    """The codes of one agent. `now` returns seconds since 1970."""

    def __init__(self, kv: KV, agent: str, people: People, now: Callable[[], float]) -> None:
        self._kv = kv
        self._agent = agent
        self._people = people
        self._now = now

    def offer_code(self, event: Event, *, lets_in: bool = True, language: str = "") -> str | None:
        """Return a code for the event's sender.

        None means that they were told one that is still valid, or that too many are open in this
        chat. Without `lets_in` codes let nobody in: the code is empty, and only says that the
        sender has to be answered now.
        """
        if len(event.session) > SESSION_CHARACTERS:
            return None
        now = self._now()
        code = pairing_code.make_code(CHARACTERS) if lets_in else ""
        fresh = Waiting(
            event.sender.id,
            one_line(clean_text(event.sender.name), NAME_CHARACTERS),
            event.session,
            pairing_code.hash_code(code) if code else "",
            now,
            event.id[:EVENT_CHARACTERS],
            language="" if language == ENGLISH.code else language,
        )
        others = 0
        first = keys.pairing_request(self._agent, event.session, "")
        for _, item in self._kv.scan(first.partition, first.sort, limit=PAGE):
            known = _read_waiting(item.value)
            if known and known.seconds_left(now) and known.id != fresh.id:
                others += 1
        if others >= CHAT_MOST:
            return None

        def decide(value: bytes | None) -> tuple[bytes | None, bool]:
            known = _read_waiting(value)
            if known and known.seconds_left(now) and known.asked != fresh.asked:
                return None, False
            return dumps(fresh), True

        offered = update(self._kv, self._waiting_key(fresh), decide, KEPT_SECONDS)
        return code if offered else None

    def accept_code(self, text: str, by: str, event: str) -> Waiting:
        """Let in the person who got the code `text`, as a member. Errors as `take_code`."""
        accepted = self.take_code(text, event)
        self._people.let_in(accepted.id, "member", accepted.name, by)
        return accepted

    def is_open(self, text: str) -> bool:
        """Return whether the code `text` was told to somebody who still waits."""
        return self.find_waiting(text) is not None

    def find_waiting(self, text: str) -> Waiting | None:
        """Return who was told the code `text` and still waits; None where nobody does."""
        digest = pairing_code.hash_code(pairing_code.parse_code(text, CHARACTERS))
        waiting = self.list_waiting()
        return next((each for each in waiting if compare_digest(each.digest, digest)), None)

    def take_code(
        self, text: str, event: str, require: Callable[[Waiting], None] = lambda _: None
    ) -> Waiting:
        """Return who got the code `text`, which no other event can take from now on. The same one
        may come again. It is not taken where `require` raises an error.

        Raises `UsageError` for what is no code or none that is open, `CodeUsed` for one that was
        used, and `Refused` where nobody else may be let in.
        """
        code = pairing_code.parse_code(text, CHARACTERS)
        if not code:
            raise UsageError(
                "EINVAL",
                "that is no code",
                suggestion=f"a code has {CHARACTERS} letters and digits, such as 4F7K-9QXZ",
            )
        self._people.require_room()
        now = self._now()
        event = event[:EVENT_CHARACTERS]
        digest = pairing_code.hash_code(code)
        waiting = next(
            (known for known in self._scan_waiting() if compare_digest(known.digest, digest)), None
        )
        if waiting is None:
            raise _unknown_code()
        require(waiting)

        def decide(value: bytes | None) -> tuple[bytes | None, Waiting]:
            found = _read_waiting(value)
            if found is None or found.digest != digest:
                raise _unknown_code()
            if found.used not in ("", event):
                raise CodeUsed(found.id)
            if not found.used and not found.seconds_left(now):
                raise UsageError(
                    "ENOENT",
                    f"that code is over: it was valid for {SECONDS / 60:.0f} minutes",
                    suggestion=AGAIN,
                )
            used = replace(found, used=event)
            return dumps(used), used

        return update(self._kv, self._waiting_key(waiting), decide, KEPT_SECONDS)

    def list_waiting(self) -> list[Waiting]:
        """Return those whose codes are valid, the oldest first."""
        now = self._now()
        valid = [
            known for known in self._scan_waiting() if known.digest and known.seconds_left(now)
        ]
        return sorted(valid, key=lambda known: known.at)

    def _waiting_key(self, waiting: Waiting) -> Key:
        return keys.pairing_request(self._agent, waiting.session, waiting.id)

    def _scan_waiting(self) -> Iterator[Waiting]:
        """Yield everybody who was told a code within the hour, without damaged records."""
        now = self._now()
        for _, item in scan_all(self._kv, keys.pairing_request(self._agent, "", "").partition):
            known = _read_waiting(item.value)
            if known and abs(now - known.at) < KEPT_SECONDS:
                yield known


class CodeUsed(Conflict):
    """The code was used before."""

    def __init__(self, who: str) -> None:
        super().__init__(f"that code was used: it let {who} in")
        self.suggestion = AGAIN


def _unknown_code() -> UsageError:
    return UsageError(
        "ENOENT", "no such code is open", suggestion=f"look at it once more; or {AGAIN}"
    )


def _read_waiting(value: bytes | None) -> Waiting | None:
    """Return who was told a code; None for what is not there or is damaged."""
    try:
        return _WAITING.read(value or b"")
    except ValueError:
        return None
