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
from sigil.cli.shell import Shell, get_shell
from sigil.cli.times import format_count
from sigil.errors import SigilError, UsageError

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp

    from sigil.http.client_limits import ClientLimits
    from sigil.settings import Settings
    from sigil.wiring import Stores

GRACE_SECONDS = 35
"""The time that requests at work get to end; a run may take 30."""
SWEEP_SECONDS = 60.0
GUESSABLE = 20
"""The characters of a token; the authenticator slows those who guess shorter ones."""


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
    running requests are answered. On stderr: a line for each request that runs or changes
    something, or is refused; with --json a line of JSON.
    """
    from sigil.http.client_limits import ClientLimits
    from sigil.http.server import listen
    from sigil.settings import Settings

    shell = get_shell(context)
    if shell.choice.url or shell.choice.profile or shell.seconds:
        raise UsageError(
            "EUSAGE",
            "serve takes no --url, --profile or --timeout",
            suggestion="it serves the registry here, until Ctrl-C",
        )
    settings = replace(Settings.read(), registry_url="", registry_token="")
    limits = ClientLimits.from_settings(settings)
    listener = listen(host, port)
    try:
        ended = _serve_registry(shell, settings, listener, limits)
    finally:
        listener.close()
    shell.printer.note("stopped")
    if ended == signal.SIGINT:
        raise typer.Exit(INTERRUPTED)


def _serve_registry(
    shell: Shell, settings: Settings, listener: socket.socket, limits: ClientLimits
) -> int:
    """Serve until a signal comes, and return its number."""
    from sigil.access.authentication import Authenticator
    from sigil.http.access_log import AccessLog
    from sigil.http.app import build_app
    from sigil.http.server import serve as serve_app
    from sigil.wiring import admin_token, local_registry, open_stores

    token = admin_token(settings)
    stores = open_stores(settings)
    with shell.printer.progress("opening the registry"):
        registry = local_registry(settings, stores, shell.printer.note)
        registry.warm(shell.printer.note)
    ended = threading.Event()
    threading.Thread(
        target=_sweep_regularly, args=(shell, stores, ended), name="sweeper", daemon=True
    ).start()
    try:
        gate = Authenticator(token, lambda: registry.keys, settings.agent, settings.rate)

        def open_pages() -> ASGIApp:
            from sigil.http.page.registry_site import open_site

            return open_site(lambda: registry, gate, settings.agent, settings.web_names)

        app = build_app(lambda: registry, gate, open_pages=open_pages)
        return serve_app(
            AccessLog(app, shell.printer.event),
            listener,
            GRACE_SECONDS,
            partial(print_address, shell, settings, listener, token),
            bounds=limits,
        )
    finally:
        ended.set()
        registry.close()


def _sweep_regularly(shell: Shell, stores: Stores, ended: threading.Event) -> None:
    """Remove what has expired, each minute until `ended` is set."""
    from sigil.catalog.expiry import sweep

    while not ended.wait(SWEEP_SECONDS):
        try:
            removed = sweep(stores.kv, artifacts=stores.artifacts)
        except SigilError as problem:
            shell.printer.event("not swept", code=problem.code)
            continue
        except Exception as problem:  # noqa: BLE001  entry point: what nobody expected must not end the sweeper
            shell.printer.event("not swept", code="EBUG", kind=type(problem).__name__)
            continue
        if removed:
            shell.printer.event("swept", **removed)


def print_address(shell: Shell, settings: Settings, listener: socket.socket, token: str) -> None:
    """Print the address on stdout for programs that wait for it, and how to log in on stderr. The
    token itself is shown on a terminal only.
    """
    from sigil.http.server import is_public, url_of

    printer = shell.printer
    url = url_of(listener)
    token_file = "" if settings.token else str(settings.data_folder / "token")
    if printer.json:
        printer.document({"url": url, "token_file": token_file})
    else:
        printer.line(url)
    if sys.stderr.isatty():
        printer.note(f"token: {token}")
    else:
        printer.note(f"token: in {token_file or 'UNCAGED_TOKEN'}")
    if not is_public(listener):
        printer.note(f"its capabilities in a browser: {url}/ui")
    printer.note(f"from another machine: sigil login --url {url}; more tokens: `sigil keys create`")
    if is_public(listener):
        printer.note(
            "others can reach this address, and it speaks plain HTTP: put a proxy that speaks TLS"
            " in front of it"
        )
        if len(token) < GUESSABLE:
            count = format_count(len(token), "character")
            printer.note(f"UNCAGED_TOKEN has {count} and could be guessed: take one of 32 or more")
