"""The names of people that a platform tells only when it is asked, remembered for a day."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from functions.channels.visible_text import clean_text
from sigil.errors import BackendError, one_line

KEPT_SECONDS: Final = 86_400.0
NAMES_MOST: Final = 10_000
NAME_CHARACTERS: Final = 100


class KnownNames:
    """The names of the people of one bot. Safe to share between threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._names: dict[str, tuple[str, float]] = {}

    def find(self, person: str, fetch: Callable[[], str]) -> str:
        """Return how a person is called, or else their id.

        `fetch` asks the platform, and returns an empty name where it tells none. A name is no
        reason to let anybody wait: without an answer it is the id, and asked again the next time.
        """
        now = self._clock()
        with self._lock:
            name, end = self._names.get(person, ("", 0.0))
        if end > now:
            return name or person
        try:
            name = " ".join(one_line(clean_text(fetch()), NAME_CHARACTERS).split())
        except BackendError:
            return name or person
        with self._lock:
            if len(self._names) >= NAMES_MOST:
                self._names.clear()
            self._names[person] = (name, now + KEPT_SECONDS)
        return name or person
