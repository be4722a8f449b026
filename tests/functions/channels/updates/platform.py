"""A platform as its people use it: how its updates are sent, and what people read there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, Protocol, cast
from urllib.parse import quote, urlencode

from starlette.applications import Starlette

from functions.channels.base import PlatformAnswer, PlatformRequest
from functions.ingress.ingress import IGNORED_SECONDS, IgnoredKinds, Ingress
from functions.webhook import build_routes
from functions.wiring import AgentRuntime
from tests.fakes.clock import Clock
from tests.functions.media.files import make_pdf, make_picture, write_lines

ANSWER = "an answer"
"""What the model says to everything."""
PICTURE = make_picture("JPEG")
INVOICE = make_pdf([write_lines("Total: 7 euros")])
"""What people send."""


class Door:
    """The webhook of one channel of a runtime. Between two requests pass so many seconds that each
    kind is logged again. One loop serves all: a row takes few milliseconds.
    """

    def __init__(self, name: str, runtime: AgentRuntime) -> None:
        self._path = f"/webhook/{name}"
        self._clock = Clock()
        ingress = Ingress(
            {name: runtime.channels[name]},
            runtime.queue,
            runtime.stores.kv,
            ignored=IgnoredKinds(self._clock),
        )
        self._app = Starlette(routes=build_routes(lambda: ingress))
        self._loop = asyncio.new_event_loop()  # a runner would take the thread's own away

    def send(self, request: PlatformRequest) -> PlatformAnswer:
        """Send a request, and return what the platform reads."""
        self._clock.advance(IGNORED_SECONDS)
        return self._loop.run_until_complete(self._send(request))

    async def _send(self, request: PlatformRequest) -> PlatformAnswer:
        """Call the application as a server does: a client would take longer than the webhook."""
        path = f"{self._path}/{request.path}".rstrip("/")
        told: list[dict[str, Any]] = []
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": path,
            "raw_path": quote(path).encode(),
            "query_string": urlencode(request.query).encode(),
            "headers": [(name.encode(), text.encode()) for name, text in request.headers.items()],
        }

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": request.body, "more_body": False}

        async def send(message: Any) -> None:
            told.append(message)

        await self._app(scope, receive, send)
        body = b"".join(message.get("body", b"") for message in told)
        return PlatformAnswer(told[0]["status"], body)

    def __enter__(self) -> Door:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.close()


class Platform(Protocol):
    """A platform, while its fake is open. `settings` are those of an agent there, and `files` what
    people sent, by what the platform calls it.
    """

    settings: dict[str, Any]
    files: dict[str, bytes]

    def deliver(self, sample: Any, door: Door, runtime: AgentRuntime) -> None:
        """Send an update, signed as the platform signs it, to the webhook or by its socket."""

    def list_said(self) -> list[str]:
        """Return what people read of us until now, in order."""


class WebhookPlatform:
    """A platform that sends every update to a webhook."""

    settings: dict[str, Any]
    files: dict[str, bytes]

    def sign(self, sample: Any) -> PlatformRequest:
        """Return the request by which the platform sends an update."""
        raise NotImplementedError

    def deliver(self, sample: Any, door: Door, runtime: AgentRuntime) -> None:
        answer = door.send(self.sign(sample))
        assert answer.status < 300, answer


def open_platform(name: str) -> AbstractContextManager[Platform]:
    """Open the fake of a platform: its module here has `open_platform`, as this one."""
    module = import_module(f"tests.functions.channels.updates.{name}")
    opened = cast("Callable[[], AbstractContextManager[Platform]]", module.open_platform)
    return opened()
