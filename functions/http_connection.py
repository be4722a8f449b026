"""HTTP connections to a model and to chat platforms, through the system's proxy where it has one.

A request to a model ends at its deadline even when the response arrives byte by byte, and checks
once a second whether it should stop. httpcore is what httpx itself is built on; its public network
backend is where a read can be cut into slices.
"""

from __future__ import annotations

import ssl
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass

import httpcore
import httpx

LOOK_SECONDS = 1.0
"""A waiting request checks this often whether it should stop."""
CONNECT_SECONDS = 10.0
CONNECTIONS = 1_000
"""The most connections to one address: no chat waits for one that background work has, and there
are never more than threads that ask.
"""


class Late(Exception):
    """The request's deadline has passed."""


class Stopped(Exception):
    """The request was told to stop before its answer was complete."""


@dataclass(frozen=True, slots=True)
class _Watch:
    """The limits of the request in this thread. `deadline` is a time of the monotonic clock."""

    deadline: float
    stopped: Callable[[], bool]

    def seconds_left(self) -> float:
        """Return the seconds until the deadline; `Late` when it has passed."""
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise Late
        return seconds


TROUBLES = (
    Late,
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
    OSError,
)
"""The exceptions of a request that fails on its own, without being stopped."""
_UNWATCHED = _Watch(float("inf"), lambda: False)
_watch: ContextVar[_Watch] = ContextVar("watch", default=_UNWATCHED)


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A complete response: `headers` by lower-case name."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpConnections:
    """A pool of connections to one address. `ValueError` when it is not an http or https URL."""

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
            ssl_context=httpx.create_ssl_context() if url.scheme == "https" else None,
            proxy=httpcore.Proxy(proxy) if proxy else None,
            max_connections=CONNECTIONS,
            network_backend=_WatchedBackend(),
        )

    @property
    def host(self) -> str:
        """The host and the port of the address."""
        return self._host.decode("ascii")

    def post(
        self,
        body: bytes,
        headers: Mapping[str, str],
        most: int,
        deadline: float,
        stopped: Callable[[], bool],
    ) -> HttpAnswer:
        """Post `body` and return the answer.

        `Late` after `deadline` (monotonic seconds), `Stopped` once `stopped()` is true, httpcore's
        own errors otherwise; a body of more than `most` bytes is a `ReadError`.
        """
        watch = _Watch(deadline, stopped)
        token = _watch.set(watch)
        sent = [
            (b"host", self._host),
            (b"content-length", b"%d" % len(body)),
            *((name.encode(), value.encode()) for name, value in headers.items()),
        ]
        left = watch.seconds_left()
        timeout = {
            "connect": min(CONNECT_SECONDS, left),
            "read": left,
            "write": left,
            "pool": left,
        }
        try:
            with self._pool.stream(
                "POST", self._url, headers=sent, content=body, extensions={"timeout": timeout}
            ) as response:
                received = {
                    name.decode("latin-1").lower(): value.decode("latin-1")
                    for name, value in response.headers
                }
                content = bytearray()
                for part in response.iter_stream():
                    content += part
                    if len(content) > most:
                        raise httpcore.ReadError("the answer is too large")
                return HttpAnswer(response.status, received, bytes(content))
        finally:
            _watch.reset(token)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()


class _WatchedBackend(httpcore.NetworkBackend):
    """httpcore's own backend; its streams stop when the watch of their thread says so."""

    def __init__(self) -> None:
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        stream = self._inner.connect_tcp(host, port, timeout, local_address, socket_options)
        return _WatchedStream(stream)

    def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        return _WatchedStream(self._inner.connect_unix_socket(path, timeout, socket_options))

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class _WatchedStream(httpcore.NetworkStream):
    """A stream whose reads and writes keep to the watch of the thread that uses it."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner
        self._looked = time.monotonic()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        watch = _watch.get()
        while True:
            try:
                part = self._inner.read(max_bytes, min(LOOK_SECONDS, watch.seconds_left()))
            except httpcore.ReadTimeout:
                self._look(watch)
                continue
            # a response that keeps arriving, byte by byte, must not put it off
            if time.monotonic() - self._looked >= LOOK_SECONDS:
                self._look(watch)
            return part

    def _look(self, watch: _Watch) -> None:
        """Raise `Stopped` when the request should stop."""
        self._looked = time.monotonic()
        if watch.stopped():
            raise Stopped

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, min(_watch.get().seconds_left(), timeout or LOOK_SECONDS))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        return _WatchedStream(self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> object:
        return self._inner.get_extra_info(info)


def open_transport(address: str | httpx.URL) -> httpx.HTTPTransport:
    """Return an httpx transport for `address`; httpx finds the proxy only for its own clients.

    `ValueError` or `httpx.InvalidURL` when the address or the proxy's cannot be right.
    """
    limits = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=20)
    try:
        return httpx.HTTPTransport(proxy=proxy_for(httpx.URL(address)), limits=limits)
    except ImportError:
        raise ValueError("a SOCKS proxy needs the package socksio") from None


def proxy_for(url: httpx.URL) -> str | None:
    """Return the system's proxy for `url`, or None."""
    if urllib.request.proxy_bypass(url.host):
        return None
    proxies = urllib.request.getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"
