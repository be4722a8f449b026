"""A listener at a websocket in the test's own process, and what comes to its queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from functions.channels.listening.sockets import SocketChannel
from functions.events import Event
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
