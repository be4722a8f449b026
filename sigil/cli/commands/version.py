"""`sigil version`: the version that is installed."""

from __future__ import annotations

import typer

from sigil.cli.shell import get_shell


def version(context: typer.Context) -> None:
    """Print the version."""
    from sigil.settings import installed_version

    shell = get_shell(context)
    if shell.printer.json:
        shell.printer.document({"version": installed_version()})
    else:
        shell.printer.line(f"sigil {installed_version()}")
