"""`uncaged agent`, `uncaged stop`, `uncaged halt` and `uncaged unlock`: look after the agent, from
the machine of its store.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Annotated

import typer

from functions.cli.local_agent import (
    BY,
    Json,
    Session,
    Whose,
    open_agent,
    print_result,
    put_resumed,
    require_chat,
    session_key,
)
from sigil.cli.printing import Printer
from sigil.errors import UsageError

if TYPE_CHECKING:
    from functions.agent.memory.history import HistoryEntry

RULE = "──"
cli = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Show an agent's state, documents and memory; add others below it.",
)


def halt(session: Session = None, json: Json = False) -> None:
    """Halt the agent in every chat, or in one.

    Until it is unlocked, it starts no request to the model and no call.

    Example: uncaged halt
    """
    from functions.agent.commands import control
    from functions.alerts import halt_alert, send_alert
    from functions.wiring import open_notifier

    with open_agent(switch=True, session=session) as (app, settings):
        control.halt(session_key(app, session), app, BY)
        send_alert(halt_alert(app.name, session or "", app.clock.now()), open_notifier(settings))
    text = f"halted: {session or 'every chat'}; `uncaged unlock` lets it go on"
    print_result({"halted": session or "*"}, text, json)


def stop(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN|EVENT",
            help="What `uncaged trace` lists as running; with /N behind it, request N alone.",
        ),
    ] = None,
    session: Session = None,
    json: Json = False,
) -> None:
    """Stop a turn in progress, or one request of it.

    While the model is asked it ends within two seconds, during a call when that ends. A request
    that is stopped alone is asked again.

    Example: uncaged stop telegram:42:1007
    """
    from functions.agent.runs.result import name_request
    from functions.agent.session.store import Sessions
    from functions.settings import Settings
    from functions.turns_in_progress import open_turns, refuse_absent, stop_turn
    from sigil.wiring import open_stores

    if (name is None) == (session is None):
        raise UsageError(
            "EUSAGE",
            "name a run or an event, or a chat with --session",
            suggestion="`uncaged trace` lists what is running",
        )
    settings = Settings.read()
    stores = open_stores(settings)
    turns = open_turns(Sessions(stores.kv, stores.artifacts), settings, stores.kv)
    request = 0
    if name is not None:
        found, request = stop_turn(turns, name, BY)
    else:
        chat = require_chat(session or "")
        in_chat = turns.find_in(chat)
        if in_chat is None:
            raise refuse_absent(chat)
        found = in_chat
        turns.stop(found, BY)
    run = found.run
    told = name_request(run, request) if request else run.event
    named = {"request": request} if request else {}
    row = {"stopping": run.id, "event": run.event, **named, "state": run.outcome}
    text = f"told to stop: {told}"
    if found.is_waiting:
        text += "; it waits, and stops before it goes on"
    print_result(row, text, json)


def unlock(session: Session = None, json: Json = False) -> None:
    """Unlock the agent in every chat, or in one.

    Use this after a halt, an emergency or a used-up budget.

    Example: uncaged unlock --session telegram:42
    """
    from functions.agent.commands import control
    from functions.agent.team.resuming import resume_team

    with open_agent(switch=True, session=session) as (app, settings):
        control.unlock(session_key(app, session), app, BY)
        resumed = resume_team(app, by=BY, cause=f"unlock:{uuid.uuid4().hex[:12]}")
        told = put_resumed(resumed, settings)
    text = f"unlocked: {session or 'every chat'}{told}"
    woken = {"woken": list(resumed.names)} if resumed.names else {}
    print_result({"unlocked": session or "*", **woken}, text, json)


@cli.command("status")
def show_status(
    session: Session = "terminal:main", whose: Whose = None, json: Json = False
) -> None:
    """Show the agent's state in a chat, with the last failures and the budget.

    Example: uncaged agent status --session telegram:42
    """
    from functions.agent.agents.record import read_agent
    from functions.agent.commands import status
    from functions.agent.runs.progress import find_progress
    from sigil.storage.stored import row

    chat = session or "terminal:main"
    with open_agent(name=whose, session=session) as (app, _):
        key = session_key(app, session)
        opened = app.sessions.open(key)
        document = opened.document
        state = "enabled" if app.is_root else read_agent(app.kv, app.root, app.short_name).state
        shown = {} if app.is_root else {"agent_state": state}
        if json:
            report = row(status.make_report(key, document, app))
            found = status.find_next_wakeup(app.open_chat_schedules(chat))
            coming = {"next": row(found.schedule) if found else None}
            progress = find_progress(opened, app.clock.now(), app.kv, model=app.model.name)
            turn = {"turn": progress.describe() if progress else None}
            Printer(json=True).document(
                {"agent": app.name, **shown, "session": session, **report, **coming, **turn}
            )
        else:
            lines = status.format_status(opened, app, chat)
            if not app.is_root:
                lines.insert(0, f"Agent: {app.short_name} of {app.root} ({state})")
            Printer().text("\n".join(lines))


@cli.command("prompt")
def show_prompt(
    session: Annotated[
        str, typer.Argument(help="The chat, such as `telegram:42` or `terminal:main`.")
    ] = "terminal:main",
    whose: Whose = None,
    json: Json = False,
) -> None:
    """Print the prompt of a chat's next turn.

    It is exactly what the model would get, with the tokens of each part.

    Example: uncaged agent prompt telegram:42
    """
    from functions.agent.management.preview import preview_prompt
    from sigil.storage.stored import row

    with open_agent(name=whose, session=session) as (app, _):
        key = session_key(app, session)
        found = preview_prompt(key, app.sessions.open(key).document, app)
    printer = Printer(json=json)
    if json:
        printer.document(row(found))
        return
    for segment in found.segments:
        printer.text(f"{RULE} {segment.name} {RULE} {segment.tokens:,} tokens\n{segment.text}\n")
    printer.note(f"about {found.tokens:,} tokens of {found.window:,}")
    if found.leaving:
        printer.note(
            f"{found.leaving:,} messages leave the history before that turn; memory hears of them"
            " after it"
        )


@cli.command("weather")
def tell_weather(
    text: Annotated[
        str | None, typer.Argument(help="The weather from now on; without it, what was told last.")
    ] = None,
    json: Json = False,
) -> None:
    """Tell the agent the weather, or show what it was told.

    The model reads it where UNCAGED_STAMP has {weather}, above the messages of the next six hours.

    Example: uncaged agent weather "light rain, 8 °C"
    """
    from functions.time import weather

    with open_agent(switch=True) as (app, _):
        now = app.clock.now()
        if text is None:
            told = weather.find_weather(weather.read_reports(app.kv, app.name), now)
        else:
            told = weather.tell_weather(app.kv, app.name, text, now)
    print_result({"weather": told or None}, told or "nobody told the weather lately", json)


@cli.command("history")
def show_history(
    session: Session = "terminal:main", whose: Whose = None, json: Json = False
) -> None:
    """Print what happened in a chat.

    These are the entries that memory made of the messages that left the chat's history, the oldest
    first.

    Example: uncaged agent history --session telegram:42 | grep invoice
    """
    from sigil.storage.stored import row

    entries = read_history(session, whose)
    printer = Printer(json=json)
    if json:
        rows = [row(entry) for entry in entries]
        for fields in rows:
            del fields["memory"]
            del fields["base"]
        printer.document(rows)
    elif entries:
        printer.text(format_history(entries))
    else:
        printer.note("nothing was consolidated yet; /mem in the chat does it now")


def read_history(session: str | None, whose: str | None = None) -> list[HistoryEntry]:
    """Return the entries of a chat's HISTORY, the oldest first."""
    from functions.agent.memory.history import History

    with open_agent(name=whose, session=session) as (app, _):
        return list(History(app.kv, session_key(app, session)).scan())


def format_history(entries: list[HistoryEntry]) -> str:
    """Return the entries as one text, an empty line between them."""
    return "\n\n".join(entry.text for entry in entries)
