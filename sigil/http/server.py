"""An HTTP server on one address: it listens, serves until it is told to stop, and drains."""

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
from sigil.http.client_limits import ClientLimits, OpenConnections, RepeatFilter, accept_failed

if TYPE_CHECKING:
    from starlette.types import ASGIApp

SIGNALS = (signal.SIGTERM, signal.SIGINT)
DEFAULT = ClientLimits()
BACKLOG = 512
"""Connections that wait to be accepted: asyncio tries as many at once."""


def listen(host: str, port: int) -> socket.socket:
    """The door at an address; `BackendError` when there can be none."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        door = socket.create_server((host, port), family=family, reuse_port=False)
    except (OSError, OverflowError, UnicodeError) as problem:
        raise BackendError(
            "EUNAVAILABLE", f"cannot listen on {host}:{port}: {problem}", suggestion=_other(problem)
        ) from None
    door.set_inheritable(False)
    return door


def _other(problem: Exception) -> str:
    wrong = (
        isinstance(problem, socket.gaierror | UnicodeError)
        or getattr(problem, "errno", 0) == errno.EADDRNOTAVAIL
    )
    return (
        "--host is an address of this machine, such as 127.0.0.1 or 0.0.0.0"
        if wrong
        else "choose another --port"
    )


def url_of(door: socket.socket) -> str:
    """The address of a door, as a browser takes it."""
    host, port = door.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def public(door: socket.socket) -> bool:
    """Whether others than this machine reach it."""
    return not ipaddress.ip_address(door.getsockname()[0]).is_loopback


def do_nothing() -> None:
    """Nobody waits to hear that it is served."""


def serve(
    app: ASGIApp,
    door: socket.socket,
    grace: int,
    greet: Callable[[], None] = do_nothing,
    *,
    bounds: ClientLimits = DEFAULT,
) -> int:
    """Serve until SIGTERM or Ctrl-C, then let the requests at work end, for `grace` seconds at
    most; the number of the first signal.

    `bounds`: what clients may cost. `greet` is called once a signal ends it in this way, and before
    anything is answered.
    """
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(RepeatFilter())
    logging.getLogger("uvicorn.error").addFilter(_no_cut)
    connections = OpenConnections(bounds)
    server = _Server(
        uvicorn.Config(
            app,
            http=connections.protocol,  # type: ignore[arg-type]
            ws="none",
            log_level="warning",
            access_log=False,
            backlog=BACKLOG,
            proxy_headers=bool(bounds.proxies),
            forwarded_allow_ips=list(bounds.proxies),
            timeout_graceful_shutdown=grace,
        ),
        connections,
    )
    told: list[int] = []

    def tell(number: int, _: object) -> None:
        told.append(number)
        server.should_exit = True

    for number in (
        SIGNALS
    ):  # before uvicorn's own are there; those drain first, then hand the signal on to these
        signal.signal(number, tell)
    greet()
    server.run(sockets=[door])
    return told[0] if told else 0


class _Server(uvicorn.Server):
    """uvicorn's server, which says seldom that it cannot accept a connection."""

    def __init__(self, config: uvicorn.Config, connections: OpenConnections) -> None:
        super().__init__(config)
        self._connections = connections

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(accept_failed(self._connections))
        await super().startup(sockets)


def _no_cut(record: logging.LogRecord) -> bool:
    """A request that was cut off at the end is no mistake of anybody's."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))
