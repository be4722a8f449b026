"""Links let the private chats of one person share a memory, on whatever platforms they are.

A chat offers a code, and whoever sends it in another private chat says that both are theirs. Only
memory is shared: each chat keeps its conversation, and each id its role and its allowance.

A shared memory has a scope that was made for it and is never used again, and a record of the chats
that use it. What is under a chat's own key is its own alone, so whoever leaves, or loses the
conversation that tells the scope, never comes back to what others went on to write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from functions.agent.access import pairing_code
from functions.agent.access.members import NAME_CHARACTERS
from functions.agent.sanitize import clean_text
from functions.events import Event
from sigil.errors import Refused, UsageError, one_line
from sigil.storage.kv import KV, Item, keys
from sigil.storage.kv.update import DELETE, Change, scan_all, update, update_item
from sigil.storage.stored import Shape, Stored, dumps, later

CHARACTERS: Final = 12
"""60 bits: anybody who may talk may try."""
SECONDS: Final = 600.0
"""A code is valid for so long."""
KEPT_SECONDS: Final = 3600.0
"""The record of a code stays for so long, for an event that comes again after a crash."""
TRIES: Final = 5
"""So many codes somebody may try, and so many they may be offered, within `KEPT_SECONDS`."""
CHATS_MOST: Final = 10
"""So many chats share one memory."""
EVENT_CHARACTERS: Final = 120
AGAIN: Final = "send /link in the other chat for a new one"


@dataclass(frozen=True, slots=True)
class LinkOffer(Stored):
    """A code that was told to `who` in the private chat `session`, at `at` (seconds since 1970).

    `used` is the event that linked another chat with it, or that showed it to a group. A code that
    asks once more is for the chat `only`, which is told it.
    """

    session: str
    who: str
    name: str
    at: float
    used: str = ""
    only: str = later("")


@dataclass(frozen=True, slots=True)
class _Tries(Stored):
    """The events by which somebody asked for a code or tried one, since `at`; `digest` is the
    SHA-256 of the code that they were offered last.
    """

    at: float
    asked: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    digest: str = ""


@dataclass(frozen=True, slots=True)
class LinkedChat(Stored):
    """A chat that shares a memory: its session, whose it is, and since when."""

    session: str
    who: str
    name: str
    at: float


@dataclass(frozen=True, slots=True)
class _LinkRecord(Stored):
    chats: tuple[LinkedChat, ...] = ()


_OFFER: Final = Shape[LinkOffer](LinkOffer)
_TRIES: Final = Shape[_Tries](_Tries)
_LINK: Final = Shape[_LinkRecord](_LinkRecord)


class Links:
    """The links of one agent's chats. `now` returns seconds since 1970."""

    def __init__(self, kv: KV, agent: str, now: Callable[[], float]) -> None:
        self._kv = kv
        self._agent = agent
        self._now = now

    def offer_code(self, event: Event) -> str:
        """Return a new code for the event's chat; the one before is valid no longer.

        The same event counts once when it comes again. Raises `Refused` ELIMIT when the sender
        asked too often.
        """
        now = self._now()
        name = event.id[:EVENT_CHARACTERS]
        code = pairing_code.make_code(CHARACTERS)
        digest = pairing_code.hash_code(code)

        def decide(value: bytes | None) -> tuple[bytes, str]:
            tries = self._read_tries(value)
            asked = tries.asked
            if name not in asked:
                if len(asked) >= TRIES:
                    raise _too_often()
                asked = (*asked, name)
            return dumps(replace(tries, asked=asked, digest=digest)), tries.digest

        key = keys.link_tries(self._agent, event.sender.id)
        before = update(self._kv, key, decide, KEPT_SECONDS)
        if before:
            self._withdraw(before)
        offer = LinkOffer(event.session, event.sender.id, _clean_name(event), now)
        self._kv.put(keys.link_code(self._agent, digest), dumps(offer), ttl=KEPT_SECONDS)
        return pairing_code.format_code(code)

    def offer_again(self, taken: LinkOffer, event: Event) -> str:
        """Return a second code for an offer that was taken, which the event's chat alone can use.

        Nobody but whoever reads the answer there knows it, so nobody can have them send both.
        """
        code = pairing_code.make_code(CHARACTERS)
        offer = replace(taken, at=self._now(), used="", only=event.session)
        key = keys.link_code(self._agent, pairing_code.hash_code(code))
        self._kv.put(key, dumps(offer), ttl=KEPT_SECONDS)
        return pairing_code.format_code(code)

    def take_code(self, text: str, event: Event) -> LinkOffer:
        """Return the offer whose code is `text`, which no other event can take from now on.

        A try counts before it is answered. The same event may come again. Raises `UsageError` for
        what is no code or none that is open, ESAME for the chat's own, and `Refused` ELIMIT after
        too many tries.
        """
        code = pairing_code.parse_code(text, CHARACTERS)
        if not code:
            raise UsageError("EINVAL", "that is no code", suggestion=AGAIN)
        name = event.id[:EVENT_CHARACTERS]
        self._count_try(event.sender.id, name)
        now = self._now()

        def decide(value: bytes | None) -> tuple[bytes | None, LinkOffer | None]:
            offer = _read_offer(value)
            if offer is None or offer.used not in ("", name):
                return None, None
            if offer.used:
                return None, offer
            if abs(now - offer.at) >= SECONDS or offer.only not in ("", event.session):
                return None, None
            if offer.session == event.session:
                raise UsageError("ESAME", "the code is for another chat", suggestion=AGAIN)
            taken = replace(offer, used=name)
            return dumps(taken), taken

        key = keys.link_code(self._agent, pairing_code.hash_code(code))
        taken = update(self._kv, key, decide, KEPT_SECONDS)
        if taken is None:
            raise UsageError("ENOENT", "no such code is open", suggestion=AGAIN)
        return taken

    def withdraw_code(self, text: str, event: Event) -> bool:
        """Make a code invalid that others have seen, and return whether it was open.

        The same event may come again. A try costs nothing: one that is right ends the code.
        """
        code = pairing_code.parse_code(text, CHARACTERS)
        if not code:
            return False
        name = event.id[:EVENT_CHARACTERS]

        def decide(value: bytes | None) -> tuple[bytes | None, bool]:
            offer = _read_offer(value)
            if offer is None or offer.used not in ("", name):
                return None, False
            return dumps(replace(offer, used=name)), True

        key = keys.link_code(self._agent, pairing_code.hash_code(code))
        return update(self._kv, key, decide, KEPT_SECONDS)

    def list_chats(self, scope: str) -> tuple[LinkedChat, ...]:
        """Return the chats that share the memory of this scope; none for one that nobody shares."""
        item = self._kv.get(keys.memory_link(scope))
        return _read_link(item.value if item else None).chats

    def join(self, scope: str, chat: LinkedChat, *, shared: bool = False) -> None:
        """Note that a chat uses the memory of this scope, with `shared` one that others use.

        Raises `UsageError` ENOENT when nobody does any more, `Refused` EFULL when too many do.
        """

        def decide(value: bytes | None) -> tuple[bytes | None, None]:
            if shared and value is None:
                raise UsageError("ENOENT", "nobody uses this memory any more", suggestion=AGAIN)
            record = _read_link(value)
            if chat.session in {known.session for known in record.chats}:
                return None, None
            if len(record.chats) >= CHATS_MOST:
                raise Refused("EFULL", f"{CHATS_MOST} chats share this memory already")
            return dumps(replace(record, chats=(*record.chats, chat))), None

        update(self._kv, keys.memory_link(scope), decide)

    def leave(self, scope: str, session: str) -> tuple[LinkedChat, ...]:
        """Note that a chat shares this memory no more, and return those that still do.

        The record ends with the last of them.
        """

        def decide(item: Item | None) -> tuple[Change, tuple[LinkedChat, ...]]:
            record = _read_link(item.value if item else None)
            left = tuple(chat for chat in record.chats if chat.session != session)
            if left == record.chats:
                return None, left
            return (dumps(replace(record, chats=left)) if left else DELETE), left

        return update_item(self._kv, keys.memory_link(scope), decide).answer

    def describe_chat(self, event: Event) -> LinkedChat:
        """Return the event's chat as one that shares a memory from now on."""
        return LinkedChat(event.session, event.sender.id, _clean_name(event), self._now())

    def _withdraw(self, digest: str) -> None:
        """Make a code invalid that nobody took."""
        key = keys.link_code(self._agent, digest)
        item = self._kv.get(key)
        offer = _read_offer(item.value if item else None)
        if offer and not offer.used:
            self._kv.delete(key)

    def _count_try(self, who: str, event: str) -> None:
        def decide(value: bytes | None) -> tuple[bytes | None, None]:
            tries = self._read_tries(value)
            if event in tries.tried:
                return None, None
            if len(tries.tried) >= TRIES:
                raise _too_often()
            return dumps(replace(tries, tried=(*tries.tried, event))), None

        update(self._kv, keys.link_tries(self._agent, who), decide, KEPT_SECONDS)

    def _read_tries(self, value: bytes | None) -> _Tries:
        """Return the tries of the last hour; a damaged record counts as all used up."""
        now = self._now()
        if value is None:
            return _Tries(now)
        try:
            tries = _TRIES.read(value)
        except ValueError:
            return _Tries(now, ("",) * TRIES, ("",) * TRIES)
        if abs(now - tries.at) < KEPT_SECONDS:
            return tries
        return _Tries(now, digest=tries.digest)


def find_linked_memory(kv: KV, session: str) -> str:
    """Return the scope of the memory that a session (S of the keys) shares with others.

    It is empty for the session's own. The conversation says it as well, and costs no search; this
    is for one that is lost.
    """
    agent, _, chat = session.partition("#")
    partition = keys.memory_link("").partition
    for scope, item in scan_all(kv, partition, f"{agent}#"):
        linked = _read_link(item.value).chats
        if any(keys.escape(each.session) == chat for each in linked):
            return scope
    return ""


def scope_for_sharing(session: str, event: str) -> str:
    """Return a scope for the memory that a session (S of the keys) shares from this event on."""
    return f"{session}#{sha256(event.encode(errors='replace')).hexdigest()[:8]}"


def _clean_name(event: Event) -> str:
    return one_line(clean_text(event.sender.name), NAME_CHARACTERS)


def _too_often() -> Refused:
    minutes = round(KEPT_SECONDS / 60)
    return Refused("ELIMIT", "that was too often", suggestion=f"try again in {minutes} minutes")


def _read_offer(value: bytes | None) -> LinkOffer | None:
    if value is None:
        return None
    try:
        return _OFFER.read(value)
    except ValueError:
        return None


def _read_link(value: bytes | None) -> _LinkRecord:
    """Return the record of a shared memory, an empty one when it is damaged."""
    if value is None:
        return _LinkRecord()
    try:
        return _LINK.read(value)
    except ValueError:
        return _LinkRecord()
