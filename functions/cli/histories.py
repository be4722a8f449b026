"""`uncaged agent history`: what happened in a chat."""

from __future__ import annotations

from functions.cli.opening import Json, Session, key_of, opened
from sigil.cli.printing import Printer


def history(session: Session = "terminal:main", json: Json = False) -> None:
    """Print what happened in a chat: what memory kept of the messages that left its history, the oldest first.

    Example: uncaged agent history --session telegram:42 | grep invoice
    """
    from dataclasses import asdict

    from functions.agent.history import History

    printer = Printer(json=json)
    with opened() as (app, _):
        entries = map(asdict, History(app.kv, key_of(app, session)).all())
        rows = [{name: value for name, value in entry.items() if name not in ("memory", "base")} for entry in entries]
    if json:
        printer.document(rows)
    elif rows:
        printer.text("\n\n".join(row["text"] for row in rows))
    else:
        printer.note("nothing was consolidated yet; /mem in the chat does it now")
