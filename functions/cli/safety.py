"""`uncaged halt`, `uncaged unlock` and `uncaged agent status`: the person's own switch, from the machine that the store is on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from sigil.errors import UsageError, one_line

if TYPE_CHECKING:
    from functions.agent.app import App
    from functions.settings import Settings

BY = "terminal:local"
cli = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Look after the agent.")
Session = Annotated[str | None, typer.Option("--session", help="One chat alone, as `telegram:42` or `http:admin:main`.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def halt(session: Session = None, json: Json = False) -> None:
    """Halt the agent in every chat, or in one: no request and no call begins any more until it is unlocked.

    Example: uncaged halt
    """
    from functions.agent import control
    from functions.alerts import halted, raised
    from functions.wiring import open_bell

    with _app(switch=True) as (app, settings):
        control.halt(_key(app, session), app, BY)
        raised(halted(app.name, session or "", app.clock.now()), open_bell(settings))
        _said({"halted": session or "*"}, f"halted: {session or 'every chat'}; `uncaged unlock` lets it go on", json)


def unlock(session: Session = None, json: Json = False) -> None:
    """Let the agent go on in every chat, or in one: after a halt, an emergency, a used-up budget.

    Example: uncaged unlock --session telegram:42
    """
    from functions.agent import control

    with _app(switch=True) as (app, _):
        control.unlock(_key(app, session), app, BY)
        _said({"unlocked": session or "*"}, f"unlocked: {session or 'every chat'}", json)


@cli.command("status")
def show(session: Session = "terminal:main", json: Json = False) -> None:
    """Show how the agent does in a chat: its state, what failed last, and its budget.

    Example: uncaged agent status --session telegram:42
    """
    from functions.agent import status

    with _app() as (app, _):
        key = _key(app, session)
        document = app.sessions.open(key).document
        facts = {"agent": app.name, "session": session, **asdict(status.report(key, document, app))}
        _said(facts, "\n".join(status.lines(key, document, app)), json)


@contextmanager
def _app(*, switch: bool = False) -> Iterator[tuple[App, Settings]]:
    """The agent over its store. `switch`: to halt or to unlock it, which a guide that does not load must not be in the way of."""
    from functions.settings import Settings
    from functions.wiring import open_app
    from sigil.wiring import open_stores

    settings = Settings.read()
    if switch:
        settings = replace(settings, guide="default", context="window")
    yield open_app(settings, open_stores(settings), later=True), settings


def _key(app: App, session: str | None) -> str:
    """The S of the keys; empty for every session, which none names: an empty name is a variable that was not set."""
    from functions.agent import control
    from sigil.kv import keys

    if session is None:
        return ""
    if ":" not in session or len(session) > control.SESSION_CHARACTERS:
        raise UsageError("EUSAGE", f"{one_line(session, 60)!r} is no chat", suggestion="PLATFORM:CHAT, such as telegram:42")
    return keys.session_of(app.name, session)


def _said(facts: dict[str, object], text: str, json: bool) -> None:
    sys.stdout.write((orjson.dumps(facts).decode() if json else text) + "\n")
