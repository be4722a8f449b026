"""A listener at a websocket in the test's own process, and what comes to its queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from functions.channels.listening.sockets import SocketChannel
from functions.events import Event
from functions.ingress import socket_listener
from functions.ingress.socket_listener import ListenedBot, SocketListener
from functions.wiring import AgentRuntime, Closable
from sigil.errors import BackendError
from tests.machine import until


@dataclass
class RecordingQueue:
    """A queue of which only the events that were put are looked at; the first `failures` puts
    fail.
    """

    failures: int = 0
    events: list[Event] = field(default_factory=list)

    def put(self, event: Event) -> None:
        self.put_all([event])

    def put_all(self, events: Sequence[Event]) -> None:
        if self.failures:
            self.failures -= 1
            raise BackendError("EUNAVAILABLE", "the store is away")
        self.events += events

    def texts(self) -> list[str]:
        return [event.text for event in self.events]


@dataclass
class Listening:
    """A listener over a store of its own or of another one, and what came to it."""

    listener: SocketListener
    queue: RecordingQueue
    runtime: AgentRuntime
    channel: Closable

    def wait_for(self, *texts: str) -> None:
        until(lambda: self.queue.texts() == list(texts), f"{texts}, not {self.queue.texts()}")

    @property
    def is_over(self) -> bool:
        return not self.listener._thread.is_alive()

    def stop(self) -> None:
        self.listener.stop()
        self.channel.close()


StartListening = Callable[..., Listening]


def listen(
    runtime: AgentRuntime, platform: str, channel: SocketChannel, failures: int = 0
) -> Listening:
    """Start a listener for a bot, over a queue that only records."""
    queue = RecordingQueue(failures)
    served = replace(runtime, queue=queue, channels={platform: channel})  # type: ignore[arg-type]
    assert isinstance(channel, Closable)
    one = Listening(SocketListener(ListenedBot(platform, channel), served), queue, runtime, channel)
    one.listener.start()
    return one


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let listeners connect again soon."""
    monkeypatch.setattr(socket_listener, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(socket_listener, "LONGEST_PAUSE", 0.05)


@pytest.fixture
def start_listening(runtime: Callable[..., AgentRuntime]) -> Iterator[StartListening]:
    """Starts listeners for bots, and stops them after the test: `start_listening("slack", channel,
    failures)`; further settings are those of the runtime.
    """
    started: list[Listening] = []

    def start(
        platform: str, channel: SocketChannel, failures: int = 0, **settings: Any
    ) -> Listening:
        started.append(listen(runtime(**settings), platform, channel, failures))
        return started[-1]

    yield start
    for one in started:
        one.stop()
