"""`sigil schema`: the JSON Schema of sigil.toml."""

from __future__ import annotations

import typer

from sigil.cli.shell import get_shell


def schema(context: typer.Context) -> None:
    """Print the JSON Schema of sigil.toml, for editors.

    An editor that knows TOML finds it through the first line of a sigil.toml: #:schema
    ./sigil.schema.json
    """
    from sigil.manifest.json_schema import manifest_json_schema

    get_shell(context).printer.document(manifest_json_schema())
