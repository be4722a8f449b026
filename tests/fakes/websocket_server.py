"""A real websocket server on 127.0.0.1; fakes of platforms override `converse`."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Self

from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from tests.machine import within


class WebsocketServer:
    """Use as a context manager. `paths` are those of all connections, `frames` what came over
    them, `codes` how the clients closed them (None: broken off).

    `refusal`: the answer to the next handshake, in place of a connection.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.paths: list[str] = []
        self.frames: list[Any] = []
        self.codes: list[int | None] = []
        self.problems: list[str] = []
        self.refusal: tuple[int, dict[str, str]] | None = None
        self.live: ServerConnection | None = None
        self._server: Server | None = None

    @property
    def url(self) -> str:
        assert self._server
        return f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}"

    def converse(self, connection: ServerConnection) -> None:
        """Speak the platform's protocol until the connection ends."""
        for message in connection:
            self.record(message)

    def record(self, message: str | bytes) -> Any:
        """Note a message, which is JSON when it is text, and return it."""
        frame = json.loads(message) if isinstance(message, str) else message
        with self.changed:
            self.frames.append(frame)
            self.changed.notify_all()
        return frame

    def wait_until(self, holds: Callable[[], object], what: str = "it happens") -> None:
        """Wait until something holds that is told of by `changed`."""
        with self.changed:
            assert self.changed.wait_for(holds, within(20)), (what, self.problems)

    def wait_for_connections(self, count: int) -> None:
        """Wait until so many were opened."""
        self.wait_until(lambda: len(self.paths) >= count, f"{count} connections")

    def drop(self) -> None:
        """Break the connection off, without a close frame."""
        connection = self.live
        assert connection
        with contextlib.suppress(OSError):
            connection.socket.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        self._server = serve(
            self._handle,
            "127.0.0.1",
            0,
            compression=None,
            process_request=self._admit,
            ping_interval=None,
            close_timeout=0.2,
            max_size=64 << 20,
        )
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server
        self._server.shutdown()
        assert not self.problems, self.problems

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        refusal = self.refusal
        self.refusal = None
        if refusal is None:
            return None
        status, headers = refusal
        answer = connection.respond(HTTPStatus(status), "")
        for name, value in headers.items():
            answer.headers[name] = value
        return answer

    def _handle(self, connection: ServerConnection) -> None:
        assert connection.request
        with self.changed:
            self.paths.append(connection.request.path)
            self.live = connection
            self.changed.notify_all()
        try:
            self.converse(connection)
        except ConnectionClosed:
            pass
        except AssertionError as problem:
            self.problems.append(str(problem))
        finally:
            connection.close()
            with self.changed:
                received = connection.protocol.close_rcvd
                self.codes.append(received.code if received else None)
                if self.live is connection:
                    self.live = None
                self.changed.notify_all()
