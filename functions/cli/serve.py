"""`uncaged serve`: the local door behind uvicorn, told in the terminal, ended by SIGTERM or
Ctrl-C.
"""

from __future__ import annotations

import signal
import socket
import sys

from functions import local, log
from functions.settings import Settings
from functions.wiring import AgentRuntime, open_runtime
from sigil.cli.exit_codes import INTERRUPTED
from sigil.errors import BackendError
from sigil.http.access_log import AccessLog
from sigil.http.client_limits import ClientLimits
from sigil.http.server import listen, serve, url_of
from sigil.wiring import admin_token

GRACE_SECONDS = 5


def run(host: str, port: int) -> int:
    """Serve until told to stop; the exit code."""
    log.start()
    settings = Settings.read()
    bounds = ClientLimits.of(settings)
    door = listen(host, port)
    runtime = open_runtime(settings, _say)
    token = admin_token(settings)
    app = AccessLog(local.app(runtime, token, lambda: _greet(runtime, door, token)), log.note)
    ended = serve(app, door, GRACE_SECONDS, bounds=bounds)
    runtime.close()
    _say("stopped")
    return INTERRUPTED if ended == signal.SIGINT else 0


def _greet(runtime: AgentRuntime, door: socket.socket, token: str) -> None:
    url = url_of(door)
    _say(f"uncaged listens on {url}")
    _say(f"  model      {runtime.app.model.name}")
    for platform in runtime.channels:
        _say(f"  webhook    POST {url}/webhook/{platform}")
    _say(f"  chat       POST {url}/chat")
    if sys.stderr.isatty():
        _say(f"  token      {token}")
    if runtime.channels:
        _say_who_owns(runtime)


def _say_who_owns(runtime: AgentRuntime) -> None:
    """Without an owner, how to become one: by a code that a terminal alone gets to see."""
    people = runtime.app.people
    try:
        code = runtime.app.claim.offer() if sys.stderr.isatty() else ""
        if code:
            _say(
                f"  owner      nobody yet: write `/pair {code}` to the bot in the next 10 minutes,"
                " and it is you"
            )
        elif not people.owned():
            _say(
                "  owner      nobody yet: put your id into UNCAGED_OWNERS (the bot tells it), or"
                " start it in a terminal"
            )
    except BackendError as problem:
        _say(f"  owner      unknown: {problem.message}")


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
