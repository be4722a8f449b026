"""`inspect`, `list` and `remove`: what stands in the registry."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.commands.deploy_report import needing
from sigil.cli.names import names, spelled
from sigil.cli.namespaces import Namespace, meant
from sigil.cli.shell import Shell, perhaps, shell_of
from sigil.errors import Refused, SigilError, UsageError

if TYPE_CHECKING:
    from sigil.protocol import Json


def inspect(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="NAME, NAME@VERSION or NAME@sha256:DIGEST.", autocompletion=names
        ),
    ],
) -> None:
    """Show everything about a capability.

    Its manifest, version, digest, permissions and source.
    """
    from sigil.cli.details import details

    shell = shell_of(context)
    with shell.registry() as opened, spelled(opened, name):
        detail = opened.registry.inspect(name, opened.caller)
    if shell.printer.json:
        shell.printer.document(detail)
        return
    shell.printer.table(("field", "value"), details(detail), whole=True)
    if detail.get("source"):
        shell.printer.text(f"\n{detail['source']}")


def everything(
    context: typer.Context,
    text: Annotated[
        str,
        typer.Argument(metavar="TEXT", help="Only those in whose name or description it stands."),
    ] = "",
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="At most so many.")
    ] = None,
) -> None:
    """List the capabilities that you see."""
    shell = shell_of(context)
    with shell.registry() as opened:
        found = [row for row in opened.registry.list(opened.caller) if _says(row, text)]
        rows = found[:limit]
        sandbox: Mapping[str, Json] = {}
        if shell.settings().registry_url:
            with suppress(Refused):  # a token that may only call
                sandbox = opened.registry.status(opened.caller).get("sandbox", {})
    if shell.printer.json:
        shell.printer.document({"items": rows, **({"sandbox": sandbox} if sandbox else {})})
        return
    if rows:
        fields = (
            "capability",
            "version",
            "kind",
            "namespace",
            "lifetime",
            "state",
            "calls",
            "description",
        )
        shell.printer.table(fields, [[row.get(field, "") for field in fields] for row in rows])
    else:
        shell.printer.note(f"nothing says {text!r}" if text else "the registry is empty")
    if found[len(rows) :]:
        shell.printer.note(f"{len(rows)} of {len(found)}")
    if sandbox:
        words = {"slots": "loaded", "cold": "cold starts", "evictions": "evictions"}
        shell.printer.note(
            "sandbox:"
            f" {', '.join(f'{sandbox.get(name, 0):,} {word}' for name, word in words.items())}"
        )


def _says(row: Mapping[str, Json], text: str) -> bool:
    return all(
        word in f"{row['capability']} {row['description']}".lower() for word in text.lower().split()
    )


def remove(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The capability.", autocompletion=names)
    ],
    namespace: Namespace = "",
) -> None:
    """Take a capability of your own away.

    All its versions go, with its grants and what it kept. Says first which others call it, and
    asks; --yes answers.
    """
    shell = shell_of(context)
    demand_somebody(shell, name)
    with shell.registry(perhaps(f"sigil logs {name}")) as opened:
        plain, caller = meant(opened.caller, name, namespace)
        callers = needing(opened.registry, plain, caller)
        if callers:
            shell.printer.note(
                f"{', '.join(callers)} {'call' if callers[1:] else 'calls'} {plain}, and will fail"
                " without it"
            )
        confirm(shell, f"Remove {name}?", "removed")
        opened.registry.remove(plain, caller)
    if shell.printer.json:
        shell.printer.document({"removed": name, "needed_by": callers})
    else:
        shell.printer.note(f"removed {name}")


def demand_somebody(shell: Shell, name: str) -> None:
    """`UsageError` when something has to be asked, and nobody is there who could answer."""
    if not shell.yes and not sys.stdin.isatty():
        raise UsageError("EUSAGE", "there is nobody to ask", source=name, suggestion="add --yes")


def confirm(shell: Shell, question: str, what: str) -> None:
    """Ask, unless `--yes` answered already; `SigilError` with EDECLINED for a no: nothing was
    `what`.
    """
    if not shell.yes and not typer.confirm(question, err=True):
        raise SigilError("EDECLINED", f"nothing was {what}")
