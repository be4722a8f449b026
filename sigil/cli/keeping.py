"""`deploy`, `inspect`, `list` and `remove`: what stands in the registry."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.namespaces import Namespace, meant
from sigil.cli.reports import needing, report, whether
from sigil.cli.shell import Interrupted, perhaps, shell_of
from sigil.cli.sources import deployed, read
from sigil.cli.spread import spread
from sigil.cli.values import text_of
from sigil.errors import Refused, SigilError, UsageError

if TYPE_CHECKING:
    from sigil.protocol import Json


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
    from sigil.cli.details import details

    shell = shell_of(context)
    with shell.registry() as opened:
        detail = opened.registry.inspect(name, opened.caller)
    if shell.printer.json:
        shell.printer.document(detail)
        return
    shell.printer.table(("field", "value"), details(detail), whole=True)
    if detail.get("source"):
        shell.printer.text(f"\n{detail['source']}")


def everything(context: typer.Context) -> None:
    """List the capabilities that you see."""
    shell = shell_of(context)
    with shell.registry() as opened:
        rows = [*opened.registry.list(opened.caller)]
        sandbox = {}
        if shell.settings().registry_url:
            with suppress(Refused):  # a token that may only call
                sandbox = opened.registry.status(opened.caller).get("sandbox", {})
    if shell.printer.json:
        shell.printer.document({"items": rows, **({"sandbox": sandbox} if sandbox else {})})
        return
    if rows:
        fields = ("capability", "version", "namespace", "lifetime", "state", "calls", "description")
        shell.printer.table(fields, [[row.get(field, "") for field in fields] for row in rows])
    else:
        shell.printer.note("the registry is empty")
    if sandbox:
        counts = (f"{sandbox[name]:,} {word}" for name, word in (("slots", "loaded"), ("cold", "cold starts"), ("evictions", "evictions")))
        shell.printer.note(f"sandbox: {', '.join(counts)}")


def remove(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The capability.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    namespace: Namespace = "",
) -> None:
    """Take a capability of your own away.

    All its versions go, with its grants and what it kept. Says first which others call it.
    """
    shell = shell_of(context)
    if not yes and not _somebody():
        raise UsageError("EUSAGE", "there is nobody to ask", source=name, suggestion="add --yes")
    with shell.registry(perhaps(f"sigil logs {name}")) as opened:
        plain, caller = meant(opened.caller, name, namespace)
        callers = needing(opened.registry, plain, caller)
        if callers:
            shell.printer.note(f"{', '.join(callers)} {'call' if callers[1:] else 'calls'} {plain}, and will fail without it")
        if not yes and not typer.confirm(f"Remove {name}?", err=True):
            raise declined("removed")
        opened.registry.remove(plain, caller)
    if shell.printer.json:
        shell.printer.document({"removed": name, "needed_by": callers})
    else:
        shell.printer.note(f"removed {name}")


def _somebody() -> bool:
    return sys.stdin.isatty()


def declined(what: str) -> SigilError:
    """What a person said no to."""
    return SigilError("EDECLINED", f"nothing was {what}")


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
    spec, place = _spec(folder, inline), folder or Path() if inline == NOTHING else None
    try:
        with shell.registry() as opened:
            report(shell, opened, deployed(shell, lambda: opened.registry.deploy(spec, opened.caller), spec, place))
    except KeyboardInterrupt:
        raise Interrupted(whether(shell, spec)) from None


def _spec(folder: Path | None, inline: Inline) -> dict[str, Json]:
    if inline == NOTHING:
        from sigil.wire import spec_of

        spec = spec_of(read(folder or Path()))
    elif folder:
        raise UsageError("EUSAGE", "give a folder or options, not both")
    elif inline.execute is None:
        raise UsageError("EUSAGE", "--execute is missing", suggestion="add --execute, or mend the folder's sigil.toml and deploy that")
    else:
        spec = inline.spec()
    if spec.get("ttl") is not None and spec.get("type") != "ephemeral":
        given = ("--ttl", "--type ephemeral") if inline != NOTHING else ("ttl", 'lifetime = "ephemeral"')
        raise UsageError("EUSAGE", f"{given[0]} does nothing without {given[1]}", suggestion=f"add {given[1]}, or leave out {given[0]}")
    return spec
