"""`uncaged agent history`: the log of a chat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from functions.cli.open_agent import Json, Session, open_agent, session_key
from sigil.cli.printing import Printer

if TYPE_CHECKING:
    from functions.agent.memory.history import HistoryEntry


def history(session: Session = "terminal:main", json: Json = False) -> None:
    """Print what happened in a chat: what memory kept of the messages that left its history, the
    oldest first.

    Example: uncaged agent history --session telegram:42 | grep invoice
    """
    from dataclasses import asdict

    printer, found = Printer(json=json), entries(session)
    if json:
        rows = map(asdict, found)
        printer.document(
            [
                {name: value for name, value in row.items() if name not in ("memory", "base")}
                for row in rows
            ]
        )
    elif found:
        printer.text(markdown(found))
    else:
        printer.note("nothing was consolidated yet; /mem in the chat does it now")


def entries(session: str | None) -> list[HistoryEntry]:
    """Return the entries of a chat's HISTORY, the oldest first."""
    from functions.agent.memory.history import History

    with open_agent() as (app, _):
        return list(History(app.kv, session_key(app, session)).scan())


def markdown(entries: list[HistoryEntry]) -> str:
    """Return the entries as one text, an empty line between them."""
    return "\n\n".join(entry.text for entry in entries)
