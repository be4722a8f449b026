"""`uncaged agent prompt`: the prompt of a chat's next turn."""

from __future__ import annotations

from typing import Annotated

import typer

from functions.cli.open_agent import Json, open_agent, session_key
from sigil.cli.printing import Printer
from sigil.storage.stored import row

RULE = "──"


def prompt(
    session: Annotated[
        str, typer.Argument(help="The chat, as `telegram:42` or `terminal:main`.")
    ] = "terminal:main",
    json: Json = False,
) -> None:
    """Print exactly what the model would get for a chat's next turn, with what each part costs.

    Example: uncaged agent prompt telegram:42
    """
    from functions.cli.preview import preview_prompt

    with open_agent() as (app, _):
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
            f"{found.leaving:,} messages leave the history before that turn; memory hears of them,"
            " and may change"
        )
