"""`sigil inspect`, `list` and `remove`: look at what is in the registry, and take it away."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.completions import capability_names
from sigil.cli.names import Namespace, resolve_name, suggest_names
from sigil.cli.shell import confirm, require_answerer, shell_of, unsure_message
from sigil.errors import Refused, SigilError

if TYPE_CHECKING:
    from sigil.admin_protocol import AdminRegistry
    from sigil.protocol import Caller, Json


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

    Its manifest, version, digest, permissions and source.
    """
    from sigil.cli.details import describe_fields

    shell = shell_of(context)
    with shell.registry() as opened, suggest_names(opened, name):
        detail = opened.registry.inspect(name, opened.caller)
    if shell.printer.json:
        shell.printer.document(detail)
        return
    shell.printer.table(("field", "value"), describe_fields(detail), whole=True)
    if detail.get("source"):
        shell.printer.text(f"\n{detail['source']}")


def list_capabilities(
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
        found = [row for row in opened.registry.list(opened.caller) if _matches_text(row, text)]
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


def _matches_text(row: Mapping[str, Json], text: str) -> bool:
    return all(
        word in f"{row['capability']} {row['description']}".lower() for word in text.lower().split()
    )


def remove(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The capability.", autocompletion=capability_names)
    ],
    namespace: Namespace = "",
) -> None:
    """Take a capability of your own away.

    All its versions go, with its grants and what it kept. Says first which others call it, and
    asks; --yes answers.
    """
    shell = shell_of(context)
    require_answerer(shell, name)
    with shell.registry(unsure_message(f"sigil logs {name}")) as opened:
        plain, caller = resolve_name(opened.caller, name, namespace)
        callers = find_callers(opened.registry, plain, caller)
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


LOOKED_AT = 100
"""A namespace with more capabilities than this is not searched for those that call one: each is a
question of its own.
"""


def find_callers(registry: AdminRegistry, name: str, caller: Caller) -> list[str]:
    """Return the capabilities of the caller's namespace that declare a call to this one."""
    names = [
        row["capability"] for row in registry.list(caller) if row["namespace"] == caller.namespace
    ]
    if name not in names or len(names) > LOOKED_AT:
        return []
    return sorted(
        other for other in names if other != name and name in _read_calls(registry, other, caller)
    )


def _read_calls(registry: AdminRegistry, name: str, caller: Caller) -> list[str]:
    try:
        row = registry.inspect(name, caller)
    except SigilError:
        return []  # it is gone, or about to go
    return [*row.get("requires", ()), *(row.get("permissions") or {}).get("call", ())]
