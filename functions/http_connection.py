"""Connections to a model: a request ends at its deadline, whatever drips, and lets go once a second
to hear whether it should stop.

httpcore is what httpx itself stands on; its public network backend is where a read can be cut into
slices.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpcore
import httpx

from functions.http_transport import proxy_for

LOOK_SECONDS = 1.0
"""How often a request that waits looks whether it was told to stop."""
CONNECT_SECONDS = 10.0
CONNECTIONS = 100


class Late(Exception):
    """The deadline has passed."""


class Stopped(Exception):
    """Whoever asked was told to stop."""


@dataclass(frozen=True, slots=True)
class _Watch:
    """What the request of this thread heeds. `deadline` is a time of the monotonic clock."""

    deadline: float
    stopped: Callable[[], bool]

    def left(self) -> float:
        """Seconds until the deadline; `Late` when it has passed."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise Late
        return left


TROUBLES = (
    Late,
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
    OSError,
)
"""How a request comes to nothing by itself."""
_UNWATCHED = _Watch(float("inf"), lambda: False)
_watch: ContextVar[_Watch] = ContextVar("watch", default=_UNWATCHED)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: `headers` by lower-case name."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Connections:
    """A pool of connections to one address. `ValueError` when the address cannot be one."""

    def __init__(self, address: str) -> None:
        try:
            url = httpx.URL(address)
        except httpx.InvalidURL:
            raise ValueError("not an address") from None
        if url.scheme not in ("http", "https") or not url.host:
            raise ValueError("not an http or https address")
        proxy = proxy_for(url)
        self._url = httpcore.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        )
        self._host = url.netloc
        self._pool = httpcore.ConnectionPool(
            ssl_context=_trust() if url.scheme == "https" else None,
            proxy=httpcore.Proxy(proxy) if proxy else None,
            max_connections=CONNECTIONS,
            network_backend=_Backend(),
        )

    def post(
        self,
        body: bytes,
        headers: Mapping[str, str],
        most: int,
        deadline: float,
        stopped: Callable[[], bool],
    ) -> Answer:
        """The answer, at most `most` bytes of it. `Late`, `Stopped`, or httpcore's own errors."""
        watch = _Watch(deadline, stopped)
        token = _watch.set(watch)
        sent = [
            (b"host", self._host),
            (b"content-length", b"%d" % len(body)),
            *((name.encode(), value.encode()) for name, value in headers.items()),
        ]
        left = watch.left()
        timeout = {"connect": min(CONNECT_SECONDS, left), "read": left, "write": left, "pool": left}
        try:
            with self._pool.stream(
                "POST", self._url, headers=sent, content=body, extensions={"timeout": timeout}
            ) as response:
                received = {
                    name.decode("latin-1").lower(): value.decode("latin-1")
                    for name, value in response.headers
                }
                return Answer(response.status, received, _whole(response.iter_stream(), most))
        finally:
            _watch.reset(token)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()


def _whole(parts: Iterable[bytes], most: int) -> bytes:
    body = bytearray()
    for part in parts:
        body += part
        if len(body) > most:
            raise httpcore.ReadError("the answer is too large")
    return bytes(body)


def _trust() -> ssl.SSLContext:
    return httpx.create_ssl_context()


class _Backend(httpcore.NetworkBackend):
    """httpcore's own backend, its streams made attentive."""

    def __init__(self) -> None:
        self._inner = httpcore.SyncBackend()

    def connect_tcp(self, *given: Any, **more: Any) -> httpcore.NetworkStream:
        return _Stream(self._inner.connect_tcp(*given, **more))

    def connect_unix_socket(self, *given: Any, **more: Any) -> httpcore.NetworkStream:
        return _Stream(self._inner.connect_unix_socket(*given, **more))

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class _Stream(httpcore.NetworkStream):
    """A stream whose reads heed the watch of the thread that reads."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        watch = _watch.get()
        while True:
            try:
                return self._inner.read(max_bytes, min(LOOK_SECONDS, watch.left()))
            except httpcore.ReadTimeout:
                if watch.stopped():
                    raise Stopped from None

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, min(_watch.get().left(), timeout or LOOK_SECONDS))

    def close(self) -> None:
        self._inner.close()

    def start_tls(self, *given: Any, **more: Any) -> httpcore.NetworkStream:
        return _Stream(self._inner.start_tls(*given, **more))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
