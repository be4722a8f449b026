"""Connections for capabilities: a name is looked up once, every address of the answer is checked, and a checked one is connected to."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Overdue
from typing import Any

import httpcore

from sigil.errors import Refused, ToolError
from sigil.services.addresses import may_reach

Resolve = Callable[[str, int], list[str]]
LOOKUPS = 8
ADDRESSES_MOST = 3
"""So many of a name's addresses are tried."""
_PIECE = 16_384


def look_up(host: str, port: int) -> list[str]:
    """The addresses of `host` as the system knows them; none when there are none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Deadlines(threading.local):
    """When the request of this thread has to be over: seconds of the monotonic clock."""

    end = 0.0

    def left(self) -> float:
        """The seconds that are left; `TimeoutError`-like failure when there are none."""
        seconds = self.end - time.monotonic()
        if seconds <= 0:
            raise httpcore.ReadTimeout("no time is left")
        return seconds


class Guarded(httpcore.NetworkBackend):
    """Connects only where `may_reach` says so; everything on its streams ends by the thread's deadline."""

    def __init__(self, resolve: Resolve = look_up, *, loopback: bool = False, inner: httpcore.NetworkBackend | None = None) -> None:
        self.deadlines = Deadlines()
        self._resolve = resolve
        self._loopback = loopback
        self._inner = inner or httpcore.SyncBackend()
        # the system's resolver takes no timeout, so threads of its own wait for it
        self._lookups = ThreadPoolExecutor(LOOKUPS, thread_name_prefix="lookup")

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """A stream to a checked address of `host`."""
        failure: Exception = httpcore.ConnectError("no address")
        for address in self._checked(host, port)[:ADDRESSES_MOST]:
            try:
                stream = self._inner.connect_tcp(address, port, self.deadlines.left(), local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as problem:
                failure = problem
                continue
            return _Timed(stream, self.deadlines)
        raise failure

    def connect_unix_socket(self, path: str, timeout: float | None = None, socket_options: Any = None) -> httpcore.NetworkStream:
        """Never."""
        raise httpcore.ConnectError("no sockets of this machine")

    def close(self) -> None:
        """Let the lookups end."""
        self._lookups.shutdown(wait=False, cancel_futures=True)

    def _checked(self, host: str, port: int) -> list[str]:
        """The addresses of `host`, all of them fit: one that is not may be meant to be hit at the second try."""
        try:
            found = self._lookups.submit(self._resolve, host, port).result(self.deadlines.left())
        except Overdue:
            raise httpcore.ConnectTimeout("the name was not found in time") from None
        if not found:
            raise ToolError("ENET", f"there is no host {host}", source="http")
        if not all(may_reach(address, loopback=self._loopback) for address in found):
            raise Refused("EPERM", f"{host} is not on the public internet", source="http")
        return found


class _Timed(httpcore.NetworkStream):
    """A stream that heeds the deadline of whoever uses it: a peer that sends a byte now and then does not prolong it."""

    def __init__(self, stream: httpcore.NetworkStream, deadlines: Deadlines) -> None:
        self._stream = stream
        self._deadlines = deadlines

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._deadlines.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            self._stream.write(buffer[start : start + _PIECE], self._deadlines.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Timed(self._stream.start_tls(ssl_context, server_hostname, self._deadlines.left()), self._deadlines)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
