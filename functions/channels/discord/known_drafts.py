"""What a process knows of the drafts of one bot: which of them may still change.

A request about a draft whose end nobody knows may still be on its way. The answer must not stand
where that one arrives, and none may begin once the answer leaves.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from functions.channels.base import Busy
from functions.channels.discord.reply_address import InteractionAddress
from functions.channels.drafts import DraftHealth
from sigil.errors import Refused

KEPT_MOST: Final = 1_000


class KnownDrafts:
    """What a process knows of the drafts of one bot. Safe to share between threads."""

    def __init__(self) -> None:
        self.health = DraftHealth()
        self._lock = threading.Lock()
        # the interactions whose draft may change at any moment (True), or never again (False)
        self._moving: dict[int, bool] = {}

    def close(self, address: InteractionAddress) -> bool:
        """Let the draft of an interaction change no more, since its answer comes. Return False when
        a request about it may still arrive.
        """
        number = address.interaction.number
        with self._lock:
            if self._moving.get(number):
                return False
            self._note(number, is_moving=False)
            return True

    @contextmanager
    def moving(self, address: InteractionAddress) -> Iterator[None]:
        """Make a request about a draft in this block; `Refused` when its answer comes already. Once
        Discord answers, the request can arrive no more.
        """
        number = address.interaction.number
        with self._lock:
            was_moving = self._moving.get(number)
            if was_moving is False:
                raise Refused("EBLOCKED", "the answer is there", source="discord")
            self._note(number, is_moving=True)
        is_answered = False
        try:
            yield
            is_answered = True
        except (Busy, Refused):
            is_answered = True
            raise
        finally:
            if is_answered and not was_moving:
                self.settle(address)

    def settle(self, address: InteractionAddress) -> None:
        """Note that no request about the draft of an interaction can arrive any more."""
        with self._lock:
            self._moving.pop(address.interaction.number, None)

    def _note(self, number: int, *, is_moving: bool) -> None:
        self._moving[number] = is_moving
        while len(self._moving) > KEPT_MOST:
            del self._moving[next(iter(self._moving))]
