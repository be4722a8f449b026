"""One receiver a process brings a queue's messages from SQS to the workers, and control events past
workers that are all busy.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from functions import log
from functions.events import Event
from functions.queues.sqs_client import BATCH_MOST, POLL_SECONDS, SqsClient
from functions.queues.sqs_message import SqsMessage
from functions.time.clock import Clock
from sigil.errors import BackendError, SigilError

LOOK_SECONDS = 1.0
"""How often a process whose workers are all busy looks for control events."""
LOOKS = 100
"""Messages received in such a look at most."""
AHEAD = 10
"""Messages that may wait in this process for a worker to be free."""
IDLE_SECONDS = 5.0
"""When no worker has asked for so long, none will: the process is ending."""


@dataclass(slots=True)
class _MessageInFlight:
    """`since` it was received, `until` it is hidden at least; both monotonic."""

    since: float
    until: float


class InFlightMessages:
    """The messages that this process has received and not yet answered, kept hidden from others.

    Each is hidden for `visibility` seconds, and again at every `renew` up to `hold` seconds after
    it came. Before a message is given back it is released, which waits for a renewal that runs:
    nothing hides it again.
    """

    def __init__(self, client: SqsClient, clock: Clock, visibility: float, hold: float) -> None:
        self.visibility = visibility
        self._client = client
        self._clock = clock
        self._hold = hold
        self._messages: dict[str, _MessageInFlight] = {}  # by handle
        self._lock = threading.Lock()
        self._renewing = threading.Lock()

    def add(self, handle: str, since: float) -> None:
        """Keep a message hidden that was asked for at `since` (monotonic)."""
        with self._lock:
            self._messages[handle] = _MessageInFlight(since, since + self.visibility)

    def drop(self, handle: str) -> None:
        """Keep the message no longer; a renewal that runs may still hide it once."""
        self._forget({handle})

    def release(self, handle: str) -> None:
        """Keep the message no longer, and wait for a renewal that runs."""
        with self._renewing:
            self._forget({handle})

    def is_hidden(self, handle: str) -> bool:
        """Return whether the message is surely hidden from others now."""
        with self._lock:
            message = self._messages.get(handle)
        return message is not None and self._clock.monotonic() < message.until

    def renew(self) -> None:
        """Hide all messages again, and forget those that others have or that were held for too
        long.
        """
        with self._renewing:
            now = self._clock.monotonic()
            with self._lock:
                held = list(self._messages.items())
            self._forget({handle for handle, each in held if now - each.since >= self._hold})
            with self._lock:
                handles = list(self._messages)
            for start in range(0, len(handles), BATCH_MOST):
                batch = handles[start : start + BATCH_MOST]
                now = self._clock.monotonic()
                self._forget(self._client.hide_all(batch, self.visibility))
                with self._lock:
                    for message in filter(None, map(self._messages.get, batch)):
                        message.until = now + self.visibility

    def _forget(self, handles: set[str]) -> None:
        with self._lock:
            for handle in handles:
                self._messages.pop(handle, None)


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    """A message and the event in it."""

    event: Event
    message: SqsMessage


@dataclass(eq=False, slots=True)
class ReceiveBuffer:
    """The messages that are here for one kind of workers, and how many of those wait for more.

    A receiver has one buffer for the workers of turns, and one for those of control events.
    `arrived` wakes these workers alone, one for each message.
    """

    in_flight: InFlightMessages
    arrived: threading.Condition
    ready: deque[ReceivedEvent] = field(default_factory=deque)
    waiting: int = 0

    def pop(self) -> ReceivedEvent | None:
        """Return the next message that no other process can have meanwhile.

        One that was here for too long is dropped; SQS hands it out again by itself.
        """
        while self.ready:
            received = self.ready.popleft()
            if self.in_flight.is_hidden(received.message.handle):
                return received
            self.in_flight.drop(received.message.handle)
        return None


class SqsReceiver:
    """Receives from SQS in one thread, which lives while workers ask.

    While a worker waits, a request lasts as long as SQS allows. While all are busy the thread looks
    once a second, so that control events are found, and a process that is idle gets the rest before
    this one does. What comes although no worker here is free waits in a short buffer; beyond that
    it is left alone until its visibility ends.
    """

    def __init__(
        self,
        client: SqsClient,
        decode_message: Callable[[SqsMessage], Event | None],
        clock: Clock,
        visibility: float,
        hold: float,
    ) -> None:
        """`decode_message` returns the event in a message, None for a message that holds none and
        is to be deleted. `visibility` and `hold`: see `InFlightMessages`.
        """
        self._client = client
        self._decode_message = decode_message
        self._clock = clock
        self._visibility = visibility
        self._hold = hold
        self._lock = threading.Lock()  # of everything below, and of the buffers
        self._asked = threading.Condition(self._lock)  # wakes the receiver's thread alone
        self.ordinary = self._make_buffer()
        self._control: ReceiveBuffer | None = None
        self._thread: threading.Thread | None = None
        self._last_asked = 0.0
        self._problem: SigilError | None = None

    def _make_buffer(self) -> ReceiveBuffer:
        in_flight = InFlightMessages(self._client, self._clock, self._visibility, self._hold)
        return ReceiveBuffer(in_flight, threading.Condition(self._lock))

    @property
    def control(self) -> ReceiveBuffer:
        """Return the buffer of control events; before the first call, those go to the other one."""
        with self._lock:
            self._control = self._control or self._make_buffer()
            return self._control

    def take(self, buffer: ReceiveBuffer, wait: float) -> ReceivedEvent | None:
        """Return the next message of this buffer; None after `wait` seconds without one.

        With no time to wait, the caller's own thread asks for what can be had at once.
        """
        if wait <= 0:
            for _ in range(LOOKS):
                with self._lock:
                    received = buffer.pop()
                if received or not self._receive(0):
                    return received
            return None
        with self._lock:
            if self._thread is None:
                self._problem = None
                self._thread = threading.Thread(target=self._run, name="receiver", daemon=True)
                self._thread.start()
            buffer.waiting += 1
            self._asked.notify()
            try:
                buffer.arrived.wait_for(lambda: buffer.ready or self._problem, wait)
            finally:
                buffer.waiting -= 1
                self._last_asked = self._clock.monotonic()
            received = buffer.pop()
            if received is None and self._problem:
                raise BackendError(
                    self._problem.code, self._problem.message, suggestion=self._problem.suggestion
                )
            return received

    def close(self) -> None:
        """Give back what no worker has taken, now and when a request that still runs brings
        something.
        """
        with self._lock:
            self._last_asked = -math.inf
        self._give_back_all()

    def _give_back_all(self) -> None:
        for buffer in filter(None, (self.ordinary, self._control)):
            with self._lock:
                left = list(buffer.ready)
                buffer.ready.clear()
            for received in left:
                buffer.in_flight.release(received.message.handle)
                try:
                    self._client.hide(received.message.handle, 0)
                except BackendError as problem:
                    log.note("not given back", code=problem.code)

    def _run(self) -> None:
        """Receive in the receiver's thread, until no worker asks any more."""
        try:
            while self._is_needed():
                try:
                    if self._problem or not self._has_idle_worker():
                        self._look_around()
                    else:
                        self._receive(POLL_SECONDS)
                except SigilError as problem:
                    with self._lock:
                        self._problem = problem
                        for buffer in filter(None, (self.ordinary, self._control)):
                            buffer.arrived.notify_all()
                    self._clock.pause(LOOK_SECONDS)
        finally:
            with self._lock:
                if self._thread is threading.current_thread():
                    self._thread = None
        self._give_back_all()

    def _is_needed(self) -> bool:
        """Return whether a worker waits or may ask soon; False lets the next one start a thread."""
        with self._lock:
            waiting = self.ordinary.waiting
            if self._control:
                waiting += self._control.waiting
            if waiting or self._clock.monotonic() - self._last_asked < IDLE_SECONDS:
                return True
            self._thread = None
            return False

    def _look_around(self) -> None:
        """Receive what is there, a few messages at most, then rest until a worker is free."""
        for _ in range(LOOKS):
            if not self._receive(0):
                break
        with self._lock:
            self._problem = None
            self._asked.wait_for(self._has_idle_worker, LOOK_SECONDS)

    def _has_idle_worker(self) -> bool:
        return self.ordinary.waiting > len(self.ordinary.ready)

    def _receive(self, wait: float) -> bool:
        """Receive one message and put it into its buffer; False when there was none."""
        message = self._client.receive(wait, self._visibility)
        if message is None:
            return False
        now = self._clock.monotonic()
        event = self._decode_message(message)
        if event is None:
            self._client.delete(message.handle)
            return True
        with self._lock:
            buffer = self.ordinary
            if self._control and event.skips_queue:
                buffer = self._control
            if len(buffer.ready) < max(AHEAD, buffer.waiting):
                buffer.in_flight.add(message.handle, now)
                buffer.ready.append(ReceivedEvent(event, message))
                buffer.arrived.notify()
        return True
