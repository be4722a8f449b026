"""`sigil list`: the capabilities that the caller sees."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.shell import get_shell
from sigil.errors import Refused

if TYPE_CHECKING:
    from sigil.protocol import Json

_FIELDS = (
    "capability",
    "version",
    "kind",
    "namespace",
    "lifetime",
    "state",
    "calls",
    "description",
)
_SANDBOX_WORDS = {"slots": "loaded", "cold": "cold starts", "evictions": "evictions"}


def list_capabilities(
    context: typer.Context,
    text: Annotated[
        str,
        typer.Argument(metavar="TEXT", help="Only those with these words in name or description."),
    ] = "",
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="Show at most this many.")
    ] = None,
) -> None:
    """List the capabilities that you see."""
    shell = get_shell(context)
    words = text.lower().split()
    found = []
    sandbox: Mapping[str, Json] = {}
    with shell.open_registry() as opened:
        for row in opened.registry.list(opened.caller):
            searched = f"{row['capability']} {row['description']}".lower()
            if all(word in searched for word in words):
                found.append(row)
        if shell.is_remote():
            with suppress(Refused):  # a token that may only call capabilities
                sandbox = opened.registry.status(opened.caller).get("sandbox", {})
    rows = found[:limit]
    if shell.printer.json:
        document: dict[str, Json] = {"items": rows}
        if sandbox:
            document["sandbox"] = sandbox
        shell.printer.document(document)
        return
    if rows:
        shell.printer.table(_FIELDS, [[row.get(field, "") for field in _FIELDS] for row in rows])
    else:
        shell.printer.note(f"no capability matches {text!r}" if text else "the registry is empty")
    if len(rows) < len(found):
        shell.printer.note(f"{len(rows)} of {len(found)}")
    if sandbox:
        counts = [f"{sandbox.get(name, 0):,} {word}" for name, word in _SANDBOX_WORDS.items()]
        shell.printer.note(f"sandbox: {', '.join(counts)}")
