"""`sigil serve`: Sigil's HTTP API alone, in one process."""

from __future__ import annotations

import signal
import sys
import threading
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.exit_codes import INTERRUPTED
from sigil.cli.shell import Shell, shell_of
from sigil.cli.times import count_of
from sigil.errors import SigilError, UsageError

if TYPE_CHECKING:
    import socket

    from sigil.http.client_limits import ClientLimits
    from sigil.settings import Settings
    from sigil.storage.kv import KV

GRACE_SECONDS = 35
"""A run may take 30."""
SWEEP_SECONDS = 60.0
GUESSABLE = 20
"""Characters; the same as the gate's."""


def serve(
    context: typer.Context,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option("--port", min=0, max=65_535, help="The port to listen on; 0 for a free one."),
    ] = 8000,
) -> None:
    """Serve the registry of this machine over HTTP.

    Every request needs the admin token or an access token. Ctrl-C or SIGTERM ends it, once the
    requests at work are answered. On stderr: a line for each request that runs or changes
    something, or is turned away; with --json a line of JSON.
    """
    from sigil.http.client_limits import ClientLimits
    from sigil.http.server import listen
    from sigil.settings import Settings

    shell = shell_of(context)
    if shell.asked.url or shell.asked.profile or shell.seconds:
        raise UsageError(
            "EUSAGE",
            "serve takes no --url, --profile or --timeout",
            suggestion="it serves the registry here, until Ctrl-C",
        )
    settings = replace(Settings.read(), registry_url="", registry_token="")
    bounds = ClientLimits.from_settings(settings)
    door = listen(host, port)
    try:
        ended = _serve_registry(shell, settings, door, bounds)
    finally:
        door.close()
    shell.printer.note("stopped")
    if ended == signal.SIGINT:
        raise typer.Exit(INTERRUPTED)


def _serve_registry(
    shell: Shell, settings: Settings, door: socket.socket, bounds: ClientLimits
) -> int:
    from sigil.access.authentication import Authenticator
    from sigil.http.access_log import AccessLog
    from sigil.http.app import build_app
    from sigil.http.server import serve as serve_app
    from sigil.wiring import admin_token, local_registry, open_stores

    token, stores = admin_token(settings), open_stores(settings)
    with shell.printer.working("opening the registry"):
        registry = local_registry(settings, stores, shell.printer.note)
        registry.warm(shell.printer.note)
    over = threading.Event()
    threading.Thread(
        target=_sweep_regularly, args=(shell, stores.kv, over), name="sweeper", daemon=True
    ).start()
    try:
        app = build_app(
            lambda: registry,
            Authenticator(token, lambda: registry.keys, settings.agent, settings.rate),
        )
        greet = partial(_greet, shell, settings, door, token)
        return serve_app(
            AccessLog(app, shell.printer.event), door, GRACE_SECONDS, greet, bounds=bounds
        )
    finally:
        over.set()
        registry.close()


def _sweep_regularly(shell: Shell, kv: KV, over: threading.Event) -> None:
    from sigil.catalog.expiry import sweep

    while not over.wait(SWEEP_SECONDS):
        try:
            gone = sweep(kv)
        except SigilError as problem:
            shell.printer.event("not swept", code=problem.code)
            continue
        except Exception as problem:  # noqa: BLE001  entry point: what nobody expected must not end the sweeper
            shell.printer.event("not swept", code="EBUG", kind=type(problem).__name__)
            continue
        if gone:
            shell.printer.event("swept", **gone)


def _greet(shell: Shell, settings: Settings, door: socket.socket, token: str) -> None:
    """Print the address on stdout for programs that wait for it, and how to log in on stderr. The
    token itself is shown on a terminal only.
    """
    from sigil.http.server import is_public, url_of

    url, printer = url_of(door), shell.printer
    if printer.json:
        printer.document(
            {
                "url": url,
                "token_file": "" if settings.token else str(settings.data_folder / "token"),
            }
        )
    else:
        printer.line(url)
    if sys.stderr.isatty():
        printer.note(f"token: {token}")
    else:
        printer.note(
            "token: in UNCAGED_TOKEN"
            if settings.token
            else f"token: in {settings.data_folder / 'token'}"
        )
    printer.note(
        f"from elsewhere: sigil login --url {url}; make more tokens with `sigil keys create`"
    )
    if is_public(door):
        printer.note(
            "others can reach this address, and it speaks plain HTTP: put something in front of it"
            " that speaks TLS"
        )
        if len(token) < GUESSABLE:
            printer.note(
                f"UNCAGED_TOKEN has {count_of(len(token), 'character')} and could be guessed: take"
                " one of 32 or more"
            )
