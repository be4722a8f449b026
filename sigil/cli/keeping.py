"""`deploy`, `inspect`, `list` and `remove`: what stands in the registry."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.shell import Shell, shell_of
from sigil.cli.spread import spread
from sigil.cli.values import text_of
from sigil.errors import UsageError

if TYPE_CHECKING:
    from sigil.protocol import Deployed, Json


class Lifetime(StrEnum):
    """How long a capability stays."""

    persistent = "persistent"
    normal = "normal"
    ephemeral = "ephemeral"


Texts = list[str] | None


@dataclass(frozen=True, slots=True)
class Inline:
    """A capability given in one line."""

    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Its name (default: t- and six digits).")] = None
    execute: Annotated[str | None, typer.Option("--execute", metavar="JS|@FILE|-", help="The body of `async (input, env) => {…}`.")] = None
    schema: Annotated[str | None, typer.Option("--schema", metavar="JSON|@FILE", help="The input's JSON Schema.")] = None
    description: Annotated[str | None, typer.Option("--description", metavar="TEXT", help="What it does, in one sentence.")] = None
    tag: Annotated[Texts, typer.Option("--tag", metavar="WORD", help="A tag; may be repeated.")] = None
    alias: Annotated[Texts, typer.Option("--alias", metavar="WORDS", help="Another name to be found by; may be repeated.")] = None
    example: Annotated[Texts, typer.Option("--example", metavar="TEXT", help="What a user would say; may be repeated.")] = None
    type: Annotated[Lifetime | None, typer.Option("--type", help="How long it stays (default: normal).")] = None
    ttl: Annotated[int | None, typer.Option("--ttl", metavar="SECONDS", help="For ephemeral ones (default: 3600).")] = None

    def spec(self) -> dict[str, Json]:
        """The flat form that a registry takes."""
        from sigil.wire import read_object

        fields = {
            "name": self.name,
            "execute": text_of(self.execute or ""),
            "schema": read_object(text_of(self.schema), source="--schema") if self.schema else None,
            "description": self.description,
            "tags": self.tag,
            "aliases": self.alias,
            "examples": self.example,
            "type": self.type.value if self.type else None,
            "ttl": self.ttl,
        }
        return {name: value for name, value in fields.items() if value is not None}


NOTHING = Inline()


def inspect(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="NAME, NAME@VERSION or NAME@sha256:DIGEST.")],
) -> None:
    """Show everything about a capability.

    Its manifest, version, digest, permissions and source.
    """
    import orjson

    shell = shell_of(context)
    with shell.registry() as opened:
        detail = opened.registry.inspect(name, opened.caller)
    if shell.printer.json:
        shell.printer.document(detail)
        return
    source = detail.pop("source", None)
    shown = {field: value if isinstance(value, str) else orjson.dumps(value).decode() for field, value in detail.items()}
    shell.printer.table(("field", "value"), [(field, value) for field, value in shown.items() if value not in ("", "null", "[]")])
    if source:
        shell.printer.text(f"\n{source}")


def everything(context: typer.Context) -> None:
    """List the capabilities that you see."""
    shell = shell_of(context)
    with shell.registry() as opened:
        rows = [*opened.registry.list(opened.caller)]
    if shell.printer.json:
        shell.printer.document({"items": rows})
    elif rows:
        fields = ("capability", "version", "namespace", "lifetime", "state", "calls", "description")
        shell.printer.table(fields, [[row.get(field, "") for field in fields] for row in rows])
    else:
        shell.printer.note("the registry is empty")


def remove(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The capability.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Take a capability of your own away."""
    shell = shell_of(context)
    if not yes and not sys.stdin.isatty():
        raise UsageError("EUSAGE", "there is nobody to ask", source=name, suggestion="add --yes")
    if not yes and not typer.confirm(f"Remove {name}?", err=True):
        return
    with shell.registry() as opened:
        opened.registry.remove(name, opened.caller)
    if shell.printer.json:
        shell.printer.document({"removed": name})
    else:
        shell.printer.note(f"removed {name}")


def report(shell: Shell, deployed: Deployed) -> None:
    """Say what a deploy made."""
    from sigil.wire import deployed_row

    offer = deployed.offer
    if shell.printer.json:
        row = {name: value for name, value in deployed_row(deployed, "").items() if name != "url"}
        shell.printer.document({**row, "created": deployed.created})
        return
    shell.printer.line(f"{offer.name}@{offer.version} {offer.digest}")
    tests = f"{deployed.passed} tests passed" if deployed.passed else "there are no tests"
    shell.printer.note(tests if deployed.created else "this very digest stood already")
    for permission in deployed.pending:
        shell.printer.note(f"waits for an owner: {permission}")


@spread
def deploy(
    context: typer.Context,
    folder: Annotated[Path | None, typer.Argument(metavar="FOLDER", help="A folder with a sigil.toml (default: the current one).")] = None,
    inline: Inline = NOTHING,
) -> None:
    """Check, test and activate a capability.

    It comes from a folder with a sigil.toml, or in one line with --execute.
    """
    shell = shell_of(context)
    spec = _spec(folder, inline)
    with shell.registry() as opened:
        report(shell, opened.registry.deploy(spec, opened.caller))


def _spec(folder: Path | None, inline: Inline) -> dict[str, Json]:
    if inline == NOTHING:
        from sigil.manifest import read_folder
        from sigil.wire import spec_of

        return spec_of(read_folder(folder or Path()))
    if folder:
        raise UsageError("EUSAGE", "give a folder or options, not both")
    if inline.execute is None:
        raise UsageError("EUSAGE", "--execute is missing", suggestion="add --execute, or mend the folder's sigil.toml and deploy that")
    return inline.spec()
