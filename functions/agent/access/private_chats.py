"""A person's private chat is theirs: their name says so, or a record.

On most platforms a private chat is named like its person. On Discord and Matrix it is a channel or
a room like any other, so the first private message there notes whose it is. On Matrix others may
come in later. From then on the chat is a group for good: what they write stays in it, whoever
leaves again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from functions.channels.platforms import OWN_CHAT, find_about, find_room
from functions.events import WEB, Event, find_web_person
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.base import get_many
from sigil.storage.kv.update import DELETE, Change, scan_all, update, update_item
from sigil.storage.stored import Shape, Stored, dumps


@dataclass(frozen=True, slots=True)
class PrivateChat(Stored):
    """The person who is alone with the agent in a chat since `at` (seconds since 1970).

    `shared`: somebody else came in, so that it is nobody's. `who` is empty where it was a group
    from the beginning.
    """

    who: str
    at: float
    shared: bool = False


_CHAT: Final = Shape[PrivateChat](PrivateChat)


def is_named_after(who: str, chat: str) -> bool:
    """Return whether a chat is the private one of a person, by its name: their id, behind which
    that of a thread may stand, or over HTTP, in the terminal and on the page any name.
    """
    if chat.startswith(f"{WEB}:"):
        return find_web_person(chat) == who
    if who == "terminal:local":
        return chat.startswith("terminal:")
    if chat == who:
        return not find_room(chat)
    # a port behind the id of a person of Matrix makes it somebody else's
    return chat.startswith(f"{who}:") and not OWN_CHAT.fullmatch(chat)


@dataclass(frozen=True, slots=True)
class KnownChats:
    """What is known of all `rooms`, the chats whose names do not tell whose they are."""

    rooms: Mapping[str, PrivateChat]

    def is_owned(self, chat: str, people: Collection[str]) -> bool:
        """Return whether a chat is the private one of a person, by one of their ids."""
        known = self.rooms.get(find_room(chat))
        if known is None:
            return any(is_named_after(who, chat) for who in people)
        return known.who in people and not known.shared

    def was_owned(self, chat: str, people: Collection[str]) -> bool:
        """Return whether a chat was a person's until somebody else came in."""
        known = self.rooms.get(find_room(chat))
        return known is not None and known.who in people and known.shared

    def is_shared(self, chat: str) -> bool:
        """Return whether a chat is a group for good."""
        known = self.rooms.get(find_room(chat))
        return known is not None and known.shared


class PrivateChats:
    """Whose the chats of one agent's channels are. `now` returns seconds since 1970."""

    def __init__(self, kv: KV, agent: str, now: Callable[[], float]) -> None:
        self._kv = kv
        self._agent = agent
        self._now = now

    def owns(self, who: str, chat: str) -> bool:
        """Return whether a chat is the private one of a person. The store is read only where its
        name does not tell.
        """
        room = find_room(chat)
        if not room:
            return is_named_after(who, chat)
        item = self._kv.get(self._key(room))
        known = _read_chat(item.value) if item else None
        return known is not None and known.who == who and not known.shared

    def list_keys(self, event: Event) -> list[Key]:
        """Return the key of what `note` has to know; none where the chat's name tells it."""
        room = find_room(event.session)
        if not room:
            return []
        about = find_about(event.platform)
        is_told = event.kind == "message" and about is not None and about.joined_by_others
        return [self._key(room)] if event.private or is_told else []

    def note(self, event: Event, items: Sequence[Item | None]) -> Event:
        """Note whose the chat of an event is, and return the event: it is not private where others
        have been in the chat. `items` were just read at `list_keys`.

        What nobody has typed just now tells nothing of a chat, and may only lose rights.
        """
        if not items:
            return event
        [item] = items
        known = _read_chat(item.value) if item else None
        is_message = event.kind == "message"
        is_theirs = event.private and (known is None or known.who == event.behalf)
        if is_message and (known is None or not (known.shared or is_theirs)):
            known = self._write(event)
        if known is None or (is_theirs and not known.shared):
            return event
        return replace(event, private=False) if event.private else event

    def check(self, event: Event) -> Event:
        """Read what `note` needs, and return what it does."""
        wanted = self.list_keys(event)
        return self.note(event, get_many(self._kv, wanted)) if wanted else event

    def find_all(self, people: Collection[str]) -> Mapping[str, str]:
        """Return the private chat of each of these people, by their id, without those of whom none
        is known. Where there are several, it is the newest.
        """
        abouts = {who: find_about(who.partition(":")[0]) for who in people}
        chats = {who: who for who in people if OWN_CHAT.fullmatch(who)}
        if any(about and about.room for about in abouts.values()):
            for chat, known in sorted(self.scan(), key=lambda each: each[1].at):
                if known.who in abouts and not known.shared:
                    chats[known.who] = chat
        return chats

    def is_private(self, chat: str) -> bool:
        """Return whether a chat is the private one of anybody, as far as that is known."""
        room = find_room(chat)
        if not room:
            return OWN_CHAT.fullmatch(chat) is not None or bool(find_web_person(chat))
        item = self._kv.get(self._key(room))
        return item is not None and not _read_chat(item.value).shared

    def is_shared(self, chat: str) -> bool:
        """Return whether a chat is known to be a group for good."""
        room = find_room(chat)
        item = self._kv.get(self._key(room)) if room else None
        return item is not None and _read_chat(item.value).shared

    def forget(self, chat: str, who: str) -> None:
        """Forget that a chat is or was a person's. One that others have come into stays a group."""

        def decide(item: Item | None) -> tuple[Change, None]:
            known = _read_chat(item.value) if item else None
            if known is None or known.who != who:
                return None, None
            return (dumps(replace(known, who="")) if known.shared else DELETE), None

        update_item(self._kv, self._key(chat), decide)

    def read_all(self) -> KnownChats:
        """Return what is known of all chats, read at once."""
        return KnownChats(dict(self.scan()))

    def scan(self) -> Iterator[tuple[str, PrivateChat]]:
        """Yield the chats whose names do not tell whose they are, with what is known of them."""
        for name, item in scan_all(self._kv, self._key("").partition):
            yield keys.unescape(name), _read_chat(item.value)

    def _write(self, event: Event) -> PrivateChat:
        """Note that a message came into a chat, and return what is known of it from now on."""
        who = event.sender.id if event.private else ""
        first = PrivateChat(who, self._now(), shared=not event.private)

        def decide(value: bytes | None) -> tuple[bytes | None, PrivateChat]:
            if value is None:
                return dumps(first), first
            known = _read_chat(value)
            if known.shared or (event.private and known.who == who):
                return None, known
            known = replace(known, shared=True)
            return dumps(known), known

        return update(self._kv, self._key(find_room(event.session)), decide)

    def _key(self, room: str) -> Key:
        return keys.private_chat(self._agent, room)


def _read_chat(value: bytes) -> PrivateChat:
    """Return the stored chat; a damaged record makes it nobody's."""
    try:
        return _CHAT.read(value)
    except ValueError:
        return PrivateChat("", 0.0, shared=True)
