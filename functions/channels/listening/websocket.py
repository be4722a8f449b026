"""A websocket to a chat platform, which is loaded only where somebody listens."""

from __future__ import annotations

from typing import Any, Final, Self

import httpx
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.frames import CloseCode
from websockets.sync.client import ClientConnection, connect

from functions.channels.listening.sockets import ABNORMAL, ConnectionLost, Message
from sigil.errors import one_line

CONNECT_SECONDS: Final = 15.0
PING_SECONDS: Final = 20.0
CLOSE_SECONDS: Final = 0.5
"""How long the other side may take to answer our close frame."""


class Websocket:
    """An open connection, whose errors are of `source`."""

    def __init__(self, connection: ClientConnection, source: str) -> None:
        self._connection = connection
        self._source = source

    @classmethod
    def open(
        cls,
        url: str,
        most: int,
        source: str,
        *,
        pings: bool = False,
    ) -> Self:
        """Open a connection whose messages have at most `most` bytes; `ConnectionLost` when that
        fails. No redirect is followed: the address was checked, and another one would not be.
        """
        try:
            connection = connect(
                url,
                ssl=httpx.create_ssl_context() if url.startswith("wss:") else None,
                compression=None,  # what is small on the wire is small in memory
                open_timeout=CONNECT_SECONDS,
                ping_interval=PING_SECONDS if pings else None,
                ping_timeout=PING_SECONDS,
                close_timeout=CLOSE_SECONDS,
                max_size=most,
                create_connection=_DirectConnection,
                legacy=True,
            )
        except _Refused as problem:
            said = f"it answered with status {problem.status}"
            raise ConnectionLost(f"no connection: {said}", source=source) from None
        except (OSError, ValueError, WebSocketException, ImportError) as problem:
            # its text may name the address, which may hold a ticket
            said = type(problem).__name__
            raise ConnectionLost(f"no connection ({said})", source=source) from None
        return cls(connection, source)

    def receive(self, seconds: float) -> Message | None:
        """Return the next message, None when none comes within so many seconds."""
        try:
            return self._connection.recv(timeout=max(seconds, 0.0))
        except TimeoutError:
            return None
        except ConnectionClosed as problem:
            raise self._explain(problem) from None

    def send(self, message: Message) -> None:
        """Send a message."""
        try:
            self._connection.send(message)
        except ConnectionClosed as problem:
            raise self._explain(problem) from None

    def close(self, code: int) -> None:
        """Close it; safe to call from any thread, and more than once."""
        self._connection.close(code)

    def _explain(self, closed: ConnectionClosed) -> ConnectionLost:
        code = closed.rcvd.code if closed.rcvd else ABNORMAL
        is_too_large = False
        why = "it broke off"
        if closed.sent and not closed.rcvd_then_sent:
            is_too_large = closed.sent.code == CloseCode.MESSAGE_TOO_BIG
            why = f"we closed it with code {closed.sent.code}"
        elif closed.rcvd:
            why = one_line(f"it was closed with code {code} {closed.rcvd.reason}".strip(), 200)
        return ConnectionLost(
            f"the connection has ended: {why}",
            source=self._source,
            closed_with=code,
            is_too_large=is_too_large,
        )


class _Refused(Exception):
    """The handshake was answered with another `status` than the one that opens a connection."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class _DirectConnection(ClientConnection):
    """A connection that follows no redirect."""

    def handshake(self, *arguments: Any, **named: Any) -> None:
        """Perform the opening handshake."""
        try:
            super().handshake(*arguments, **named)
        except InvalidStatus as problem:
            raise _Refused(problem.response.status_code) from None
