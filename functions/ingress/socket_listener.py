"""`uncaged serve --poll` listens to a platform over a websocket, for a server that has no public
address.

One process at a time does so for a bot: it holds a lease in the store. The platform's own module
(`SocketChannel.listen`) acknowledges a message only after its events are durable in the queue.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from functions import log
from functions.channels.base import Busy, Received
from functions.channels.listening.sockets import (
    CannotListen,
    ConnectionLost,
    Message,
    Socket,
    SocketChannel,
)
from functions.channels.webhooks import CommandMenu, HasMenus
from functions.ingress.ingress import Ingress
from functions.ingress.receiver_lease import ReceiverLease
from functions.ingress.receiver_outage import ReceiverOutage
from functions.wiring import AgentRuntime
from sigil.errors import BackendError, SigilError, one_line
from sigil.storage.backoff import jitter
from sigil.storage.kv import keys

if TYPE_CHECKING:
    from functions.channels.listening.websocket import Websocket

RENEWALS: Final = 3
"""A lease is renewed so many times before it would end."""
STOP_SECONDS: Final = 0.9
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
UNREADABLE_MOST: Final = 100
"""So many messages of a connection may make no sense."""
STEADY_SECONDS: Final = 60.0
"""A connection that held so long was good: the next one need not wait long."""


@dataclass(frozen=True, slots=True)
class ListenedBot:
    """A bot to listen for: its platform, its channel, and its menus of commands."""

    platform: str
    channel: SocketChannel
    make_menus: Callable[[], Sequence[CommandMenu]] = tuple


class _Ending(Exception):
    """The listener is to stop, or another process has the lease."""


class SocketListener:
    """The thread that listens for one bot."""

    def __init__(self, bot: ListenedBot, runtime: AgentRuntime) -> None:
        self._bot = bot
        self._ingress = Ingress(runtime.channels, runtime.queue, runtime.stores.kv)
        self._kv = runtime.stores.kv
        seconds = runtime.settings.lease
        agent = runtime.settings.agent
        bot_name = bot.channel.listened_bot
        self._lease = ReceiverLease(
            self._kv, keys.updates_of(agent, bot.platform, bot_name), seconds
        )
        self._state = keys.listener_state(agent, bot.platform, bot_name)
        self._seconds = seconds / RENEWALS
        self._renewal = 0.0
        self._is_held: bool | None = None
        described = runtime.settings.find_channel(bot.platform)
        self._naming_own_variables = described.naming_own_variables if described else nullcontext
        self._has_menus = False
        self._failures = 0
        self._outage = ReceiverOutage()
        self._unreadable = 0
        self._socket: _CheckedSocket | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="listener", daemon=True)

    def start(self) -> None:
        """Start listening."""
        self._thread.start()

    def stop(self) -> None:
        """Stop within a second, and let another process listen at once. What was not acknowledged
        by then comes again.
        """
        self._stopping.set()
        end = time.monotonic() + STOP_SECONDS
        socket = self._socket
        if socket:
            socket.close()
        if self._thread.is_alive():
            self._thread.join(max(end - time.monotonic(), 0.0))
        self._lease.release()

    def _run(self) -> None:
        while not self._stopping.is_set():
            begun = time.monotonic()
            problem: BackendError | None = None
            try:
                if not self._hold_lease():
                    self._stopping.wait(self._seconds)
                    continue
                with self._naming_own_variables():
                    self._bot.channel.listen(self)
            except _Ending:
                continue
            except CannotListen as refusal:
                self._note("not listening", refusal)
                self._lease.release()
                return
            except BackendError as failure:
                problem = failure
            except Exception:  # noqa: BLE001  entry point: an unexpected error must not end the listening
                if not self._stopping.is_set():
                    log.failure("not listening", platform=self._bot.platform)
            if self._stopping.is_set():  # the connections were closed
                return
            if time.monotonic() - begun >= STEADY_SECONDS:
                self._failures = 0
                self._outage.end()
            pause = jitter(min(FIRST_PAUSE * 2**self._failures, LONGEST_PAUSE), spread=0.25)
            self._failures = min(self._failures + 1, 10)
            if isinstance(problem, Busy):
                pause = max(pause, problem.retry_after)
            if problem and self._outage.is_news(problem.message):
                self._note("not listening", problem, seconds=round(pause, 1))
            self._wait(pause)

    def _wait(self, seconds: float) -> None:
        """Wait, and keep the lease meanwhile."""
        end = time.monotonic() + seconds
        try:
            while (left := end - time.monotonic()) > 0:
                self._stopping.wait(min(left, self.check()))
        except _Ending:
            return
        except BackendError:  # the store is away
            self._stopping.wait(end - time.monotonic())

    def _hold_lease(self) -> bool:
        """Take or renew the lease; False while another process has it."""
        is_held = self._lease.hold()
        self._renewal = time.monotonic() + self._seconds
        if not is_held and self._is_held is not False and not self._stopping.is_set():
            log.note("another server listens for this bot", platform=self._bot.platform)
        self._is_held = is_held
        return is_held

    def check(self) -> float:
        """Return the seconds until the next check; raise when the listening is to end."""
        if self._stopping.is_set():
            raise _Ending
        if time.monotonic() >= self._renewal and not self._hold_lease():
            raise _Ending
        return max(self._renewal - time.monotonic(), 0.0)

    def _note(self, step: str, problem: SigilError, **facts: object) -> None:
        log.note(
            step,
            platform=self._bot.platform,
            code=problem.code,
            message=problem.message,
            help=problem.suggestion,
            **facts,
        )

    # ---- for the channel

    @contextmanager
    def connect(
        self, url: str, most: int, *, pings: bool = False, leaves_with: int = 1000
    ) -> Iterator[Socket]:
        """Open a connection (`Listener.connect`)."""
        # loaded where it is used: whoever receives by webhooks has no need of it
        from functions.channels.listening.websocket import Websocket

        self.check()
        websocket = Websocket.open(url, most, self._bot.platform, pings=pings)
        connection = _CheckedSocket(self, websocket, leaves_with)
        self._socket = connection
        self._unreadable = 0
        try:
            self.check()  # `stop` may have looked for the connection before it was there
            yield connection
        finally:
            self._socket = None
            connection.close()

    def put(self, read: Callable[[], Received]) -> Received | None:
        """Put what a message brings into the queue (`Listener.put`)."""
        try:
            received = read()
        except SigilError as problem:
            self.note_unreadable(problem.message)
            return None
        except Exception:  # noqa: BLE001  entry point: one message must not hold up the others
            log.failure("unreadable", platform=self._bot.platform)
            return None
        try:
            self._ingress.enqueue(received, self._bot.platform)
        except BackendError:
            raise
        except SigilError as problem:  # the same again would not help
            self.note_unreadable(problem.message)
            return None
        return received

    def note_listening(self) -> None:
        """Log that events come from now on, and register the commands once."""
        log.note("listening", platform=self._bot.platform)
        if not self._has_menus and isinstance(self._bot.channel, HasMenus):
            self._has_menus = True
            with suppress(SigilError):
                self._bot.channel.set_menus(self._bot.make_menus())

    def note_unreadable(self, problem: str) -> None:
        """Log that a message made no sense."""
        log.note("unreadable", platform=self._bot.platform, message=one_line(problem, 200))
        self._unreadable += 1
        if self._unreadable >= UNREADABLE_MOST:
            raise ConnectionLost("too much of it makes no sense", source=self._bot.platform)

    def load_state(self) -> bytes | None:
        """Return the state that was saved."""
        item = self._kv.get(self._state)
        return item.value if item else None

    def save_state(self, state: bytes) -> None:
        """Save a state."""
        with suppress(BackendError):
            self._kv.put(self._state, state)


class _CheckedSocket:
    """A connection at which the listener checks meanwhile whether it may go on."""

    def __init__(self, listener: SocketListener, websocket: Websocket, leaves_with: int) -> None:
        self._listener = listener
        self._websocket = websocket
        self._leaves_with = leaves_with

    def receive(self, seconds: float) -> Message | None:
        """Return the next message (`Socket.receive`)."""
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            message = self._websocket.receive(min(left, self._listener.check()))
            if message is not None or left <= 0:
                return message

    def send(self, message: Message) -> None:
        """Send a message (`Socket.send`)."""
        self._websocket.send(message)

    def close(self) -> None:
        """Close it."""
        self._websocket.close(self._leaves_with)
