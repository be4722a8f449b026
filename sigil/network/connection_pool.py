"""Connections to servers: shared out so that nobody takes them all, and used again by the
capability alone that they were opened for.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpcore

from sigil.errors import ToolError
from sigil.network.exchange import RequestSource
from sigil.network.fair_share import FairShares
from sigil.network.guarded_connections import GuardedBackend
from sigil.network.urls import Target

MOST, PER_HOST, PER_NAMESPACE = 48, 12, 10
"""Requests under way at a time: in all, to one host and port, for one namespace."""
KEPT, KEPT_SECONDS = 10, 30.0

_Key = tuple[tuple[str, str, int], str]


class _Connection(httpcore.HTTP11Connection):
    """One that knows whether it may be used again."""

    @property
    def clean(self) -> bool:
        """Whether nothing has come, or is coming, that nobody asked for: it would be taken for the
        next answer.
        """
        surplus, _ = self._h11_state.trailing_data
        return self.is_idle() and not surplus and not self.has_expired()


class ConnectionPool:
    """Guarded connections. `context`: which certificates are trusted (default: the public
    authorities and the system's).
    """

    def __init__(self, guard: GuardedBackend, context: ssl.SSLContext | None = None) -> None:
        self._guard = guard
        self._context = context
        self._shares = FairShares(MOST, PER_HOST, PER_NAMESPACE)
        self._kept: list[tuple[_Key, _Connection]] = []
        self._lock = threading.Lock()

    @contextmanager
    def lent(self, target: Target, source: RequestSource, seconds: float) -> Iterator[_Connection]:
        """A connection to the target; `ToolError` ENET when too many are in use for all of
        `seconds`.
        """
        with self._shares.taken((target.authority, source.namespace), seconds) as free:
            if not free:
                raise ToolError(
                    "ENET", f"{target.host}: too many requests are under way", source="http"
                )
            key = (target.origin, source.capability)
            connection = self._again(key) or self._opened(target)
            try:
                yield connection
            finally:
                self._keep(key, connection)

    def close(self) -> None:
        """Close those that are kept."""
        with self._lock:
            kept, self._kept = self._kept, []
        for _, connection in kept:
            connection.close()

    def _opened(self, target: Target) -> _Connection:
        stream = self._guard.connect_tcp(target.host, target.port)
        if target.scheme == "https":
            stream = stream.start_tls(self._trusted(), target.host)
        origin = httpcore.Origin(target.scheme.encode(), target.host.encode(), target.port)
        return _Connection(origin, stream, KEPT_SECONDS)

    def _trusted(self) -> ssl.SSLContext:
        with self._lock:
            if self._context is None:
                self._context = httpcore.default_ssl_context()
                self._context.set_alpn_protocols(["http/1.1"])
            return self._context

    def _again(self, key: _Key) -> _Connection | None:
        with self._lock:
            spoilt = self._without_spoilt()
            place = next(
                (number for number, (known, _) in enumerate(self._kept) if known == key), None
            )
            found = None if place is None else self._kept.pop(place)[1]
        for connection in spoilt:
            connection.close()
        return found

    def _keep(self, key: _Key, connection: _Connection) -> None:
        with self._lock:
            self._kept.append((key, connection))
            spoilt = self._without_spoilt()
            while len(self._kept) > KEPT:
                spoilt.append(self._kept.pop(0)[1])
        for each in spoilt:
            each.close()

    def _without_spoilt(self) -> list[_Connection]:
        """Take those out that may not be used again."""
        clean = {number for number, (_, connection) in enumerate(self._kept) if connection.clean}
        spoilt = [
            connection for number, (_, connection) in enumerate(self._kept) if number not in clean
        ]
        self._kept = [pair for number, pair in enumerate(self._kept) if number in clean]
        return spoilt
