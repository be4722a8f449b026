"""Runs of answers to one account: two programs that answer each other would never stop.

Matrix does not tell programs from people. Our agents mark what they write, and programs should
write notices; whoever does neither is known by the pace alone. There are two such paces. What
comes sooner after our answer than anybody can read it and press a key, three times in a row, is an
echo. What comes within seconds may be a person in a hurry, so it takes many in a row.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Final

RUN_MOST: Final = 20
"""Messages of one account in a row that are answered, where each comes so soon."""
QUICK_SECONDS: Final = 20.0
"""A message counts that comes within so many seconds of our last answer."""
ECHO_MOST: Final = 3
"""So many messages of one account in a row that each come at once are an echo: the last is not
answered.
"""
ECHO_SECONDS: Final = 0.4
"""A message comes at once that is received within so many seconds after we began to send our
answer. A person takes longer who has the next message ready and only waits for the answer: it is
shown after some 0.1 s, the eye and the hand take 0.25 s and more, and the way back another 0.1 s.
"""
ROW_SECONDS: Final = 1.0
"""What comes so soon after the same account's message before was written without our answer to
that, such as a row of commands that somebody pastes.
"""
ROOMS_MOST: Final = 1_000
MESSAGES_MOST: Final = 1_000
"""Messages of a run that are told from new ones."""


@dataclass(slots=True)
class _Run:
    """What one account says in a room: how many messages in a row came soon after ours, how many
    came at once, and how many there were at each of them. `received` is when the last one came.
    `others` are the messages of whoever wrote before: an answer to one of these is not to this
    account.
    """

    sender: str = ""
    length: int = 0
    counted: dict[str, int] = field(default_factory=dict)
    echoes: int = 0
    echoes_at: dict[str, int] = field(default_factory=dict)
    received: float = float("-inf")
    others: frozenset[str] = frozenset()


class AnswerRuns:
    """The runs of all rooms, as this process sees them. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answered: dict[str, float] = {}
        self._answered_to: dict[str, str] = {}
        self._runs: dict[str, _Run] = {}

    def note_answer(self, room: str, at: float, message: str = "") -> None:
        """Note that we answer a message in a room at a time, in seconds since 1970; without one, it
        is for everybody there.
        """
        with self._lock:
            if len(self._answered) >= ROOMS_MOST:
                self._answered.clear()
                self._answered_to.clear()
                self._runs.clear()
            self._answered[room] = at
            self._answered_to[room] = message

    def note_arrival(self, room: str, sender: str, message: str, at: float) -> None:
        """Note that a message is received at a time by the clock that `note_answer` is told: the
        clock of its sender's server may be another.
        """
        with self._lock:
            if room not in self._answered:
                return
            run = self._runs.get(room)
            if run is None or run.sender != sender:
                others = frozenset(run.echoes_at) if run else frozenset()
                run = self._runs[room] = _Run(sender, others=others)
            if message in run.echoes_at:
                return
            is_alone = at - run.received >= ROW_SECONDS
            is_others = self._answered_to[room] in run.others
            if is_others or not 0.0 <= at - self._answered[room] <= ECHO_SECONDS:
                run.echoes = 0
            elif is_alone or run.echoes >= ECHO_MOST:  # an echo of our notice comes as soon
                run.echoes += 1
            run.received = at
            if len(run.echoes_at) >= MESSAGES_MOST:
                run.echoes_at.clear()
            run.echoes_at[message] = run.echoes

    def count_echoes(self, room: str, sender: str, message: str) -> int:
        """Return how many messages of a sender in a row came at once after our answers, this one
        included. It is 0 where this process did not receive the message.
        """
        with self._lock:
            run = self._runs.get(room)
            return run.echoes_at.get(message, 0) if run and run.sender == sender else 0

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
