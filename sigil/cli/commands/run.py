"""`sigil query` and `sigil run`: find capabilities, and run one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from sigil.cli import completions
from sigil.cli.completions import capability_names
from sigil.cli.names import suggest_names
from sigil.cli.shell import Shell, shell_of
from sigil.errors import SigilError, UsageError


def query(
    context: typer.Context,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="What you need, in your own words.")
    ] = "",
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, max=50, help="At most so many.")
    ] = None,
    explore: Annotated[
        bool,
        typer.Option(
            "--explore", help="Look around: no two that are much alike. The default without TEXT."
        ),
    ] = False,
) -> None:
    """Find capabilities, or look around.

    What is not relevant is not shown, so it may be that nothing is.
    """
    if explore or not text.strip():
        return _show_glimpses(shell_of(context), text, limit or 20)
    return _show_matches(shell_of(context), text, limit or 10)


def _show_glimpses(shell: Shell, text: str, limit: int) -> None:
    from sigil.protocol import glimpse_row

    with shell.registry() as opened:
        seen = opened.registry.explore(text, opened.caller, limit=limit)
    if shell.printer.json:
        shell.printer.document({"items": [glimpse_row(each) for each in seen]})
    elif seen:
        shell.printer.table(
            ("capability", "score", "description"),
            [(each.name, f"{each.score:.3f}", each.description) for each in seen],
        )
    else:
        shell.printer.note("nothing found")


def _show_matches(shell: Shell, text: str, limit: int) -> None:
    from sigil.protocol import hit_row

    with shell.registry() as opened:
        found = opened.registry.query(text, opened.caller, limit=limit)
        items = (
            [hit_row(hit, opened.registry, opened.caller) for hit in found.hits]
            if shell.printer.json
            else []
        )
    if shell.printer.json:
        shell.printer.document({"items": items, "total": found.total})
    elif found.hits:
        rows = [
            (
                hit.offer.name,
                hit.offer.version,
                hit.offer.kind,
                f"{hit.score:.3f}",
                hit.offer.description,
            )
            for hit in found.hits
        ]
        shell.printer.table(("capability", "version", "kind", "score", "description"), rows)
    else:
        shell.printer.note("nothing found")


def run(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="NAME, NAME@VERSION or NAME@sha256:DIGEST.",
            autocompletion=capability_names,
        ),
    ],
    input: Annotated[
        str | None,
        typer.Argument(
            metavar="JSON|@FILE|-", help="A JSON object: itself, in a file, or on stdin."
        ),
    ] = None,
    arg: Annotated[
        list[str] | None,
        typer.Option(
            "--arg",
            "-a",
            metavar="KEY=VALUE",
            help="One argument; repeat a key for a list.",
            autocompletion=completions.argument_keys,
        ),
    ] = None,
) -> None:
    """Run a capability.

    A string is printed as it is, anything else as JSON.
    """
    from sigil.cli.values import read_arguments
    from sigil.strict_json import loads

    shell = shell_of(context)
    arguments = read_arguments(input, arg or ())
    with shell.registry(
        "interrupted; what the run had done by then, in env.KV or on the web, stands"
    ) as opened:
        try:
            with suggest_names(opened, name), shell.printer.working(f"running {name}"):
                ran = opened.registry.run(name, arguments, opened.caller)
        except SigilError as problem:
            _show_logs(shell, problem.logs)
            if isinstance(problem, UsageError) and problem.code == "EINVAL":
                problem.suggestion = (
                    f"{problem.suggestion}: `sigil run {name} --help` shows it".removeprefix(": ")
                )
            raise
    _show_logs(shell, ran.logs)
    if ran.output.lstrip()[:1] == b'"' and not shell.printer.json:
        shell.printer.text(loads(ran.output))
    else:
        shell.printer.encoded(ran.output)


def _show_logs(shell: Shell, logs: Iterable[str]) -> None:
    for line in logs:
        shell.printer.note(f"log: {line}")
