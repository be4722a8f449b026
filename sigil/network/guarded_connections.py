"""Connections for capabilities: a name is looked up once, every address of the answer is checked,
and a checked one is connected to.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Overdue
from typing import Any

import httpcore

from sigil.errors import Refused, ToolError
from sigil.network.addresses import may_reach
from sigil.network.fair_share import FairShares

Resolve = Callable[[str, int], list[str]]
LOOKUPS, LOOKUPS_PER_NAMESPACE = 32, 6
"""Names that are looked up at a time; one that nobody waits for any more is still being looked up.
"""
HEAD_BYTES, BYTES_MOST, READS_MOST = 128 * 1024, 2 << 20, 10_000
"""What an answer may take on the wire: its head with all that comes before it, its body, and in how
many pieces.
"""
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


class TransferBudget(threading.local):
    """What the request of this thread may still take: time until `end` of the monotonic clock,
    bytes, reads. `namespace`: for whom.
    """

    end = 0.0
    room = 0
    reads = 0
    namespace = ""

    def begin(self, seconds: float, namespace: str = "") -> None:
        """A request, up to the head of its answer."""
        self.end, self.namespace = time.monotonic() + seconds, namespace
        self.room, self.reads = HEAD_BYTES, READS_MOST

    def go_on(self) -> None:
        """The answer's head is there; its body may come."""
        self.room = BYTES_MOST

    def take(self, size: int) -> None:
        """So many bytes came in one piece; `ToolError` ENET when that was too much."""
        self.room -= size
        self.reads -= 1
        if self.room < 0 or self.reads < 0:
            raise ToolError("ENET", "the server sends more than an answer may take", source="http")

    def left(self) -> float:
        """The seconds that are left; `TimeoutError`-like failure when there are none."""
        seconds = self.end - time.monotonic()
        if seconds <= 0:
            raise httpcore.ReadTimeout("no time is left")
        return seconds


class GuardedBackend(httpcore.NetworkBackend):
    """Connects only where `may_reach` says so; everything on its streams keeps to the thread's
    allowance.
    """

    def __init__(
        self,
        resolve: Resolve = look_up,
        *,
        loopback: bool = False,
        inner: httpcore.NetworkBackend | None = None,
    ) -> None:
        self.allowance = TransferBudget()
        self._lookups = _Lookups(resolve)
        self._loopback = loopback
        self._inner = inner or httpcore.SyncBackend()

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
                stream = self._inner.connect_tcp(
                    address, port, self.allowance.left(), local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as problem:
                failure = problem
                continue
            return _Timed(stream, self.allowance)
        raise failure

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Any = None
    ) -> httpcore.NetworkStream:
        """Never."""
        raise httpcore.ConnectError("no sockets of this machine")

    def close(self) -> None:
        """Let the lookups end."""
        self._lookups.close()

    def _checked(self, host: str, port: int) -> list[str]:
        """The addresses of `host`, all of them fit: one that is not may be meant to be hit at the
        second try.
        """
        try:
            found = self._lookups.find(host, port, self.allowance.namespace, self.allowance.left())
        except Overdue:
            raise httpcore.ConnectTimeout("the name was not found in time") from None
        if not found:
            raise ToolError("ENET", f"there is no host {host}", source="http")
        if not all(may_reach(address, loopback=self._loopback) for address in found):
            raise Refused("EPERM", f"{host} is not on the public internet", source="http")
        return found


class _Lookups:
    """The system's resolver, which takes no timeout: threads of its own wait for it, and a host is
    looked up once at a time.
    """

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._threads = ThreadPoolExecutor(LOOKUPS, thread_name_prefix="lookup")
        self._shares = FairShares(LOOKUPS, LOOKUPS_PER_NAMESPACE)
        self._running: dict[str, Future[list[str]]] = {}
        self._lock = threading.Lock()

    def find(self, host: str, port: int, namespace: str, seconds: float) -> list[str]:
        """The addresses of `host`; `TimeoutError` when they are not known in time."""
        end = time.monotonic() + seconds
        running = self._running.get(host) or self._begun(host, port, namespace, seconds)
        return running.result(max(end - time.monotonic(), 0))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _begun(self, host: str, port: int, namespace: str, seconds: float) -> Future[list[str]]:
        if not self._shares.take((namespace,), seconds):
            raise Overdue
        with self._lock:
            running = self._running[host] = self._threads.submit(self._resolve, host, port)

        def ended(_: object) -> None:
            self._shares.give((namespace,))
            with self._lock:
                if self._running.get(host) is running:
                    del self._running[host]

        running.add_done_callback(ended)
        return running


class _Timed(httpcore.NetworkStream):
    """A stream that heeds the allowance of whoever uses it: a peer that sends a byte now and then
    does not prolong it.
    """

    def __init__(self, stream: httpcore.NetworkStream, allowance: TransferBudget) -> None:
        self._stream = stream
        self._allowance = allowance

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._stream.read(min(max_bytes, _PIECE), self._allowance.left())
        self._allowance.take(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            self._stream.write(buffer[start : start + _PIECE], self._allowance.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        return _Timed(
            self._stream.start_tls(ssl_context, server_hostname, self._allowance.left()),
            self._allowance,
        )

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":
            tls = self._stream.get_extra_info(
                "ssl_object"
            )  # which may hold what the socket does not any more
            return self._stream.get_extra_info(info) or bool(tls and tls.pending())
        return self._stream.get_extra_info(info)
