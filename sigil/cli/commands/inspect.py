"""`sigil inspect`: show everything about a capability."""

from __future__ import annotations

from typing import Annotated

import typer

from sigil.cli.completions import capability_names
from sigil.cli.names import suggest_names
from sigil.cli.shell import get_shell


def inspect(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="NAME, NAME@VERSION or NAME@sha256:DIGEST.",
            autocompletion=capability_names,
        ),
    ],
) -> None:
    """Show everything about a capability.

    Prints its manifest, version, digest, permissions and source.
    """
    from sigil.cli.details import describe_fields

    shell = get_shell(context)
    with shell.open_registry() as opened, suggest_names(opened, name):
        detail = opened.registry.inspect(name, opened.caller)
    if shell.printer.json:
        shell.printer.document(detail)
        return
    shell.printer.table(("field", "value"), describe_fields(detail), whole=True)
    if detail.get("source"):
        shell.printer.text(f"\n{detail['source']}")
