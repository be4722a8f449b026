"""The rooms in which what is said is encrypted: nothing of ours may be sent there, since we write
in the clear alone.

Encryption cannot be switched off, so a room that has it keeps it, whatever its state says later.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from sigil.errors import BackendError
from sigil.storage.kv import KV, Key, keys

if TYPE_CHECKING:
    from functions.channels.matrix.api import MatrixApi

ROOMS_MOST: Final = 10_000


class EncryptedRooms:
    """What is known of the rooms of an agent's account, by this process and in the store. `channel`
    is the channel's name. Safe to share between threads.
    """

    def __init__(self, agent: str, channel: str) -> None:
        self._agent = agent
        self._channel = channel
        self._kv: KV | None = None
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._looked_up: set[str] = set()

    def use_store(self, kv: KV) -> None:
        """Remember the rooms in a store as well from now on."""
        self._kv = kv

    def knows(self, room: str) -> bool:
        """Return whether this process knows that a room is encrypted."""
        return room in self._known

    def note(self, room: str) -> None:
        """Remember that a room is encrypted, also beyond this process."""
        if self.knows(room):
            return
        self._remember(self._known, room)
        if self._kv is not None:
            # the homeserver says the same to whoever asks
            with suppress(BackendError):
                self._kv.put(self._key(room), b"")

    def ask(self, api: MatrixApi, room: str) -> bool:
        """Return whether a room is encrypted, as the homeserver says now.

        It is asked each time, for a room may become encrypted at any time; the store is asked once.
        `BackendError` when one of them does not answer, `MatrixRejected` when the room is none of
        ours.
        """
        from functions.channels.matrix.api import MatrixRejected, quote_id

        if self.knows(room):
            return True
        if self._kv is not None and room not in self._looked_up:
            if self._kv.get(self._key(room)) is not None:
                self._remember(self._known, room)
                return True
            self._remember(self._looked_up, room)
        try:
            api.call("GET", f"/rooms/{quote_id(room)}/state/m.room.encryption")
        except MatrixRejected as problem:
            if problem.error != "M_NOT_FOUND":
                raise
            return False
        self.note(room)
        return True

    def _remember(self, rooms: set[str], room: str) -> None:
        with self._lock:
            if len(rooms) >= ROOMS_MOST:
                rooms.clear()
            rooms.add(room)

    def _key(self, room: str) -> Key:
        return keys.encrypted_chat(keys.session_of(self._agent, f"{self._channel}:{room}"))
