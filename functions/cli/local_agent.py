"""The agent of this machine's settings, opened by the commands that look after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.printing import Printer
from sigil.errors import BackendError, UsageError, one_line

if TYPE_CHECKING:
    from functions.agent.agents.record import AgentRecord
    from functions.agent.app import App
    from functions.agent.team.resuming import Resumed
    from functions.settings import Settings
    from sigil.wiring import Stores

BY = "terminal:local"
DISABLED_SHOWN = 10
Session = Annotated[
    str | None,
    typer.Option("--session", help="Only this chat, such as `telegram:42` or `http:admin:main`."),
]
Whose = Annotated[
    str | None,
    typer.Option(
        "--agent", help="That of this agent below the root, such as `alice`.", metavar="NAME"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@contextmanager
def open_agent(
    *, switch: bool = False, name: str | None = None, session: str | None = None
) -> Iterator[tuple[App, Settings]]:
    """Open an agent and the settings; its registry is opened only when it is used.

    It is the one below the root with this `name`, in whatever state, or the one that answers in the
    chat `session`, or the root. `switch`: to halt or unlock it, without a guide or strategy, so
    that one that fails to load cannot prevent it.
    """
    from functions.settings import Settings
    from functions.wiring import open_app
    from sigil.wiring import open_stores

    settings = Settings.read()
    if switch:
        settings = replace(settings, guide="default", context="window")
    stores = open_stores(settings)
    root = open_app(settings, stores, later=True)
    if name is None and session is not None:
        name = _find_bound_agent(root, require_chat(session))
    if name in (None, root.name):
        yield root, settings
    else:
        yield _open_child(root, name, settings, stores, switch=switch), settings


def _find_bound_agent(root: App, session: str) -> str | None:
    """Return the agent that answers in a chat, where it is another one than the root."""
    from functions.agent.agents.bindings import read_binding
    from functions.agent.agents.record import read_agent

    agent = read_binding(root.kv, root.name, session).agent
    with suppress(UsageError, BackendError):
        if agent and read_agent(root.kv, root.name, agent).state == "enabled":
            return agent
    return None


def _open_child(root: App, name: str, settings: Settings, stores: Stores, *, switch: bool) -> App:
    from functions.agent.agents.record import join_name, read_agent
    from functions.wiring import AgentMaker

    record = read_agent(root.kv, root.name, name)
    if switch:
        record = replace(record, guide="", context="")
    return AgentMaker(settings, stores).make_agent(root, join_name(root.name, name), record)


def make_opener(root: App, settings: Settings) -> Callable[[str, AgentRecord], App]:
    """Return what opens an agent below the root by its short name and its record, also one that is
    not stored yet.
    """
    from functions.agent.agents.record import join_name
    from functions.wiring import AgentMaker
    from sigil.wiring import open_stores

    maker = AgentMaker(settings, open_stores(settings))

    def open_below(name: str, record: AgentRecord) -> App:
        return maker.make_agent(root, join_name(root.root, name), record)

    return open_below


def session_key(app: App, session: str | None) -> str:
    """Return the session key of a chat, or an empty key for every chat when `session` is None."""
    from sigil.storage.kv import keys

    return "" if session is None else keys.session_of(app.name, require_chat(session))


def require_chat(session: str) -> str:
    """Return the name of a chat; `UsageError` for what can be none.

    An empty name is refused: it is usually a shell variable that was not set.
    """
    from functions.agent.commands import control

    if ":" not in session or len(session) > control.SESSION_CHARACTERS:
        named = one_line(session, 60)
        suggestion = "write PLATFORM:CHAT, such as telegram:42"
        if named and ":" not in named:
            suggestion += f"; the one of `uncaged chat --session {named}` is terminal:{named}"
        raise UsageError("EUSAGE", f"{named!r} is no chat", suggestion=suggestion)
    return session


def require_model(app: App, name: str) -> None:
    """Raise `UsageError` unless a model of this name answers at the agent's endpoint."""
    from functions.agent.side_request import require_answer
    from functions.wiring import Closable

    try:
        require_answer(app, name)
    finally:
        if isinstance(app.model, Closable):
            app.model.close()


def memory_scope(app: App, session: str | None) -> str:
    """Return the scope of a chat's memory, which it may share; that of every chat for None."""
    key = session_key(app, session)
    return app.sessions.open(key).memory if key else app.documents.agent


def note_disabled(paths: Sequence[str], json: bool) -> None:
    """Tell a person which files were written under names that no program obeys."""
    if not paths or json:
        return
    from sigil.storage.obeyed_names import SUFFIX

    shown = ", ".join(one_line(path, 80) for path in paths[:DISABLED_SHOWN])
    more = f" and {len(paths) - DISABLED_SHOWN:,} more" if len(paths) > DISABLED_SHOWN else ""
    Printer().note(f"the suffix {SUFFIX} keeps programs from obeying {shown}{more}")


def print_result(row: dict[str, object], text: str, json: bool) -> None:
    """Print what a command did on stdout: the row as JSON, or one line for people."""
    if json:
        Printer(json=True).document(row)
    else:
        Printer().line(text)


def put_resumed(resumed: Resumed, settings: Settings) -> str:
    """Let those go on who were let go on, and return what is told of them behind what was done."""
    if not (resumed.events or resumed.waiting):
        return ""
    from functions.texts.en import TEXTS as ENGLISH
    from functions.wiring import open_ingress_queue

    queue = open_ingress_queue(settings)
    for event in resumed.events:
        queue.put(event)
    return f"; {resumed.describe(ENGLISH)}"
