"""`query` and `run`: what capabilities are there for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from sigil.cli.shell import Shell, shell_of
from sigil.errors import SigilError


def query(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What you need, in your own words.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=50, help="At most so many.")] = 10,
) -> None:
    """Find capabilities.

    What is not relevant is not shown, so it may be that nothing is.
    """
    from sigil.wire import offer_row

    shell = shell_of(context)
    with shell.registry() as opened:
        found = opened.registry.query(text, opened.caller, limit=limit)
    if shell.printer.json:
        shell.printer.document({"items": [{**offer_row(hit.offer), "score": hit.score} for hit in found.hits], "total": found.total})
    elif found.hits:
        rows = [(hit.offer.name, hit.offer.version, f"{hit.score:.3f}", hit.offer.description) for hit in found.hits]
        shell.printer.table(("capability", "version", "score", "description"), rows)
    else:
        shell.printer.note("nothing found")


def run(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="NAME, NAME@VERSION or NAME@sha256:DIGEST.")],
    input: Annotated[str | None, typer.Argument(metavar="JSON|@FILE|-", help="A JSON object: itself, in a file, or on stdin.")] = None,
    arg: Annotated[
        list[str] | None, typer.Option("--arg", "-a", metavar="KEY=VALUE", help="One argument; repeat a key for a list.")
    ] = None,
) -> None:
    """Run a capability.

    A string is printed as it is, anything else as JSON.
    """
    from sigil.cli.values import arguments_of
    from sigil.strict import loads

    shell = shell_of(context)
    arguments = arguments_of(input, arg or ())
    with shell.registry("interrupted; what the run had done by then, in env.KV or on the web, stands") as opened:
        try:
            ran = opened.registry.run(name, arguments, opened.caller)
        except SigilError as problem:
            _tell(shell, problem.logs)
            raise
    _tell(shell, ran.logs)
    if ran.output.lstrip()[:1] == b'"' and not shell.printer.json:
        shell.printer.text(loads(ran.output))
    else:
        shell.printer.encoded(ran.output)


def _tell(shell: Shell, logs: Iterable[str]) -> None:
    for line in logs:
        shell.printer.note(f"log: {line}")
