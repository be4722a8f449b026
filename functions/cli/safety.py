"""`uncaged halt`, `uncaged unlock` and `uncaged agent status`: the owner's switch, from the machine
of the store.
"""

from __future__ import annotations

import sys

import orjson
import typer

from functions.cli.open_agent import BY, Json, Session, open_agent, session_key

cli = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Look after the agent.")


def halt(session: Session = None, json: Json = False) -> None:
    """Halt the agent in every chat, or in one: no request and no call begins any more until it is
    unlocked.

    Example: uncaged halt
    """
    from functions.agent.commands import control
    from functions.alerts import halt_alert, send_alert
    from functions.wiring import open_notifier

    with open_agent(switch=True) as (app, settings):
        control.halt(session_key(app, session), app, BY)
        send_alert(halt_alert(app.name, session or "", app.clock.now()), open_notifier(settings))
        _print_result(
            {"halted": session or "*"},
            f"halted: {session or 'every chat'}; `uncaged unlock` lets it go on",
            json,
        )


def unlock(session: Session = None, json: Json = False) -> None:
    """Let the agent go on in every chat, or in one: after a halt, an emergency, a used-up budget.

    Example: uncaged unlock --session telegram:42
    """
    from functions.agent.commands import control

    with open_agent(switch=True) as (app, _):
        control.unlock(session_key(app, session), app, BY)
        _print_result({"unlocked": session or "*"}, f"unlocked: {session or 'every chat'}", json)


@cli.command("status")
def show(session: Session = "terminal:main", json: Json = False) -> None:
    """Show how the agent does in a chat: its state, what failed last, and its budget.

    Example: uncaged agent status --session telegram:42
    """
    from functions.agent.commands import status
    from sigil.storage.stored import row

    with open_agent() as (app, _):
        key = session_key(app, session)
        document = app.sessions.open(key).document
        facts = {
            "agent": app.name,
            "session": session,
            **row(status.make_report(key, document, app)),
        }
        _print_result(facts, "\n".join(status.format_status(key, document, app)), json)


def _print_result(facts: dict[str, object], text: str, json: bool) -> None:
    sys.stdout.write((orjson.dumps(facts).decode() if json else text) + "\n")
