"""Listen on one address, serve until a signal says stop, and let the running requests end."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import signal
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import uvicorn

from sigil.errors import BackendError
from sigil.http.client_limits import (
    ClientLimits,
    OpenConnections,
    RepeatFilter,
    make_exception_handler,
)

if TYPE_CHECKING:
    from types import FrameType

    from starlette.types import ASGIApp

SIGNALS = (signal.SIGTERM, signal.SIGINT)
DEFAULT = ClientLimits()
BACKLOG = 512
"""Connections that wait to be accepted: asyncio tries as many at once."""


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; `BackendError` when that cannot be."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family, reuse_port=False)
    except (OSError, OverflowError, UnicodeError) as problem:
        is_wrong_host = (
            isinstance(problem, socket.gaierror | UnicodeError)
            or getattr(problem, "errno", 0) == errno.EADDRNOTAVAIL
        )
        suggestion = "choose another --port"
        if is_wrong_host:
            suggestion = "--host is an address of this machine, such as 127.0.0.1 or 0.0.0.0"
        raise BackendError(
            "EUNAVAILABLE", f"cannot listen on {host}:{port}: {problem}", suggestion=suggestion
        ) from None
    listener.set_inheritable(False)
    # Every connection inherits it. Without it, the body of an answer waits for the client's delayed
    # ACK of its head, 40 ms; asyncio sets it only on sockets that were made with a protocol number.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the URL of a listening socket, as a browser takes it."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def is_public(listener: socket.socket) -> bool:
    """Tell if others than this machine reach a listening socket."""
    return not ipaddress.ip_address(listener.getsockname()[0]).is_loopback


def do_nothing() -> None:
    """Take no notice that the server runs."""


def serve(
    app: ASGIApp,
    listener: socket.socket,
    grace: int,
    greet: Callable[[], None] = do_nothing,
    *,
    bounds: ClientLimits = DEFAULT,
    end_streams: Callable[[], None] = do_nothing,
) -> int:
    """Serve until SIGTERM or Ctrl-C, then let the running requests end, for `grace` seconds at
    most, and return the number of the first signal.

    `bounds`: the limits of each client. `greet` is called once a signal would end it in this way,
    and before anything is answered; `end_streams` at the first signal, since requests that are
    answered by a stream end when they are told to.
    """
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(RepeatFilter())
    logging.getLogger("uvicorn.error").addFilter(_is_no_cancellation)
    connections = OpenConnections(bounds)
    server = _Server(
        uvicorn.Config(
            app,
            http=connections.make_protocol,  # type: ignore[arg-type]
            ws="none",
            log_level="warning",
            server_header=False,
            access_log=False,
            backlog=BACKLOG,
            proxy_headers=bool(bounds.proxies),
            forwarded_allow_ips=list(bounds.proxies),
            timeout_graceful_shutdown=grace,
        ),
        connections,
        end_streams,
    )
    received: list[int] = []

    def end_server(number: int, _: object) -> None:
        received.append(number)
        server.should_exit = True

    # before uvicorn's own are there; those drain first, then hand the signal on to these
    for number in SIGNALS:
        signal.signal(number, end_server)
    greet()
    server.run(sockets=[listener])
    return received[0] if received else 0


class _Server(uvicorn.Server):
    """uvicorn's server, which says seldom that it cannot accept a connection."""

    def __init__(
        self,
        config: uvicorn.Config,
        connections: OpenConnections,
        end_streams: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._connections = connections
        self._end_streams = end_streams

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._end_streams()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(make_exception_handler(self._connections))
        await super().startup(sockets)


def _is_no_cancellation(record: logging.LogRecord) -> bool:
    """Drop the record of a request that was cut off at the end: it is not an error."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))
