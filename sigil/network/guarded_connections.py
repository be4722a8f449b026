"""Connect capabilities to foreign servers, at checked addresses alone.

A name is looked up once, every address of the answer is checked, and one of these very addresses
is connected to.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Overdue
from contextlib import suppress

import httpcore

from sigil.errors import Refused, ToolError
from sigil.network.addresses import may_reach
from sigil.network.fair_share import FairShares
from sigil.running_call import current_call

Resolve = Callable[[str, int], list[str]]
LOOKUPS, LOOKUPS_PER_NAMESPACE = 32, 6
"""Names that are looked up at a time; a lookup whose request has given up counts until it ends."""
HEAD_BYTES = 128 * 1024
"""The most bytes of an answer's head on the wire, with all that comes before it."""
BYTES_MOST = 2 << 20
"""The most bytes of an answer's body on the wire."""
READS_MOST = 10_000
"""The most pieces in which an answer may come."""
ADDRESSES_MOST = 3
"""The addresses of a name that are tried."""
_PIECE = 16_384


def look_up(host: str, port: int) -> list[str]:
    """Return the addresses of `host` as the system knows them; an empty list when it knows none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class TransferBudget(threading.local):
    """The budget of this thread's request: time until `end` of the monotonic clock, bytes, reads.

    `namespace` is the one that the request is sent for.
    """

    end = 0.0
    bytes_left = 0
    reads_left = 0
    namespace = ""

    def begin(self, seconds: float, namespace: str = "") -> None:
        """Begin a request, with the budget for the head of its answer."""
        self.end = time.monotonic() + seconds
        self.namespace = namespace
        self.bytes_left = HEAD_BYTES
        self.reads_left = READS_MOST

    def begin_body(self, most: int = 0) -> None:
        """Give the budget for the answer's body, once its head is there: enough to see that more
        than `most` bytes come.
        """
        self.bytes_left = max(BYTES_MOST, 2 * most)

    def spend(self, size: int) -> None:
        """Spend one read of `size` bytes; `ToolError` ENET when that is too much."""
        self.bytes_left -= size
        self.reads_left -= 1
        if self.bytes_left < 0 or self.reads_left < 0:
            raise ToolError("ENET", "the server sends more than an answer may take", source="http")

    def seconds_left(self) -> float:
        """Return the seconds that are left; `httpcore.ReadTimeout` when there are none."""
        seconds = self.end - time.monotonic()
        if seconds <= 0:
            raise httpcore.ReadTimeout("no time is left")
        return seconds


class GuardedBackend(httpcore.NetworkBackend):
    """A back-end of httpcore that connects only where `may_reach` says so.

    Its streams keep to the thread's `budget`. A `trusted` one connects anywhere: nobody but the
    operator says where.
    """

    def __init__(
        self,
        resolve: Resolve = look_up,
        *,
        loopback: bool = False,
        inner: httpcore.NetworkBackend | None = None,
        trusted: bool = False,
    ) -> None:
        self._is_trusted = trusted
        self.budget = TransferBudget()
        self._lookups = _Lookups(resolve)
        self._loopback = loopback
        self._inner = inner or httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Return a stream to an address of `host`; `Refused` EPERM unless all of them are public.

        One that is not may be meant to be hit at the second try.
        """
        try:
            found = self._lookups.find(
                host, port, self.budget.namespace, self.budget.seconds_left()
            )
        except Overdue:
            raise httpcore.ConnectTimeout("the name was not found in time") from None
        if not found:
            raise ToolError("ENET", f"there is no host {host}", source="http")
        is_public = all(may_reach(address, loopback=self._loopback) for address in found)
        if not is_public and not self._is_trusted:
            raise Refused("EPERM", f"{host} is not on the public internet", source="http")
        failure: Exception = httpcore.ConnectError("no address")
        for address in found[:ADDRESSES_MOST]:
            try:
                stream = self._inner.connect_tcp(
                    address, port, self.budget.seconds_left(), local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as problem:
                failure = problem
                continue
            return _BudgetedStream(stream, self.budget)
        raise failure

    def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Raise `httpcore.ConnectError`: no capability reaches a socket of this machine."""
        raise httpcore.ConnectError("no sockets of this machine")

    def close(self) -> None:
        """Stop waiting for the lookups."""
        self._lookups.close()


class _Lookups:
    """Lookups by the system's resolver, which takes no timeout: threads of their own wait for it,
    and a host is looked up once at a time.
    """

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._threads = ThreadPoolExecutor(LOOKUPS, thread_name_prefix="lookup")
        self._shares = FairShares(LOOKUPS, LOOKUPS_PER_NAMESPACE)
        self._running: dict[str, Future[list[str]]] = {}
        self._lock = threading.Lock()

    def find(self, host: str, port: int, namespace: str, seconds: float) -> list[str]:
        """Return the addresses of `host`; `TimeoutError` when they are not known in time."""
        end = time.monotonic() + seconds
        running = self._running.get(host)
        if running is None:
            if not self._shares.take((namespace,), seconds):
                raise Overdue
            with self._lock:
                running = self._running[host] = self._threads.submit(self._resolve, host, port)

            def end_lookup(lookup: Future[list[str]]) -> None:
                self._shares.release((namespace,))
                with self._lock:
                    if self._running.get(host) is lookup:
                        del self._running[host]

            running.add_done_callback(end_lookup)
        return running.result(max(end - time.monotonic(), 0))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class _BudgetedStream(httpcore.NetworkStream):
    """A stream that keeps to its user's budget: a peer that sends a byte now and then does not
    prolong it. It ends when the call that reads from it is cancelled.
    """

    def __init__(self, stream: httpcore.NetworkStream, budget: TransferBudget) -> None:
        self._stream = stream
        self._budget = budget

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with current_call().cancelling(self._hang_up):
            data = self._stream.read(min(max_bytes, _PIECE), self._budget.seconds_left())
        self._budget.spend(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            self._stream.write(buffer[start : start + _PIECE], self._budget.seconds_left())

    def _hang_up(self) -> None:
        """End the stream from another thread; the one that reads gets an end or an error."""
        found = self._stream.get_extra_info("socket")
        if isinstance(found, socket.socket):
            with suppress(OSError):
                # not the method of TLS, which would take its state from the thread that reads
                socket.socket.shutdown(found, socket.SHUT_RDWR)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        stream = self._stream.start_tls(ssl_context, server_hostname, self._budget.seconds_left())
        return _BudgetedStream(stream, self._budget)

    def get_extra_info(self, info: str) -> object:
        if info == "is_readable":
            # TLS may hold bytes that the socket does not hold any more
            tls = self._stream.get_extra_info("ssl_object")
            return self._stream.get_extra_info(info) or bool(tls and tls.pending())
        return self._stream.get_extra_info(info)
