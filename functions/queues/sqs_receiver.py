"""One receiver a process: it brings a queue's messages to the workers, and control events past
workers that are all busy.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from functions import log
from functions.clock import Clock
from functions.events import Event
from functions.queues.sqs_client import POLL_SECONDS, Calls
from functions.queues.sqs_message import Message
from functions.queues.sqs_visibility import Holds
from sigil.errors import BackendError, SigilError

LOOK_SECONDS = 1.0
"""How often a process whose workers are all busy looks for control events."""
LOOKS = 100
"""Messages received in such a look at most."""
AHEAD = 10
"""Messages that may wait in this process for a worker to be free."""
IDLE_SECONDS = 5.0
"""When nobody has asked for so long, nobody will: the process is ending."""


@dataclass(frozen=True, slots=True)
class Received:
    """A message and the event in it."""

    event: Event
    message: Message


@dataclass(eq=False, slots=True)
class Side:
    """The workers for a session's events, or the one for control events: what is here for them, and
    how many wait for more.
    """

    holds: Holds
    ready: deque[Received] = field(default_factory=deque)
    waiting: int = 0

    def next(self) -> Received | None:
        """The next that nobody else can have meanwhile; what was here for too long comes back by
        itself.
        """
        while self.ready:
            received = self.ready.popleft()
            if self.holds.has(received.message.handle):
                return received
            self.holds.drop(received.message.handle)
        return None


class Receiver:
    """Asks SQS in one thread, which lives while workers ask. While one waits, a request lasts as
    long as SQS allows. While all are busy it looks once a second, so that control events are found,
    and a process that is idle gets the rest before this one does. What comes although nobody here
    is free waits in a short line; beyond that it is left alone until its visibility ends.
    """

    def __init__(
        self,
        calls: Calls,
        opened: Callable[[Message], Event | None],
        holds: Callable[[], Holds],
        clock: Clock,
    ) -> None:
        """`opened`: the event in a message; None when it was none and is dealt with. `holds` makes
        them for a side.
        """
        self._calls = calls
        self._opened = opened
        self._holds = holds
        self._clock = clock
        self.ordinary = Side(holds())
        self._control: Side | None = None
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._asked = 0.0
        self._problem: SigilError | None = None

    @property
    def control(self) -> Side:
        """The side of control events; until somebody wants it, those go to the others."""
        with self._changed:
            self._control = self._control or Side(self._holds())
            return self._control

    def take(self, side: Side, wait: float) -> Received | None:
        """The next message for this side, received if need be; None after `wait` seconds without
        one.
        """
        return self._wait(side, wait) if wait > 0 else self._look(side)

    def close(self) -> None:
        """Give back what no worker has taken, now and when a request that still runs brings
        something.
        """
        with self._changed:
            self._asked = -math.inf
        self._clear()

    def _clear(self) -> None:
        for side in filter(None, (self.ordinary, self._control)):
            with self._changed:
                left = list(side.ready)
                side.ready.clear()
            for received in left:
                self._give_back(side, received.message.handle)

    def _give_back(self, side: Side, handle: str) -> None:
        side.holds.release(handle)
        try:
            self._calls.hide(handle, 0)
        except BackendError as problem:
            log.note("not given back", code=problem.code)

    def _look(self, side: Side) -> Received | None:
        """What is here or can be had at once, asked for in the caller's own thread."""
        for _ in range(LOOKS):
            with self._changed:
                received = side.next()
            if received or not self._receive(0):
                return received
        return None

    def _wait(self, side: Side, wait: float) -> Received | None:
        with self._changed:
            self._start()
            side.waiting += 1
            self._changed.notify_all()
            try:
                self._changed.wait_for(lambda: side.ready or self._problem, wait)
            finally:
                side.waiting -= 1
                self._asked = self._clock.monotonic()
            received = side.next()
            if received is None and self._problem:
                raise BackendError(
                    self._problem.code, self._problem.message, suggestion=self._problem.suggestion
                )
            return received

    def _start(self) -> None:
        if self._thread is None:
            self._problem = None
            self._thread = threading.Thread(target=self._work, name="receiver", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        try:
            while self._wanted():
                self._round()
        finally:
            with self._changed:
                if self._thread is threading.current_thread():
                    self._thread = None
        self._clear()

    def _wanted(self) -> bool:
        with self._changed:
            waiting = self.ordinary.waiting + (self._control.waiting if self._control else 0)
            if waiting or self._clock.monotonic() - self._asked < IDLE_SECONDS:
                return True
            self._thread = None  # whoever asks from now on starts another
            return False

    def _round(self) -> None:
        try:
            if self._problem or not self._hungry():
                self._look_around()
            else:
                self._receive(POLL_SECONDS)
        except SigilError as problem:
            with self._changed:
                self._problem = problem
                self._changed.notify_all()
            self._clock.pause(LOOK_SECONDS)

    def _look_around(self) -> None:
        """Receive what is there, a few messages at most, then rest until a worker is free."""
        for _ in range(LOOKS):
            if not self._receive(0):
                break
        with self._changed:
            self._problem = None
            self._changed.wait_for(self._hungry, LOOK_SECONDS)

    def _hungry(self) -> bool:
        return self.ordinary.waiting > len(self.ordinary.ready)

    def _receive(self, wait: float) -> bool:
        """Receive one message and put it where it belongs; False when there was none."""
        message = self._calls.receive(wait, self.ordinary.holds.visibility)
        if message is None:
            return False
        now, event = self._clock.monotonic(), self._opened(message)
        if event:
            self._place(Received(event, message), now)
        return True

    def _place(self, received: Received, now: float) -> None:
        with self._changed:
            side = self._control if self._control and received.event.beside else self.ordinary
            if len(side.ready) < max(AHEAD, side.waiting):
                side.holds.add(received.message.handle, now)
                side.ready.append(received)
                self._changed.notify_all()
