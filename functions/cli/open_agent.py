"""The agent of this machine's settings, for commands that look after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.errors import UsageError, one_line

if TYPE_CHECKING:
    from functions.agent.app import App
    from functions.settings import Settings

BY = "terminal:local"
Session = Annotated[
    str | None,
    typer.Option("--session", help="One chat alone, as `telegram:42` or `http:admin:main`."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@contextmanager
def opened(*, switch: bool = False) -> Iterator[tuple[App, Settings]]:
    """The agent and its settings. Its registry is not opened before something asks it.

    `switch`: to halt or to unlock it, which a guide that does not load must not be in the way of.
    """
    from functions.settings import Settings
    from functions.wiring import open_app
    from sigil.wiring import open_stores

    settings = Settings.read()
    if switch:
        settings = replace(settings, guide="default", context="window")
    yield open_app(settings, open_stores(settings), later=True), settings


def key_of(app: App, session: str | None) -> str:
    """The S of a chat's keys; empty for every chat, which none names: an empty name is a variable
    that was not set.
    """
    from functions.agent.commands import control
    from sigil.storage.kv import keys

    if session is None:
        return ""
    if ":" not in session or len(session) > control.SESSION_CHARACTERS:
        raise UsageError(
            "EUSAGE",
            f"{one_line(session, 60)!r} is no chat",
            suggestion="PLATFORM:CHAT, such as telegram:42",
        )
    return keys.session_of(app.name, session)
