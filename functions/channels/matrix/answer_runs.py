"""Runs of answers to one account: two programs that answer each other would never stop.

Matrix does not tell programs from people. Our agents mark what they write, and programs should
write notices; whoever does neither is known by the pace alone.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Final

RUN_MOST: Final = 20
"""Messages of one account in a row that are answered, where each comes so soon."""
QUICK_SECONDS: Final = 20.0
"""A message counts that comes within so many seconds of our last answer."""
ROOMS_MOST: Final = 1_000
MESSAGES_MOST: Final = 1_000
"""Messages of a run that are told from new ones."""


@dataclass(slots=True)
class _Run:
    """What one account says in a room: how many messages in a row came soon after ours, and how
    many there were at each of them.
    """

    sender: str = ""
    length: int = 0
    counted: dict[str, int] = field(default_factory=dict)


class AnswerRuns:
    """The runs of all rooms, as this process sees them. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answered: dict[str, float] = {}
        self._runs: dict[str, _Run] = {}

    def note_answer(self, room: str, at: float) -> None:
        """Note that we answer in a room at a time, in seconds since 1970."""
        with self._lock:
            if len(self._answered) >= ROOMS_MOST:
                self._answered.clear()
                self._runs.clear()
            self._answered[room] = at

    def note_message(self, room: str, sender: str) -> None:
        """Note that somebody says something in a room: the run of anybody else ends."""
        with self._lock:
            if room in self._runs and self._runs[room].sender != sender:
                del self._runs[room]

    def measure(self, room: str, sender: str, message: str, at: float) -> int:
        """Return how many messages of a sender in a row came soon after our answers, this one
        included. The same message counts once, however often it is handed out and between which.
        """
        with self._lock:
            run = self._runs.get(room)
            if run is None or run.sender != sender:
                run = _Run(sender)
            if message in run.counted:
                return run.counted[message]
            pause = at - self._answered.get(room, float("-inf"))
            if pause > QUICK_SECONDS:
                run.length = 0
            elif pause >= 0.0:  # else it was written before our answer
                run.length += 1
            if len(run.counted) >= MESSAGES_MOST:
                run.counted.clear()
            run.counted[message] = run.length
            if room in self._answered:
                self._runs[room] = run
            return run.length
