"""`uncaged serve`: the local door behind uvicorn, told in the terminal, ended by SIGTERM or Ctrl-C."""

from __future__ import annotations

import signal
import socket
import sys

from functions import local, log
from functions.settings import Settings
from functions.wiring import House, open_house
from sigil.exits import INTERRUPTED
from sigil.requestlog import Told
from sigil.serving import listen, serve, url_of
from sigil.wiring import admin_token

GRACE_SECONDS = 5


def run(host: str, port: int) -> int:
    """Serve until told to stop; the exit code."""
    log.start()
    settings = Settings.read()
    door = listen(host, port)
    house = open_house(settings, _say)
    token = admin_token(settings)
    ended = serve(Told(local.app(house, token, lambda: _greet(house, door, token)), log.note), door, GRACE_SECONDS)
    house.close()
    _say("stopped")
    return INTERRUPTED if ended == signal.SIGINT else 0


def _greet(house: House, door: socket.socket, token: str) -> None:
    url = url_of(door)
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
