"""What stands below a person's message while an answer to it is on its way, such as a reaction, for
platforms where it has to be taken away again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from sigil.errors import SigilError

KEPT_MOST: Final = 1_000


class WaitingSigns:
    """The signs of one bot, by the message below which they stand. Best effort: nothing here
    raises.

    `put` puts a sign there and returns its id; `remove` takes the one with an id away.
    """

    def __init__(self, put: Callable[[str], str], remove: Callable[[str, str], None]) -> None:
        self._put = put
        self._remove = remove
        self._lock = threading.Lock()
        # empty: asked for, and not there yet; None: not wanted any more
        self._signs: dict[str, str | None] = {}

    def show(self, message: str) -> None:
        """Put the sign there, once; not below a message that was answered meanwhile."""
        with self._lock:
            if message in self._signs:
                return
            while len(self._signs) >= KEPT_MOST:
                del self._signs[next(iter(self._signs))]
            self._signs[message] = ""
        try:
            sign = self._put(message)
        except SigilError:
            return
        with self._lock:
            is_wanted = self._signs.get(message) is not None
            if is_wanted:
                self._signs[message] = sign
        if not is_wanted:
            self._take_away(message, sign)

    def take_away(self, message: str) -> None:
        """Take the sign away, if this process has put it there."""
        with self._lock:
            sign = self._signs.get(message)
            if message in self._signs:
                self._signs[message] = None
        if sign:
            self._take_away(message, sign)

    def _take_away(self, message: str, sign: str) -> None:
        with suppress(SigilError):
            self._remove(message, sign)
