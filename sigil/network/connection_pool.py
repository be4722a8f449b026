"""Share out connections to servers, and use one again for the capability alone that opened it."""

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
"""Requests at a time: in all, to one host and port, for one namespace."""
IDLE_MOST = 10
IDLE_SECONDS = 30.0

_Key = tuple[tuple[str, str, int], str]


class _PooledConnection(httpcore.HTTP11Connection):
    """A connection that knows if it may be used again."""

    @property
    def is_clean(self) -> bool:
        """True unless bytes came, or are coming, that no request asked for: they would be taken for
        the next answer.
        """
        surplus, _ = self._h11_state.trailing_data  # httpcore has no public word for it
        return self.is_idle() and not surplus and not self.has_expired()


class ConnectionPool:
    """A pool of guarded connections.

    `context` has the trusted certificates (default: those of the public authorities and of the
    system).
    """

    def __init__(self, guard: GuardedBackend, context: ssl.SSLContext | None = None) -> None:
        self._guard = guard
        self._context = context
        self._shares = FairShares(MOST, PER_HOST, PER_NAMESPACE)
        self._idle: list[tuple[_Key, _PooledConnection]] = []
        self._lock = threading.Lock()

    @contextmanager
    def borrow(
        self, target: Target, source: RequestSource, seconds: float
    ) -> Iterator[_PooledConnection]:
        """Lend a connection to the target; `ToolError` ENET when too many are in use for all of
        `seconds`.
        """
        with self._shares.taken((target.authority, source.namespace), seconds) as free:
            if not free:
                raise ToolError(
                    "ENET", f"{target.host}: too many requests at the same time", source="http"
                )
            key = (target.origin, source.capability)
            connection = self._take_idle(key) or self._open_connection(target)
            try:
                yield connection
            finally:
                self._give_back(key, connection)

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle = self._idle
            self._idle = []
        for _, connection in idle:
            connection.close()

    def _open_connection(self, target: Target) -> _PooledConnection:
        stream = self._guard.connect_tcp(target.host, target.port)
        if target.scheme == "https":
            with self._lock:
                if self._context is None:
                    self._context = httpcore.default_ssl_context()
                    self._context.set_alpn_protocols(["http/1.1"])
                context = self._context
            stream = stream.start_tls(context, target.host)
        origin = httpcore.Origin(target.scheme.encode(), target.host.encode(), target.port)
        return _PooledConnection(origin, stream, IDLE_SECONDS)

    def _take_idle(self, key: _Key) -> _PooledConnection | None:
        found = None
        with self._lock:
            unusable = self._remove_unusable()
            for number, (known, connection) in enumerate(self._idle):
                if known == key:
                    del self._idle[number]
                    found = connection
                    break
        for connection in unusable:
            connection.close()
        return found

    def _give_back(self, key: _Key, connection: _PooledConnection) -> None:
        with self._lock:
            self._idle.append((key, connection))
            unusable = self._remove_unusable()
            while len(self._idle) > IDLE_MOST:
                unusable.append(self._idle.pop(0)[1])
        for each in unusable:
            each.close()

    def _remove_unusable(self) -> list[_PooledConnection]:
        """Take the idle connections out that may not be used again, and return them."""
        clean: list[tuple[_Key, _PooledConnection]] = []
        unusable: list[_PooledConnection] = []
        for key, connection in self._idle:
            if connection.is_clean:
                clean.append((key, connection))
            else:
                unusable.append(connection)
        self._idle = clean
        return unusable
