"""The parts of a runtime behind a switch: thin proxies, so that the product itself knows nothing of
the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from functions.agent.model.base import Model, ModelReply
from functions.agent.model.base import ModelRequest as Asked
from functions.channels.base import Channel, PlatformRequest, Received, Reply
from functions.channels.platforms import open_channels
from functions.channels.replies.http_replies import HttpReplies
from functions.events import Event
from functions.settings import Settings
from functions.wiring import (
    AgentMaker,
    AgentRuntime,
    Closable,
    open_app,
    open_directory,
    open_queue,
)
from sigil.protocol import Caller, Deployed, Found, Json, Ran, Registry
from sigil.storage.kv import KV, Expect, Item, Key
from sigil.storage.kv.base import get_many
from sigil.wiring import open_stores
from tests.stories.switch import Switch


def open_watched_runtime(settings: Settings, switch: Switch) -> AgentRuntime:
    """As `open_runtime`, every part behind the switch."""
    plain = open_stores(settings)
    stores = replace(plain, kv=_Store(plain.kv, switch))
    app = open_app(settings, stores)
    sides = open_queue(settings, stores)
    return AgentRuntime(
        settings=settings,
        stores=stores,
        queue=sides.chats,
        control=sides.control,
        work=sides.work,
        channels={
            name: _Platform(channel, switch)
            for name, channel in open_channels(settings.channels).items()
        },
        replies=HttpReplies(stores.kv),
        app=replace(app, model=_Model(app.model, switch), registry=_Registry(app.registry, switch)),
        agents=open_directory(AgentMaker(settings, stores)),
    )


class _Part:
    """What all proxies share: whoever stands behind one is closed with it."""

    def __init__(self, inner: object, switch: Switch) -> None:
        self._closes = inner
        self.switch = switch

    def close(self) -> None:
        if isinstance(self._closes, Closable):
            self._closes.close()


class _Store(_Part):
    """Every write has its points, and so has the read of a session's document; other reads are as
    many as the poll happens to make.
    """

    def __init__(self, inner: KV, switch: Switch) -> None:
        super().__init__(inner, switch)
        self.inner = inner

    def get(self, key: Key) -> Item | None:
        if _kind(key) != "head":
            return self.inner.get(key)
        with self.switch.around("read head"):
            return self.inner.get(key)

    def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
        if all(_kind(key) != "head" for key in keys):
            return get_many(self.inner, keys)
        with self.switch.around("read head"):
            return get_many(self.inner, keys)

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        with self.switch.around(f"write {_kind(key)}"):
            return self.inner.put(key, value, expect=expect, ttl=ttl)

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        with self.switch.around(f"delete {_kind(key)}"):
            self.inner.delete(key, expect=expect)

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        return self.inner.scan(partition, prefix, after, limit)


def _kind(key: Key) -> str:
    """`head`, `mark` and `archive` of a session; else the partition's own word."""
    return (key.sort if key.partition.startswith("session#") else key.partition).partition("#")[0]


class _Model(_Part):
    def __init__(self, inner: Model, switch: Switch) -> None:
        super().__init__(inner, switch)
        self.inner = inner
        self.name = inner.name
        self.window = inner.window

    def chat(self, request: Asked) -> ModelReply:
        with self.switch.around("model request"):
            return self.inner.chat(request)


class _Registry(_Part):
    def __init__(self, inner: Registry, switch: Switch) -> None:
        super().__init__(inner, switch)
        self.inner = inner

    def query(self, text: str, caller: Caller, *, limit: int = 3) -> Found:
        with self.switch.around("query"):
            return self.inner.query(text, caller, limit=limit)

    def inspect(self, ref: str, caller: Caller) -> dict[str, Json]:
        return self.inner.inspect(ref, caller)

    def deploy(self, spec: Mapping[str, Json], caller: Caller) -> Deployed:
        return self.inner.deploy(spec, caller)

    def run(self, ref: str, arguments: Mapping[str, Json], caller: Caller) -> Ran:
        name = ref.partition("@")[0]
        with self.switch.around(f"run {name}", middle=True):
            self.switch.ran(name)
            return self.inner.run(ref, arguments, caller)


class _Platform(_Part):
    def __init__(self, inner: Channel, switch: Switch) -> None:
        super().__init__(inner, switch)
        self.inner = inner

    @property
    def body_most(self) -> int:
        return self.inner.body_most

    def verify_head(self, request: PlatformRequest) -> bool:
        return self.inner.verify_head(request)

    def receive(self, request: PlatformRequest) -> Received:
        return self.inner.receive(request)

    def accept(self, event: Event) -> Event | None:
        return self.inner.accept(event)

    def send(self, reply: Reply, sent: Callable[[int], None]) -> None:
        with self.switch.around("send"):
            self.inner.send(reply, sent)

    def show_waiting(self, event: Event) -> float:
        return self.inner.show_waiting(event)

    def end_waiting(self, event: Event) -> None:
        self.inner.end_waiting(event)

    def acknowledge(self, event: Event) -> None:
        self.inner.acknowledge(event)
