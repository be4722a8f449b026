"""`sigil version` and `sigil schema`: what is installed, and the schema of sigil.toml."""

from __future__ import annotations

import typer

from sigil.cli.shell import shell_of


def version(context: typer.Context) -> None:
    """Print the version."""
    from sigil.settings import installed_version

    shell = shell_of(context)
    if shell.printer.json:
        shell.printer.document({"version": installed_version()})
    else:
        shell.printer.line(f"sigil {installed_version()}")


def schema(context: typer.Context) -> None:
    """Print the JSON Schema of sigil.toml, for editors.

    An editor that knows TOML takes it from the first line of a sigil.toml: #:schema
    ./sigil.schema.json
    """
    from sigil.manifest.json_schema import manifest_json_schema

    shell_of(context).printer.document(manifest_json_schema())
