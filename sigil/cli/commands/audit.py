"""`sigil audit`: what was done to a registry, and to one capability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.commands.status import format_cell
from sigil.cli.completions import capability_names
from sigil.cli.exit_codes import FAILED
from sigil.cli.names import Namespace, resolve_name
from sigil.cli.shell import Shell, get_shell
from sigil.cli.times import format_count, format_time
from sigil.errors import SigilError, UsageError

if TYPE_CHECKING:
    from sigil.rows import AuditCheckRow, AuditRow

ENTRIES_MOST = 500
_COLUMN_FIELDS = (
    "number",
    "at",
    "namespace",
    "action",
    "previous",
    "hash",
    "name",
    "digest",
    "author",
    "session",
    "token",
    "owner",
)
"""The fields of an entry that have a column of their own; the others are its facts."""

Limit = Annotated[
    int, typer.Option("--limit", "-n", min=1, max=ENTRIES_MOST, help="Show at most this many.")
]
After = Annotated[
    int | None,
    typer.Option(
        "--after",
        min=0,
        metavar="NUMBER",
        help="Show the entries after this number (default: the last ones).",
    ),
]


def audit(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]",
            help="Show only what was done to this capability, in the last 500 entries.",
            autocompletion=capability_names,
        ),
    ] = "",
    *,
    namespace: Namespace = "",
    after: After = None,
    limit: Limit = 50,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Check the chains of all namespaces instead, or of --namespace alone; exit code 1"
            " when one is broken.",
        ),
    ] = False,
) -> None:
    """Show what was done: deploys, removals, grants, secrets, keys.

    Each entry carries the hash of the one before it.
    """
    shell = get_shell(context)
    if name and (verify or after is not None):
        raise UsageError("EUSAGE", "a capability's entries are its last ones: leave out the option")
    if name:
        _print_entries(shell, _find_entries(shell, name, namespace, limit))
        return
    if not verify:
        with shell.open_registry() as opened:
            rows = opened.registry.log.rows(
                opened.caller, namespace=namespace, after=after, limit=limit
            )
        _print_entries(shell, rows)
        return
    with shell.open_registry() as opened:
        found = opened.registry.log.verify(opened.caller, namespace=namespace)
    _print_check(shell, found)
    if not found["ok"]:
        raise typer.Exit(FAILED)


def _print_check(shell: Shell, found: AuditCheckRow) -> None:
    """Print whether the chains hold, and each that does not."""
    if shell.printer.json:
        shell.printer.document(found)
        return
    place = found["namespace"]
    broken = found.get("broken", [])
    if not found["ok"] and not broken:
        broken = [{"namespace": place, "problem": found["problem"]}]
    if place not in [row["namespace"] for row in broken]:
        shell.printer.line(
            f"{place}: {found['entries']} entries hold; the last one is {found['tip']}"
        )
    for row in broken:
        shell.printer.error(SigilError("EAUDIT", row["problem"], source=row["namespace"]))
    others = found.get("namespaces", 1) - 1
    if others and found["ok"]:
        shell.printer.note(f"{format_count(others, 'other namespace')}: all entries hold")


def _find_entries(shell: Shell, name: str, namespace: str, limit: int) -> Sequence[AuditRow]:
    """Return the last entries about one capability; `UsageError` for a name nobody ever used."""
    with shell.open_registry() as opened:
        plain, caller = resolve_name(opened.caller, name, namespace)
        elsewhere = caller.namespace if caller != opened.caller else ""
        rows = opened.registry.log.rows(caller, namespace=elsewhere, limit=ENTRIES_MOST)
        found = [row for row in rows if row.get("name") == plain][-limit:]
        if not found:
            opened.registry.inspect(plain, caller)
        return found


def _print_entries(shell: Shell, rows: Sequence[AuditRow]) -> None:
    if shell.printer.json:
        shell.printer.document({"items": rows})
        return
    if not rows:
        shell.printer.note("there are no entries")
        return
    cells = []
    for row in rows:
        fields: Mapping[str, object] = row
        actor = [str(fields[name]) for name in ("author", "token", "session") if fields.get(name)]
        facts = []
        for name, value in fields.items():
            if name in _COLUMN_FIELDS:
                continue
            if name == "expires" and isinstance(value, int | float):
                facts.append(f"{name}={format_time(value)}")
            else:
                facts.append(f"{name}={format_cell(value)}")
        cells.append(
            (
                row["number"],
                format_time(row["at"]),
                " ".join(actor),
                row["action"],
                fields.get("name", ""),
                str(fields.get("digest", "")).removeprefix("sha256:")[:12],
                " ".join(facts),
            )
        )
    shell.printer.table(("number", "when", "who", "what", "name", "digest", "facts"), cells)
