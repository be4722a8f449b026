"""The agent of this machine's settings, opened by the commands that look after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.printing import Printer
from sigil.errors import UsageError, one_line

if TYPE_CHECKING:
    from functions.agent.app import App
    from functions.settings import Settings

BY = "terminal:local"
Session = Annotated[
    str | None,
    typer.Option("--session", help="Only this chat, such as `telegram:42` or `http:admin:main`."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@contextmanager
def open_agent(*, switch: bool = False) -> Iterator[tuple[App, Settings]]:
    """Open the agent and its settings; its registry is opened only when it is used.

    `switch`: to halt or unlock it, without a guide or strategy, so that one that fails to load
    cannot prevent it.
    """
    from functions.settings import Settings
    from functions.wiring import open_app
    from sigil.wiring import open_stores

    settings = Settings.read()
    if switch:
        settings = replace(settings, guide="default", context="window")
    yield open_app(settings, open_stores(settings), later=True), settings


def session_key(app: App, session: str | None) -> str:
    """Return the session key of a chat, or an empty key for every chat when `session` is None.

    An empty name is refused: it is usually a shell variable that was not set.
    """
    from functions.agent.commands import control
    from sigil.storage.kv import keys

    if session is None:
        return ""
    if ":" not in session or len(session) > control.SESSION_CHARACTERS:
        named = one_line(session, 60)
        suggestion = "write PLATFORM:CHAT, such as telegram:42"
        if named and ":" not in named:
            suggestion += f"; the one of `uncaged chat --session {named}` is terminal:{named}"
        raise UsageError("EUSAGE", f"{named!r} is no chat", suggestion=suggestion)
    return keys.session_of(app.name, session)


def memory_scope(app: App, session: str | None) -> str:
    """Return the scope of a chat's memory, which it may share; that of every chat for None."""
    key = session_key(app, session)
    return app.sessions.open(key).memory if key else app.documents.agent


def print_result(row: dict[str, object], text: str, json: bool) -> None:
    """Print what a command did on stdout: the row as JSON, or one line for people."""
    if json:
        Printer(json=True).document(row)
    else:
        Printer().line(text)
