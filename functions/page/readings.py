"""Which chats of others owners have read on the page lately, so that the ledger says it once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

NOTED_SECONDS: Final = 3600.0
"""That somebody reads a chat is noted once in so long for a sign-in."""
MOST: Final = 1_000


class Readings:
    """The chats that were read through each sign-in, as far as this process has seen it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._noted: OrderedDict[tuple[str, str], float] = OrderedDict()

    def is_new(self, login: str, chat: str, now: float) -> bool:
        """Return whether it has to be noted that a chat is read at `now` (monotonic seconds)."""
        key = (login, chat)
        with self._lock:
            if now - self._noted.get(key, -NOTED_SECONDS) < NOTED_SECONDS:
                return False
            self._noted[key] = now
            self._noted.move_to_end(key)
            if len(self._noted) > MOST:
                self._noted.popitem(last=False)
            return True
