"""`uncaged agent memory`: the values, facts and events that one chat remembers, or that all chats
share.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from functions.cli.local_agent import Json, Session, Whose, memory_scope, open_agent
from sigil.cli.printing import Printer
from sigil.errors import UsageError

if TYPE_CHECKING:
    from functions.agent.app import App
    from functions.agent.memory.things import Things

cli = typer.Typer(rich_markup_mode=None)


class Kind(StrEnum):
    """The values of --kind."""

    facts = "facts"
    kv = "kv"
    events = "events"


KIND_OF = {"kv": Kind.kv, "fact": Kind.facts, "event": Kind.events}

KindOption = Annotated[
    Kind | None, typer.Option("--kind", help="Only facts, only values under keys, or only events.")
]


@cli.callback(invoke_without_command=True)
def memory(
    context: typer.Context,
    session: Session = None,
    whose: Whose = None,
    kind: KindOption = None,
    json: Json = False,
) -> None:
    """Show the values, facts and events that are remembered.

    With --session those of one chat, else those that all chats share; the newest first. What is
    true no longer has the time at which it ended.

    Example: uncaged agent memory --session telegram:42 --kind facts
    """
    from sigil.cli.times import format_time

    if context.invoked_subcommand:
        context.obj = (session, whose)
        return
    with open_agent(name=whose, session=session) as (app, _):
        things = sorted(_open_things(app, session).scan(), key=lambda thing: -thing.at)
    found = [thing for thing in things if kind in (None, KIND_OF[thing.kind])]
    printer = Printer(json=json)
    if json:
        printer.document([{"id": thing.id, **thing.row()} for thing in found])
    elif found:
        heads = ["id", "kind", "what", "when", "source", "confidence", "by"]
        some_ended = any(thing.ended for thing in found)
        if some_ended:
            heads.append("ended")
        rows = []
        for thing in found:
            row = [thing.id, thing.kind, thing.in_words, format_time(thing.at), thing.source]
            row += [f"{thing.confidence:g}", thing.by]
            if some_ended:
                row.append(format_time(thing.ended) if thing.ended else "")
            rows.append(row)
        printer.table(heads, rows)
    else:
        nothing = f"no {kind.value} are" if kind else "nothing is"
        if session:
            printer.note(f"{nothing} remembered in {session}")
        else:
            printer.note(
                f"{nothing} shared by all chats; `uncaged agent memory --session terminal:main`"
                " shows what one chat remembers"
            )


@cli.command()
def forget(
    context: typer.Context,
    id: Annotated[str, typer.Argument(help="Its id, as the list shows it.", metavar="ID")],
    session: Session = None,
    whose: Whose = None,
    json: Json = False,
) -> None:
    """Delete one remembered thing permanently.

    Example: uncaged agent memory forget 0f3a5c1e9b7d2468 --session telegram:42
    """
    from functions.agent.memory.thing import is_id

    if not is_id(id):
        raise UsageError(
            "EINVAL",
            f"{id!r} is no id",
            suggestion="use the 16 hexadecimal digits that `uncaged agent memory` shows",
        )
    session = context.obj[0] if session is None else session
    whose = context.obj[1] if whose is None else whose
    with open_agent(name=whose, session=session) as (app, _):
        gone = _open_things(app, session).drop(id)
    if gone is None:
        where = f"in {session}" if session else "by all chats"
        raise UsageError(
            "ENOENT",
            f"nothing of the id {id} is remembered {where}",
            suggestion="`uncaged agent memory --session CHAT` shows what there is",
        )
    Printer(json=json).result({"forgotten": id}, f"forgotten: {gone.in_words}")


def _open_things(app: App, session: str | None) -> Things:
    from functions.agent.memory.things import Things

    return Things(app.kv, memory_scope(app, session), app.helpers.terms)
