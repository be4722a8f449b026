"""What a homeserver tells of rooms and their members only when it is asked, remembered for a
while.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from functions.channels.matrix.api import MatrixApi, MatrixRejected, quote_id
from functions.channels.matrix.contents import list_attachments, make_quote, read_text
from functions.channels.matrix.identifiers import ROOM, USER, find_id
from functions.channels.visible_text import clean_text
from functions.events import Quote
from sigil.errors import UsageError, one_line
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json

NAME_CHARACTERS: Final = 100
GROUP_SECONDS: Final = 3_600.0
PRIVATE_SECONDS: Final = 30.0
"""A third person may come in at any time, and this process may not hear of it."""
ROOMS_MOST: Final = 500
NAMES_MOST: Final = 20_000
THREADS_MOST: Final = 10_000
DIRECT_ENCRYPTED_MOST: Final = 2
"""Where so many rooms with a person are encrypted, no other is made: it would be so as well."""
MEMBERS_BYTES: Final = 4 * 1024 * 1024
NOTED: Final = "app.uncaged.encrypted"
"""The note in our account's data of a room that we have told there that we read nothing
encrypted.
"""
DIRECT: Final = "m.direct"


@dataclass(frozen=True, slots=True)
class Room:
    """A room: how many have joined it, and what they are called there, by their ids. A name is
    empty where somebody has none; there are no names where there are too many members.
    """

    count: int
    names: Mapping[str, str] = field(default_factory=dict)

    def is_private(self, *members: str) -> bool:
        """Return whether nobody is in it but these two."""
        return self.count == 2 and set(members) == set(self.names)

    def name_member(self, id: str) -> str:
        """Return what a member is called, with their id where the name could be another's; the id
        alone when no name is known.
        """
        name = self.names.get(id, "")
        if not name:
            return id
        same = [each for each in self.names.values() if each.casefold() == name.casefold()]
        is_unclear = len(same) > 1 or USER.search(name) is not None
        return f"{name} ({id})" if is_unclear else name


@dataclass(frozen=True, slots=True)
class AnsweredMessage:
    """A message that is answered: whether it is ours, and what it says, as a quote."""

    ours: bool
    quote: Quote | None


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread: whether it begins with a message of `ours`, and the id of the `first` message for
    us in it, which quotes that one.
    """

    ours: bool
    first: str = ""


class RoomDirectory:
    """The rooms of our account. Safe to share between threads."""

    def __init__(
        self, user: str, channel: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._user = user
        self._channel = channel
        self._clock = clock
        self._lock = threading.Lock()
        self._rooms: dict[str, tuple[Room, float]] = {}
        self._told: set[str] = set()
        self._threads: dict[tuple[str, str], Thread] = {}

    def find_room(self, api: MatrixApi, id: str) -> Room:
        """Return a room; `MatrixRejected` when we are not in it, `BackendError` for no answer."""
        known = self.get_known_room(id)
        if known is not None:
            return known
        now = self._clock()
        room = self._fetch_room(api, id)
        seconds = PRIVATE_SECONDS if room.count == 2 else GROUP_SECONDS
        if room.count < 2:
            return room  # whoever was invited comes in at any moment
        with self._lock:
            names = sum(len(known.names) for known, _ in self._rooms.values())
            if len(self._rooms) >= ROOMS_MOST or names > NAMES_MOST:
                self._rooms.clear()
            self._rooms[id] = (room, now + seconds)
        return room

    def count_joined(self, api: MatrixApi) -> int:
        """Return how many rooms we are in."""
        try:
            joined = api.call("GET", "/joined_rooms", most=MEMBERS_BYTES).get("joined_rooms")
        except UsageError:
            return NAMES_MOST  # more than anybody needs
        return len(as_sequence(joined))

    def get_known_room(self, id: str) -> Room | None:
        """Return a room that was asked for lately, without asking."""
        with self._lock:
            room, end = self._rooms.get(id, (Room(0), 0.0))
        return room if self._clock() < end else None

    def forget_room(self, id: str) -> None:
        """Ask anew the next time: somebody has come, left, or taken another name."""
        with self._lock:
            self._rooms.pop(id, None)

    def _fetch_room(self, api: MatrixApi, id: str) -> Room:
        path = f"/rooms/{quote_id(id)}/joined_members"
        try:
            joined = as_mapping(api.call("GET", path, most=MEMBERS_BYTES).get("joined"))
        except UsageError:
            # tens of thousands: everybody goes by their id
            return Room(NAMES_MOST)
        names: dict[str, str] = {}
        for member, profile in joined.items():
            if len(names) < NAMES_MOST:
                names[member] = _read_name(as_mapping(profile).get("display_name"))
        return Room(len(joined), names)

    def fetch_event(self, api: MatrixApi, room: str, id: str) -> Mapping[str, Json]:
        """Return an event of a room; an empty one when it cannot be read, or is of another room,
        for whoever names it may have made it up. `BackendError` when the homeserver does not
        answer.
        """
        try:
            event = api.call("GET", f"/rooms/{quote_id(room)}/event/{quote_id(id)}")
        except MatrixRejected:
            return {}
        return event if event.get("room_id", room) == room else {}

    def fetch_message(self, api: MatrixApi, room: str, id: str) -> AnsweredMessage:
        """Return a message that is answered; one that cannot be read is nobody's.

        `BackendError` when the homeserver does not answer.
        """
        event = self.fetch_event(api, room, id)
        author = find_id(USER, event.get("sender"))
        ours = author == self._user
        content = as_mapping(event.get("content"))
        kind = as_string(content.get("msgtype"))
        files = list_attachments(kind, content)
        # a notice is nobody's message to us, and may yet be answered
        text = read_text("m.text" if kind == "m.notice" else kind, content)
        if event.get("type") != "m.room.message" or not (text or files) or not author:
            return AnsweredMessage(ours, None)
        by = "" if ours else f"{self._channel}:{author}"
        quote = make_quote("reply", text, by, ours=ours)
        return AnsweredMessage(ours, replace(quote, files=files))

    def recall_thread(self, room: str, root: str) -> Thread | None:
        """Return what this process knows of a thread, without asking."""
        return self._threads.get((room, root))

    def note_thread(self, room: str, root: str, thread: Thread) -> None:
        """Remember a thread by the message with which it begins."""
        with self._lock:
            if len(self._threads) >= THREADS_MOST:
                self._threads.clear()
            self._threads[room, root] = thread

    def has_told(self, api: MatrixApi, room: str) -> bool:
        """Return whether a room was told already that we read nothing encrypted."""
        if room in self._told:
            return True
        try:
            api.call("GET", self._note_path(room))
        except MatrixRejected:
            return False
        self.remember_told(room)
        return True

    def note_told(self, api: MatrixApi, room: str) -> None:
        """Remember that a room was told, also beyond this process."""
        api.call("PUT", self._note_path(room), {"told": True})
        self.remember_told(room)

    def knows_told(self, room: str) -> bool:
        """Return whether this process knows that a room was told."""
        return room in self._told

    def remember_told(self, room: str) -> None:
        """Remember in this process that a room was told."""
        with self._lock:
            if len(self._told) >= ROOMS_MOST:
                self._told.clear()
            self._told.add(room)

    def _note_path(self, room: str) -> str:
        return f"/user/{quote_id(self._user)}/rooms/{quote_id(room)}/account_data/{NOTED}"

    def find_direct(self, api: MatrixApi, person: str, is_encrypted: Callable[[str], bool]) -> str:
        """Return the room where we are alone with a person; one is made where there is none.

        An encrypted one only where others would be as well.
        """
        direct = self._fetch_direct(api)
        encrypted: list[str] = []
        for room in _list_rooms(direct.get(person)):
            try:
                joined = api.call("GET", f"/rooms/{quote_id(room)}/joined_members").get("joined")
            except MatrixRejected:
                continue  # we have left it
            if set(as_mapping(joined)) <= {self._user, person}:
                if not is_encrypted(room):
                    return room
                encrypted.append(room)
        if len(encrypted) >= DIRECT_ENCRYPTED_MOST:
            return encrypted[0]
        made = api.call(
            "POST",
            "/createRoom",
            {"preset": "trusted_private_chat", "is_direct": True, "invite": [person]},
        )
        room = find_id(ROOM, made.get("room_id"))
        self._save_direct(api, direct, person, room)
        return room

    def note_direct(self, api: MatrixApi, person: str, room: str) -> None:
        """Remember at the homeserver that we are alone with a person in a room."""
        direct = self._fetch_direct(api)
        if room not in _list_rooms(direct.get(person)):
            self._save_direct(api, direct, person, room)

    def _fetch_direct(self, api: MatrixApi) -> Mapping[str, Json]:
        try:
            return api.call("GET", f"/user/{quote_id(self._user)}/account_data/{DIRECT}")
        except MatrixRejected:
            return {}

    def _save_direct(
        self, api: MatrixApi, direct: Mapping[str, Json], person: str, room: str
    ) -> None:
        rooms = [room, *_list_rooms(direct.get(person))]
        path = f"/user/{quote_id(self._user)}/account_data/{DIRECT}"
        api.call("PUT", path, {**direct, person: rooms})


def _list_rooms(value: object) -> list[str]:
    return [room for room in (find_id(ROOM, each) for each in as_sequence(value)[:50]) if room]


def _read_name(value: object) -> str:
    return " ".join(one_line(clean_text(as_string(value)), NAME_CHARACTERS).split())
