"""`sigil audit`, `logs` and `status`: what was done to a registry, and how it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.completions import capability_names
from sigil.cli.exit_codes import FAILED
from sigil.cli.names import Namespace, resolve_name
from sigil.cli.shell import Shell, shell_of
from sigil.cli.times import format_time
from sigil.errors import SigilError

if TYPE_CHECKING:
    from sigil.protocol import Json

_OWN = (
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

Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="At most so many.")]
After = Annotated[
    int | None,
    typer.Option(
        "--after", min=0, metavar="NUMBER", help="Those after this number (default: the last ones)."
    ),
]


def audit(
    context: typer.Context,
    *,
    namespace: Namespace = "",
    after: After = None,
    limit: Limit = 50,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify", help="Check the whole chain instead; exit code 1 when it does not hold."
        ),
    ] = False,
) -> None:
    """Show what was done: deploys, removals, grants, secrets, keys.

    Each entry carries the hash of the one before it.
    """
    shell = shell_of(context)
    if verify:
        _verify_chain(shell, namespace)
        return
    with shell.registry() as opened:
        rows = opened.registry.log.rows(
            opened.caller, namespace=namespace, after=after, limit=limit
        )
    _show(shell, rows)


def logs(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The capability.", autocompletion=capability_names)
    ],
    *,
    namespace: Namespace = "",
    limit: Limit = 50,
) -> None:
    """Show what was done to one capability.

    Of the last 500 entries of the audit. What a capability itself logs is not here: `sigil run`
    shows that with each run, and nothing keeps it.
    """
    shell = shell_of(context)
    with shell.registry() as opened:
        plain, caller = resolve_name(opened.caller, name, namespace)
        rows = opened.registry.log.rows(
            caller, namespace=caller.namespace if caller != opened.caller else "", limit=500
        )
        found = [row for row in rows if row.get("name") == plain][-limit:]
        if not found:
            opened.registry.inspect(plain, caller)  # a name that nobody ever used is told as such
    _show(shell, found)


def status(context: typer.Context) -> None:
    """Show how the capabilities fare, and what the registry does."""
    shell = shell_of(context)
    with shell.registry() as opened:
        row = opened.registry.status(opened.caller)
    if shell.printer.json:
        shell.printer.document(row)
        return
    items = row.get("items", [])
    others = {name: value for name, value in row.items() if name != "items"}
    shell.printer.table(("what", "value"), [*_flatten_rows(others)])
    if items:
        fields = (
            "capability",
            "namespace",
            "version",
            "state",
            "calls",
            "errors",
            "mean_ms",
            "p95_ms",
        )
        shell.printer.line("")
        shell.printer.table(
            fields, [[_cell(item.get(field)) for field in fields] for item in items]
        )


def _verify_chain(shell: Shell, namespace: str) -> None:
    with shell.registry() as opened:
        found = opened.registry.log.verify(opened.caller, namespace=namespace)
    if shell.printer.json:
        shell.printer.document(found)
    elif found["ok"]:
        shell.printer.line(
            f"{found['namespace']}: {found['entries']} entries hold; the last one is {found['tip']}"
        )
    if found["ok"]:
        return
    if not shell.printer.json:
        shell.printer.error(
            SigilError("EAUDIT", str(found["problem"]), source=str(found["namespace"]))
        )
    raise typer.Exit(FAILED)


def _show(shell: Shell, rows: Sequence[Mapping[str, Json]]) -> None:
    if shell.printer.json:
        shell.printer.document({"items": rows})
    elif rows:
        shell.printer.table(
            ("number", "when", "who", "what", "name", "digest", "facts"),
            [_entry_cells(row) for row in rows],
        )
    else:
        shell.printer.note("nothing was noted")


def _entry_cells(row: Mapping[str, Json]) -> tuple[object, ...]:
    when = format_time(row["at"])
    who = " ".join(str(row[field]) for field in ("author", "token", "session") if row.get(field))
    facts = " ".join(
        f"{name}={_fact(name, value)}" for name, value in row.items() if name not in _OWN
    )
    digest = str(row.get("digest", "")).removeprefix("sha256:")[:12]
    return (row["number"], when, who, row["action"], row.get("name", ""), digest, facts)


def _flatten_rows(row: Mapping[str, Json], before: str = "") -> list[tuple[str, object]]:
    flat: list[tuple[str, object]] = []
    for name, value in row.items():
        place = f"{before}{name}".replace("_", " ")
        flat += (
            _flatten_rows(value, f"{place} ")
            if isinstance(value, dict)
            else [(place, _cell(value))]
        )
    return flat


def _fact(name: str, value: Json) -> object:
    return (
        format_time(value) if name == "expires" and isinstance(value, int | float) else _cell(value)
    )


def _cell(value: Json) -> object:
    if value is None:
        return ""
    if isinstance(value, list):
        return " ".join(map(str, value))
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
