"""The registry's door: Sigil's HTTP API as one deployable function, opened by the first request that needs it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from mangum import Mangum

from sigil.errors import BackendError, UsageError
from sigil.protocol import Caller, Deployed, Found, Json, Ran

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import Receive, Scope, Send

    from sigil.wire import Keeper


class Later:
    """A registry that is opened by its first verb, so that a start waits for nothing."""

    def __init__(self, open: Callable[[], Keeper]) -> None:
        self._open = open
        self._lock = threading.Lock()
        self._registry: Keeper | None = None

    def query(self, text: str, caller: Caller, *, limit: int = 3) -> Found:
        return self._opened().query(text, caller, limit=limit)

    def inspect(self, ref: str, caller: Caller) -> dict[str, Json]:
        return self._opened().inspect(ref, caller)

    def deploy(self, spec: Mapping[str, Json], caller: Caller) -> Deployed:
        return self._opened().deploy(spec, caller)

    def run(self, ref: str, arguments: Mapping[str, Json], caller: Caller) -> Ran:
        return self._opened().run(ref, arguments, caller)

    def list(self, caller: Caller) -> Iterator[dict[str, Json]]:
        return self._opened().list(caller)

    def remove(self, name: str, caller: Caller) -> None:
        self._opened().remove(name, caller)

    def close(self) -> None:
        with self._lock:
            if self._registry:
                self._registry.close()
            self._registry = None

    def _opened(self) -> Keeper:
        with self._lock:
            try:
                self._registry = self._registry or self._open()
            except UsageError as problem:
                # A wrong setting is the server's mistake, not that of whoever asks.
                raise BackendError("EUNAVAILABLE", problem.message, source="registry", suggestion=problem.suggestion) from None
            return self._registry


class Door:
    """An ASGI app that `build` makes at the first request, with the registry to be closed at the end."""

    def __init__(self, build: Callable[[], tuple[FastAPI, Later]]) -> None:
        self._build = build
        self._built: tuple[FastAPI, Later] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._built = self._built or self._build()
        await self._built[0](scope, receive, send)

    def close(self) -> None:
        """End what the requests started."""
        if self._built:
            self._built[1].close()


def build() -> tuple[FastAPI, Later]:
    """Sigil's app and registry from the settings; without a token, and without a folder to keep one in, the API is closed."""
    from sigil import wiring
    from sigil.http import app
    from sigil.settings import Settings

    settings = Settings.read()
    try:
        token = wiring.admin_token(settings)
    except UsageError:
        token = ""
    registry = Later(lambda: wiring.local_registry(settings, wiring.open_stores(settings)))
    return app(registry, token, settings.agent), registry


handler = Mangum(Door(build), lifespan="off")
