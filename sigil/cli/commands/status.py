"""`sigil status`: how the capabilities do, and what the registry does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

from sigil.cli.shell import get_shell

if TYPE_CHECKING:
    from sigil.protocol import Json

_FIELDS = ("capability", "namespace", "version", "state", "calls", "errors", "mean_ms", "p95_ms")


def status(context: typer.Context) -> None:
    """Show the state of the capabilities and of the registry."""
    shell = get_shell(context)
    with shell.open_registry() as opened:
        row = opened.registry.status(opened.caller)
    if shell.printer.json:
        shell.printer.document(row)
        return
    items = row.get("items", [])
    facts = {name: value for name, value in row.items() if name != "items"}
    shell.printer.table(("what", "value"), _flatten_facts(facts))
    if items:
        cells = [[format_cell(item.get(field)) for field in _FIELDS] for item in items]
        shell.printer.line("")
        shell.printer.table(_FIELDS, cells)


def _flatten_facts(facts: Mapping[str, Json], before: str = "") -> list[tuple[str, object]]:
    """Return a table of tables as rows, each named by its path: `sandbox cold`."""
    rows: list[tuple[str, object]] = []
    for name, value in facts.items():
        path = f"{before}{name}".replace("_", " ")
        if isinstance(value, dict):
            rows += _flatten_facts(value, f"{path} ")
        else:
            rows.append((path, format_cell(value)))
    return rows


def format_cell(value: Json) -> object:
    """Return a value as a table shows it: nothing for null, a list with spaces, three decimals."""
    if value is None:
        return ""
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    return value
