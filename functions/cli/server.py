"""`uncaged serve`: the local door behind uvicorn, told in the terminal, ended by SIGTERM or Ctrl-C."""

from __future__ import annotations

import signal
import socket
import sys

import uvicorn

from functions import local, log
from functions.cli.requests import Told
from functions.settings import Settings
from functions.wiring import House, open_house
from sigil.errors import BackendError
from sigil.wiring import admin_token

GRACE_SECONDS = 5
INTERRUPTED = 130


def run(host: str, port: int) -> int:
    """Serve until told to stop; the exit code."""
    log.start()
    settings = Settings.read()
    door = _listen(host, port)
    house = open_house(settings, _say)
    token = admin_token(settings)
    served = Told(local.app(house, token, lambda: _greet(house, door, token)))
    server = uvicorn.Server(uvicorn.Config(served, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE_SECONDS))
    told: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn drains first, then hands the signal on to these
        signal.signal(number, lambda number, _: told.append(number))
    server.run(sockets=[door])
    house.close()
    _say("stopped")
    return INTERRUPTED if signal.SIGINT in told else 0


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        door = socket.create_server((host, port), family=family, reuse_port=False)
    except (OSError, OverflowError) as problem:
        raise BackendError("EUNAVAILABLE", f"cannot listen on {host}:{port}: {problem}", suggestion="choose another --port") from None
    door.set_inheritable(False)
    return door


def _greet(house: House, door: socket.socket, token: str) -> None:
    host, port = door.getsockname()[:2]
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    _say(f"uncaged listens on {url}")
    _say(f"  model      {house.app.model.name}")
    for platform in house.channels:
        _say(f"  webhook    POST {url}/webhook/{platform}")
    _say(f"  chat       POST {url}/chat")
    if sys.stderr.isatty():
        _say(f"  token      {token}")
    if not house.settings.owners and house.channels:
        _say("  nobody may talk to it yet: write to the bot, it tells you your id; put it into UNCAGED_OWNERS")


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
