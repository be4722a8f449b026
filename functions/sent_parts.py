"""The parts of replies that have left a process, where the store may not know it yet.

A reply leaves first and is marked in the store afterwards. When the store does not take the mark,
the event is handed out again, and without a note in this process the same part would leave again.
"""

from __future__ import annotations

import sys
from threading import Lock
from typing import Final

WHOLE: Final = sys.maxsize
"""The count of parts of a reply all of which have left."""
NOTES_MOST: Final = 1_000
"""So many notes are kept; only those whose reply another process finished are left over."""


class SentParts:
    """How many parts of a reply have left, one reply for each place that sends them one by one.

    Threads share it. It ends with the process: a crash between a part and its mark repeats the
    part.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._notes: dict[str, tuple[object, int]] = {}

    def note(self, place: str, reply: object, parts: int) -> None:
        """Note that so many parts of a reply have left."""
        with self._lock:
            self._notes.pop(place, None)
            self._notes[place] = (reply, parts)
            if len(self._notes) > NOTES_MOST:
                del self._notes[next(iter(self._notes))]

    def count(self, place: str, reply: object) -> int:
        """Return how many parts of a reply have left, 0 where none is known."""
        noted, parts = self._notes.get(place, (None, 0))
        return parts if noted == reply else 0

    def forget(self, place: str) -> None:
        """Forget what left from a place: the store knows it."""
        with self._lock:
            self._notes.pop(place, None)
