"""How long people wait for the first word of an answer, where words are shown as they come."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Final, Protocol

from functions.metrics import instruments as known
from functions.metrics.meter import Meter

if TYPE_CHECKING:
    from functions.agent.app import TurnStep
    from functions.events import Event

TURNS_MOST: Final = 1_000


class ShowsTurns(Protocol):
    """What shows the turns of a process while they go on."""

    @property
    def watcher(self) -> str: ...

    def hears_words(self, event: Event) -> bool: ...

    def note_step(self, event: Event, step: TurnStep) -> None: ...


class FirstWords:
    """Passes the steps of turns on, and measures from the first of a turn to its first words.

    Of a turn whose words nobody wants nothing is measured.
    """

    def __init__(self, live: ShowsTurns, meter: Meter) -> None:
        self._live = live
        self._meter = meter
        self._began: OrderedDict[str, float] = OrderedDict()
        self._lock = Lock()

    @property
    def watcher(self) -> str:
        """The name by which the pages of this process mark the chats at which they look."""
        return self._live.watcher

    def hears_words(self, event: Event) -> bool:
        """Return whether somebody wants the words of the event's answer while they come."""
        return self._live.hears_words(event)

    def note_step(self, event: Event, step: TurnStep) -> None:
        """Pass on a step, and measure."""
        self._live.note_step(event, step)
        if step.kind == "open":
            with self._lock:
                self._began.setdefault(event.id, monotonic())
                if len(self._began) > TURNS_MOST:
                    self._began.popitem(last=False)
        elif step.kind == "words" and not step.facts.get("anew"):
            with self._lock:
                began = self._began.pop(event.id, None)
            if began is not None:
                bound = self._meter.bound
                labels = (bound("agent", event.agent), bound("platform", event.platform))
                self._meter.observe(known.FIRST_WORD, labels, monotonic() - began)
