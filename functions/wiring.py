"""Which back-end a setting means, and an agent put together from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from functions.channels.base import Channel
from functions.channels.replies import Replies
from functions.queues.base import Queue
from functions.settings import Settings
from sigil.errors import UsageError
from sigil.wiring import Stores, open_registry, open_stores, unheard

if TYPE_CHECKING:
    from functions.agent.app import App
    from functions.agent.model import Model


@runtime_checkable
class Closes(Protocol):
    """A part that holds something open: children, connections, files."""

    def close(self) -> None:
        """Let go of it."""


@dataclass(frozen=True, slots=True)
class House:
    """Everything that the worker's door needs."""

    settings: Settings
    stores: Stores
    queue: Queue
    control: Queue
    channels: Mapping[str, Channel]
    replies: Replies
    app: App

    def close(self) -> None:
        """End what this process started: runners, threads, connections."""
        self.app.pool.shutdown(wait=False, cancel_futures=True)
        for part in (self.app.registry, self.app.model, *self.channels.values(), self.stores.kv):
            if isinstance(part, Closes):
                part.close()


def open_queue(settings: Settings, stores: Stores, *, control: bool = False) -> Queue:
    """The queue that `UNCAGED_QUEUE` names; with `control` the side of it that hands out control events."""
    if settings.queue:
        raise UsageError(
            "ESETTING", f"UNCAGED_QUEUE={settings.queue!r} names no queue", suggestion="leave it empty: events wait in the store"
        )
    from functions.queues.inbox import Inbox

    return Inbox(stores.kv, lease=settings.lease, control=control)


def open_channels(settings: Settings) -> dict[str, Channel]:
    """The platforms whose settings are there, by name."""
    channels: dict[str, Channel] = {}
    if settings.telegram_token:
        from functions.channels.telegram import Telegram

        channels["telegram"] = Telegram(
            settings.telegram_token,
            settings.telegram_secret,
            settings.telegram_api,
            settings.agent,
            settings.telegram_username or None,
        )
    return channels


def open_model(settings: Settings) -> Model:
    """The model at `UNCAGED_LLM_URL`, or the offline one."""
    if not settings.endpoint:
        from functions.agent.offline import OfflineModel

        return OfflineModel()
    from functions.agent.llm import ChatCompletions

    return ChatCompletions(settings.endpoint, settings.llm_key, settings.llm_model, settings.llm_window)


def open_app(settings: Settings, stores: Stores, progress: Callable[[str], None] = unheard) -> App:
    """The agent of the settings over a store."""
    from functions.agent.app import App
    from functions.agent.roles import Rules
    from functions.agent.session import Sessions

    return App(
        name=settings.agent,
        kv=stores.kv,
        sessions=Sessions(stores.kv),
        model=open_model(settings),
        registry=open_registry(settings, stores, progress),
        rules=Rules(frozenset(settings.owners), settings.access, settings.deploy),  # type: ignore[arg-type]
        turn_seconds=settings.turn_seconds,
    )


def open_house(settings: Settings, progress: Callable[[str], None] = unheard) -> House:
    """All of it, for a process that works on events."""
    stores = open_stores(settings)
    return House(
        settings=settings,
        stores=stores,
        queue=open_queue(settings, stores),
        control=open_queue(settings, stores, control=True),
        channels=open_channels(settings),
        replies=Replies(stores.kv),
        app=open_app(settings, stores, progress),
    )
