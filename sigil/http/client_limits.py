"""Bound what a client may cost a server: how many connections are open, and how long each takes.

Each state of a connection has an end. The head of a request has to arrive in time (`_expect_head`),
its body too (`_Body`), a client has to read what it is sent (`pause_writing`), and between two
requests uvicorn's own keep-alive counts.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import resource
import socket
import struct
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

import orjson
from uvicorn.protocols.http.h11_impl import H11Protocol

from sigil.errors import UsageError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEALTH = ("/health", "/_health")
"""The paths that are answered however many connections there are."""
SPARE = 32
"""Connections beyond the bound that stay open for a moment, long enough to get the health or a
503.
"""
BYTES_A_SECOND = 16_384
"""A body that arrives faster than this is never too slow."""
READ_BYTES = 16_384
"""Bytes that are read of a connection at once; asyncio would read 256 KiB of a body before it could
be refused.
"""
LINGER_SECONDS = 2.0
"""Seconds for which the rest of a refused body is read and dropped: a client that is still sending
would not read the refusal otherwise.
"""
RETRY_SECONDS = 5
SELDOM_SECONDS = 60.0
_NO_LINGER = struct.pack("ii", 1, 0)
_NO_RESOURCE = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_log = logging.getLogger("uncaged.sigil")


class ClientLimitSettings(Protocol):
    """The settings that bound what clients cost."""

    @property
    def connections(self) -> int: ...
    @property
    def request_seconds(self) -> float: ...
    @property
    def proxies(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """The limits of clients: their open connections, and the seconds for a request's head.

    `proxies`: the addresses and networks from which `X-Forwarded-For` and `X-Forwarded-Proto` are
    believed.
    """

    connections: int = 512
    seconds: float = 10.0
    proxies: tuple[str, ...] = ()

    @classmethod
    def from_settings(cls, settings: ClientLimitSettings) -> Self:
        """Return the limits of the settings; `UsageError` ESETTING when one makes no sense."""
        if settings.connections < 1:
            raise UsageError(
                "ESETTING",
                f"UNCAGED_CONNECTIONS={settings.connections} is too small",
                suggestion="at least 1",
            )
        if not 0 < settings.request_seconds <= 3600:
            message = f"UNCAGED_REQUEST_SECONDS={settings.request_seconds} is out of range"
            raise UsageError(
                "ESETTING", message, suggestion="a number of seconds above 0, an hour at most"
            )
        for proxy in settings.proxies:
            try:
                ipaddress.ip_network(proxy)
            except ValueError:
                help_ = "addresses or networks, such as 127.0.0.1,10.0.0.0/8"
                raise UsageError(
                    "ESETTING", f"UNCAGED_PROXIES: {proxy!r} is not an address", suggestion=help_
                ) from None
        return cls(settings.connections, settings.request_seconds, settings.proxies)


class OpenConnections:
    """The open connections of one server.

    A new one replaces the longest idle one; when none is idle, it is over the bound.
    """

    def __init__(self, bounds: ClientLimits) -> None:
        self.seconds = bounds.seconds
        # Half of the files that this process may open; the other half is for the store, the sandbox
        # and the model.
        file_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._most = max(min(bounds.connections, file_limit // 2), 1)
        self._within: OrderedDict[LimitedConnection, None] = OrderedDict()
        self._over: OrderedDict[LimitedConnection, None] = OrderedDict()

    def make_protocol(self, **options: Any) -> LimitedConnection:
        """Return the protocol of a new connection, as uvicorn asks for it."""
        return LimitedConnection(self, **options)

    def add(self, new: LimitedConnection) -> bool:
        """Count a new connection; True when it is within the bound."""
        if len(self._within) >= self._most:
            self.drop_idle()
        if len(self._within) < self._most:
            self._within[new] = None
            return True
        if len(self._over) >= SPARE:
            next(iter(self._over)).drop()
        self._over[new] = None
        _warn_seldom("too many connections", most=self._most)
        return False

    def remove(self, gone: LimitedConnection) -> None:
        self._within.pop(gone, None)
        self._over.pop(gone, None)

    def drop_idle(self) -> None:
        """Close the connection that is idle for longest, if there is one."""
        idle = next((each for each in self._within if not each.is_working), None)
        if idle:
            idle.drop()


class LimitedConnection(H11Protocol):
    """One connection of a client, whose every state has an end."""

    def __init__(self, connections: OpenConnections, **options: Any) -> None:
        super().__init__(**options)
        self._all = connections
        self._is_within = True
        self._is_refused = False
        self._served: ASGIApp = self.app
        self.app = self._answer_request
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    @property
    def is_working(self) -> bool:
        """True while a request is being answered; False while the rest of a refused one is read."""
        return self.cycle is not None and not self.cycle.response_complete and not self._is_refused

    def drop(self) -> None:
        """Close the connection now, whatever it does."""
        self._all.remove(self)
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if hasattr(transport, "max_size"):
            transport.max_size = READ_BYTES
        self._is_within = self._all.add(self)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.remove(self)
        for timer in (self._head_timer, self._write_timer):
            if timer:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.is_working or self._is_refused or self.transport.is_closing():
            if self._head_timer:
                self._head_timer.cancel()
                self._head_timer = None
        elif self._head_timer is None:  # uvicorn's keep-alive ended with the first byte
            self._expect_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.get_write_buffer_size() and self._write_timer is None:
            self._expect_reader()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_timer is None:
            self._expect_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer:
            self._write_timer.cancel()
            self._write_timer = None

    def _expect_head(self) -> None:
        self._head_timer = self.loop.call_later(self._all.seconds, self.drop)

    def _expect_reader(self) -> None:
        self._write_timer = self.loop.call_later(self._all.seconds, self._drop_unread)

    def _drop_unread(self) -> None:
        self._write_timer = None
        if self.transport.get_write_buffer_size():
            # with a reset: the kernel would keep what is not read for minutes
            self.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER
            )
            self.drop()

    async def _answer_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

        Its body has to arrive in time; an answer that does not wait for the body ends the
        connection.
        """
        names = {name for name, _ in scope["headers"]}
        app = self._served
        if b"content-length" in names and b"transfer-encoding" in names:
            app = _answer_framed_twice
        elif not self._is_within and scope["path"] not in HEALTH:
            app = _answer_too_many
        body = _Body(scope, receive, self._all.seconds)
        last: list[Message] = []

        async def send_and_close(message: Message) -> None:
            if message["type"] == "http.response.start" and body.is_awaited:
                self._is_refused = True
                message = {
                    **message,
                    "headers": [*message.get("headers", ()), (b"connection", b"close")],
                }
            elif self._is_refused and not message.get("more_body", False):
                last.append({**message, "body": b""})
                message = {**message, "more_body": True}
            await send(message)

        await app(scope, body.receive, send_and_close)
        if last:
            with suppress(TimeoutError):
                async with asyncio.timeout(LINGER_SECONDS):
                    while (await receive()).get("more_body"):
                        pass
            await send(last[0])


class _Body:
    """The body of a request while it comes in; `receive` raises `UsageError` ESLOW when it is too
    slow.
    """

    def __init__(self, scope: Scope, receive: Receive, seconds: float) -> None:
        self._receive = receive
        self._seconds = seconds
        self._began = 0.0
        self._bytes = 0
        names = {
            name: value
            for name, value in scope["headers"]
            if name in (b"content-length", b"transfer-encoding")
        }
        self.is_awaited = (
            b"transfer-encoding" in names or names.get(b"content-length", b"0").strip(b"0") != b""
        )

    async def receive(self) -> Message:
        if not self.is_awaited:
            return await self._receive()
        now = asyncio.get_running_loop().time()
        self._began = self._began or now
        try:
            async with asyncio.timeout_at(
                self._began + self._seconds + self._bytes / BYTES_A_SECOND
            ):
                message = await self._receive()
        except TimeoutError:
            problem = UsageError(
                "ESLOW", "the body of the request did not arrive in time", source="http"
            )
            raise problem from None
        self._bytes += len(message.get("body", b""))
        self.is_awaited = bool(message.get("more_body", False))
        return message


async def _answer_too_many(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 503: too many connections are open already."""
    help_ = f"try again in {RETRY_SECONDS} s; UNCAGED_CONNECTIONS says how many there may be"
    error = {
        "code": "EUNAVAILABLE",
        "message": "too many connections are open",
        "suggestion": help_,
    }
    await _send_error(send, 503, error, (b"retry-after", str(RETRY_SECONDS).encode()))


async def _answer_framed_twice(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 400, and close, when a request names its length in two ways: a proxy may see its end
    elsewhere (RFC 9112, 6.1).
    """
    message = "the request has a Content-Length and a Transfer-Encoding"
    await _send_error(
        send, 400, {"code": "EINVAL", "message": message, "suggestion": "send one of them"}
    )


async def _send_error(
    send: Send, status: int, error: Mapping[str, str], *headers: tuple[bytes, bytes]
) -> None:
    body = orjson.dumps({"error": {"source": "http", **error}})
    all_headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *headers,
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def make_exception_handler(
    connections: OpenConnections,
) -> Callable[[asyncio.AbstractEventLoop, Mapping[str, object]], None]:
    """Return the loop's exception handler.

    When no connection can be accepted, which asyncio reports hundreds of times a second, it closes
    an idle one and warns once a minute.
    """

    def handle(loop: asyncio.AbstractEventLoop, context: Mapping[str, object]) -> None:
        problem = context.get("exception")
        if isinstance(problem, OSError) and problem.errno in _NO_RESOURCE:
            _warn_seldom("no connection can be accepted", reason=problem.strerror)
            connections.drop_idle()
        else:
            loop.default_exception_handler(dict(context))

    return handle


class RepeatFilter(logging.Filter):
    """The filter passes a warning of a library once a minute, so that no client can fill the disk
    with it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._last: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno > logging.WARNING or record.exc_info:
            return True
        return self.is_due(str(record.msg))

    def is_due(self, message: str) -> bool:
        now = self._clock()
        if now - self._last.get(message, -SELDOM_SECONDS) < SELDOM_SECONDS:
            return False
        self._last[message] = now
        return True


_seldom = RepeatFilter()


def _warn_seldom(message: str, **facts: object) -> None:
    if _seldom.is_due(message):
        _log.warning(message, extra={"facts": facts})
