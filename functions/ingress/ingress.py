"""Puts what platforms send into the queue, and what people of groups say into the store."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from functions import log
from functions.channels.base import REPLY_ADDRESS_MOST, Channel, Received
from functions.channels.isolated_channels import IsolatedChannels
from functions.events import Event
from functions.overheard import change_message, keep_message, make_change_event, make_event
from functions.queues.base import Queue
from functions.settings import Settings
from sigil.errors import BackendError, one_line
from sigil.settings import find_unknown_variables
from sigil.storage.kv import KV

if TYPE_CHECKING:
    from functions.ingress.hook_endpoint import HookEndpoint


IGNORED_SECONDS: Final = 60.0
"""A kind of what is left aside stands in the log once in so many seconds."""
IGNORED_MOST: Final = 200
"""So many kinds stand there in that time; who makes up more names than that floods nothing."""
KIND_CHARACTERS: Final = 80


class IgnoredKinds:
    """The kinds of what was left aside that stand in the log already. Safe to share between
    threads.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._noted: dict[tuple[str, str], float] = {}

    def note(self, channel: str, kind: str) -> None:
        """Log a kind that a channel left aside, unless the log has had it within a minute."""
        known = (channel, one_line(kind, KIND_CHARACTERS))
        now = self._clock()
        with self._lock:
            since = self._noted.get(known)
            if since is not None and now - since < IGNORED_SECONDS:
                return
            if len(self._noted) >= IGNORED_MOST:
                fresh = {each: at for each, at in self._noted.items() if now - at < IGNORED_SECONDS}
                self._noted = fresh
                if len(fresh) >= IGNORED_MOST:
                    return
            self._noted[known] = now
        log.note("ignored", channel=channel, kind=known[1])


@dataclass(frozen=True, slots=True)
class Ingress:
    """The channels that may send events, by name, and the queue that takes them.

    `kv` keeps what people of a group say to each other, where an owner said so. Without it,
    `passes_on` lets a worker keep it: the queue gets all of it, since nobody here knows which
    groups are listened to. With neither nothing is kept.

    `tell_closed` hears of a session whose chat takes nothing from us until somebody writes there.

    `open_hooks` opens the door of hooks, which alone needs a store to find their tokens in.

    `ignored` has the kinds of what was left aside lately.
    """

    channels: Mapping[str, Channel]
    queue: Queue
    kv: KV | None = None
    passes_on: bool = False
    tell_closed: Callable[[str], None] | None = None
    open_hooks: Callable[[], HookEndpoint] | None = None
    ignored: IgnoredKinds = field(default_factory=IgnoredKinds)

    def enqueue(self, received: Received, channel: str) -> None:
        """Put what a request of a channel brought into the queue; its events are durable when this
        returns.
        """
        events = [_drop_long_address(event) for event in received.events]
        if events:
            self.queue.put_all(events)
        for event in events:
            log.step("enqueued", event)
        for kind in received.ignored:
            self.ignored.note(channel, kind)
        for lost in received.undelivered:
            log.note("undelivered", session=lost.session, reason=lost.reason)
            if lost.is_closed and self.tell_closed:
                self.tell_closed(lost.session)
        for message in received.overheard:
            if self.kv is not None:
                keep_message(self.kv, message)
            elif self.passes_on:
                # it is not worth another delivery by the platform
                with suppress(BackendError):
                    self.queue.put(make_event(message))
        for change in received.overheard_changes:
            if self.kv is not None:
                change_message(self.kv, change)
            elif self.passes_on:
                with suppress(BackendError):
                    self.queue.put(make_change_event(change))


def _drop_long_address(event: Event) -> Event:
    """Return an event without a reply address that no platform gives: the store does not keep it,
    and the answer goes to the chat.
    """
    size = len(event.reply_to.encode(errors="replace"))
    if size <= REPLY_ADDRESS_MOST:
        return event
    log.step("reply address dropped", event, bytes=size)
    return replace(event, reply_to="")


@lru_cache(maxsize=1)
def open_ingress() -> Ingress:
    """Open what a function that only receives needs, by its settings."""
    log.start()
    settings = Settings.read()
    for unknown in find_unknown_variables(settings):
        log.note("no setting", name=unknown.name, meant=unknown.meant)
    reload = partial(settings.reload_channel, by_worker=False)
    settings = settings.load_separate_channels(by_worker=False)
    channels = IsolatedChannels(settings.channels, reload, by_worker=False)
    queue = _open_queue(settings)
    # with another queue than the store's, this function may have no store, and updates need none
    return Ingress(
        channels,
        queue,
        passes_on=settings.listen,
        open_hooks=lru_cache(maxsize=1)(partial(_open_hooks, settings, queue)),
    )


def _open_queue(settings: Settings) -> Queue:
    # most of the wiring is of no use to a function that only receives
    if settings.queue:
        from functions.queues.sqs import open_sqs_ingress

        queue = open_sqs_ingress(settings)
        queue.connect()
        return queue
    from functions.wiring import open_ingress_queue

    return open_ingress_queue(settings)


def _open_hooks(settings: Settings, queue: Queue) -> HookEndpoint:
    from functions.hooks import Hooks
    from functions.ingress.hook_endpoint import HookEndpoint
    from functions.time.clock import SYSTEM
    from sigil.wiring import open_stores

    return HookEndpoint(Hooks(open_stores(settings).kv, settings.agent), queue.put, SYSTEM.now)
