"""HTTP connections to a model and to chat platforms, through the system's proxy where it has one.

A request to a model ends at its deadline even when the response arrives byte by byte, and checks
once a second whether it should stop, or four times where somebody reads along. httpcore is what
httpx itself is built on; its public network backend is where a read can be cut into slices. Its
pool is for requests through a proxy: without one, a request takes a connection of ours, with the
same backend and the same parser, at half the cost.
"""

from __future__ import annotations

import ssl
import time
import urllib.request
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass

import h11
import httpcore
import httpx

LOOK_SECONDS = 1.0
"""A waiting request checks this often whether it should stop."""
SHOWN_LOOK_SECONDS = 0.25
"""The same for a request whose answer somebody reads while it comes."""
CONNECT_SECONDS = 10.0
CONNECTIONS = 1_000
"""The most connections to one address: no chat waits for one that background work has, and there
are never more than threads that ask.
"""
READ_BYTES = 64 * 1024
HEAD_BYTES = 100 * 1024
"""An answer's head has at most so many bytes."""
PORTS = {"http": 80, "https": 443}
_END = h11.EndOfMessage()
Take = Callable[[bytes], None]
"""Takes the next part of an answer's body."""


class Late(Exception):
    """The request's deadline has passed."""


class Stopped(Exception):
    """The request was told to stop before its answer was complete."""


@dataclass(frozen=True, slots=True)
class _Watch:
    """The limits of the request in this thread. `deadline` is a time of the monotonic clock, and
    `look` the seconds between two questions whether it has `stopped`.
    """

    deadline: float
    stopped: Callable[[], bool]
    look: float = LOOK_SECONDS

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
        self._port = url.port or PORTS[url.scheme]
        self._host = url.netloc
        self._ssl_context: ssl.SSLContext | None = None
        if url.scheme == "https":
            self._ssl_context = httpx.create_ssl_context()
            self._ssl_context.set_alpn_protocols(["http/1.1"])
        self._backend = _WatchedBackend()
        self._pool: httpcore.ConnectionPool | None = None
        if proxy:
            self._pool = httpcore.ConnectionPool(
                ssl_context=self._ssl_context,
                proxy=httpcore.Proxy(proxy),
                max_connections=CONNECTIONS,
                network_backend=self._backend,
            )
        self._idle: deque[_Connection] = deque()
        self._is_closed = False

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
        *,
        take: Take | None = None,
    ) -> HttpAnswer:
        """Post `body` and return the answer.

        `take` gets the parts of the body of an answer with 200 as they come. `Late` after
        `deadline` (monotonic seconds), `Stopped` once `stopped()` is true, httpcore's own errors
        otherwise; a body of more than `most` bytes is a `ReadError`.
        """
        watch = _Watch(deadline, stopped, SHOWN_LOOK_SECONDS if take else LOOK_SECONDS)
        token = _watch.set(watch)
        sent = [
            (b"host", self._host),
            (b"content-length", b"%d" % len(body)),
            *((name.encode(), value.encode()) for name, value in headers.items()),
        ]
        try:
            if self._pool:
                left = watch.seconds_left()
                return self._post_through_proxy(self._pool, body, sent, most, left, take=take)
            connection = self._take_connection(watch)
            try:
                answer = connection.post(self._url.target, sent, body, most, take=take)
            except BaseException:
                connection.close()
                raise
            if connection.begin_anew():
                self._idle.append(connection)
            if self._is_closed:
                self.close()
            return answer
        finally:
            _watch.reset(token)

    def close(self) -> None:
        """Close every connection; one in use is closed when its request is over."""
        self._is_closed = True
        if self._pool:
            self._pool.close()
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _take_connection(self, watch: _Watch) -> _Connection:
        """Return a connection that no other thread has: the one that was used last, or a new
        one.
        """
        with suppress(IndexError):
            while True:
                connection = self._idle.pop()
                if connection.is_idle:
                    return connection
                connection.close()
        seconds = min(CONNECT_SECONDS, watch.seconds_left())
        host = self._url.host.decode("ascii")
        stream = self._backend.connect_tcp(host, self._port, seconds)
        if self._ssl_context:
            seconds = min(CONNECT_SECONDS, watch.seconds_left())
            stream = stream.start_tls(self._ssl_context, host, seconds)
        return _Connection(stream)

    def _post_through_proxy(
        self,
        pool: httpcore.ConnectionPool,
        body: bytes,
        headers: Sequence[tuple[bytes, bytes]],
        most: int,
        left: float,
        *,
        take: Take | None,
    ) -> HttpAnswer:
        """Return the answer to a request that has so many seconds left."""
        timeout = {
            "connect": min(CONNECT_SECONDS, left),
            "read": left,
            "write": left,
            "pool": left,
        }
        with pool.stream(
            "POST", self._url, headers=headers, content=body, extensions={"timeout": timeout}
        ) as response:
            content = bytearray()
            for part in response.iter_stream():
                content += part
                _require_bounded(content, most)
                if take and response.status == 200:
                    take(part)
            return HttpAnswer(response.status, _decode_headers(response.headers), bytes(content))


class _Connection:
    """A connection to an address, and how far its protocol has come."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream
        self._protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)

    @property
    def is_idle(self) -> bool:
        """Return whether the server waits for a request: what can be read of it now is its end."""
        return not self._stream.get_extra_info("is_readable")

    def post(
        self,
        target: bytes,
        headers: Sequence[tuple[bytes, bytes]],
        body: bytes,
        most: int,
        *,
        take: Take | None,
    ) -> HttpAnswer:
        """Post `body` and return the answer; see `HttpConnections.post`."""
        try:
            request = h11.Request(method="POST", target=target, headers=list(headers))
            events = (request, h11.Data(data=body), _END)
            sent = b"".join([self._protocol.send(event) or b"" for event in events])
        except h11.LocalProtocolError as problem:
            raise httpcore.LocalProtocolError(str(problem)) from None
        # a server may refuse a request before it has read all of it, and its answer says why
        with suppress(httpcore.WriteError):
            self._stream.write(sent, _watch.get().seconds_left())
        status = 0
        received: dict[str, str] = {}
        content = bytearray()
        while True:
            event = self._read_event()
            if isinstance(event, h11.Response):
                status = event.status_code
                received = _decode_headers(event.headers)
            elif isinstance(event, h11.Data):
                content += event.data
                _require_bounded(content, most)
                if take and status == 200:
                    take(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                return HttpAnswer(status, received, bytes(content))

    def _read_event(self) -> object:
        """Return what comes next of the answer: its head, a part of its body, or its end."""
        while True:
            try:
                event = self._protocol.next_event()
            except h11.RemoteProtocolError as problem:
                raise httpcore.RemoteProtocolError(str(problem)) from None
            if event is not h11.NEED_DATA:
                return event
            data = self._stream.read(READ_BYTES)
            if not data and self._protocol.their_state is h11.SEND_RESPONSE:
                raise httpcore.RemoteProtocolError(
                    "Server disconnected without sending a response."
                )
            self._protocol.receive_data(data)

    def begin_anew(self) -> bool:
        """Make it ready for another request, and return whether it is; else it is closed."""
        protocol = self._protocol
        surplus, _ = protocol.trailing_data
        # what came behind the answer would be taken for that of the next request
        is_over = protocol.our_state is h11.DONE and protocol.their_state is h11.DONE
        if is_over and not surplus:
            protocol.start_next_cycle()
            return True
        self.close()
        return False

    def close(self) -> None:
        self._stream.close()


def _decode_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}


def _require_bounded(content: bytearray, most: int) -> None:
    if len(content) > most:
        raise httpcore.ReadError("the answer is too large")


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
                part = self._inner.read(max_bytes, min(watch.look, watch.seconds_left()))
            except httpcore.ReadTimeout:
                self._look(watch)
                continue
            # a response that keeps arriving, byte by byte, must not put it off
            if time.monotonic() - self._looked >= watch.look:
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
