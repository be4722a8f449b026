"""The contract of a queue: events of one session one at a time and in order, sessions side by
side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from functions.events import Event

BEHIND_MOST: Final = 8
Lane = Literal["chats", "control", "work"]
"""What one side of a queue hands out: the turns of chats; control events and inquiries, which wait
for no turn; or background work, for which no chat waits.
"""


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event handed to one worker.

    `receipt` is the queue's own; `tries` counts how often the event was handed out and came to
    nothing. `behind`: the events that wait next in its session, at most `BEHIND_MOST` of them; None
    when the queue cannot tell.
    """

    event: Event
    receipt: str
    tries: int = 0
    behind: tuple[Event, ...] | None = ()


@dataclass(frozen=True, slots=True)
class QueueSides:
    """A queue as the workers of each lane see it.

    `work` is None when the side of chats hands out background work as well.
    """

    chats: Queue
    control: Queue
    work: Queue | None


class Queue(Protocol):
    """Events on their way to a worker. An event is durable when `put` returns; it is delivered
    until `done`.
    """

    def put(self, event: Event) -> None:
        """Store the event; one that already waits is the same event."""

    def put_all(self, events: Sequence[Event]) -> None:
        """Store the events; all are durable when it returns. On a `BackendError` some may be, and
        those that are put again are the same events.
        """

    def take(self, wait: float) -> Delivery | None:
        """Return the next event that may run now, for this worker alone; None after `wait` seconds
        without one.
        """

    def done(self, delivery: Delivery, gathered: Sequence[Event] = ()) -> None:
        """Remove the event: it is handled to its end.

        `gathered` are events behind it that its turn has answered as well. A queue may leave them
        where they are: they come again, and end there.
        """

    def retry(self, delivery: Delivery, delay: float) -> None:
        """Hand the event out again in `delay` seconds, before anything that came after it. Its
        `tries` are kept as they are here.
        """

    def renew(self) -> None:
        """Keep what this process has taken: called every few seconds, or others get it as they
        would after a crash.
        """
