"""`sigil run`: run a capability."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from sigil.cli import completions
from sigil.cli.names import suggest_names
from sigil.cli.shell import Shell, get_shell
from sigil.errors import SigilError, UsageError


def run(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="NAME, NAME@VERSION or NAME@sha256:DIGEST.",
            autocompletion=completions.capability_names,
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
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER|FILE",
            help="Where the files go that it returns, such as pictures; by default a new folder.",
        ),
    ] = None,
) -> None:
    """Run a capability.

    Prints a string as it is, and anything else as JSON. Files that it returns are saved.
    """
    from sigil.cli.saved_files import save_files
    from sigil.cli.values import read_arguments
    from sigil.json_fields import as_string
    from sigil.strict_json import loads

    shell = get_shell(context)
    arguments = read_arguments(input, arg or ())
    bodies: list[bytes] = []
    with shell.open_registry(
        "interrupted; what the run changed by then, in env.KV or on the web, stays changed"
    ) as opened:
        try:
            with suggest_names(opened, name), shell.printer.progress(f"running {name}"):
                outcome = opened.registry.run(name, arguments, opened.caller)
                for file in outcome.files:
                    bodies.append(opened.registry.read_file(file.id, opened.caller))
        except SigilError as problem:
            _print_logs(shell, problem.logs)
            if isinstance(problem, UsageError) and problem.code == "EINVAL":
                help_hint = f"`sigil run {name} --help` shows it"
                problem.suggestion = f"{problem.suggestion}: {help_hint}".removeprefix(": ")
            raise
    _print_logs(shell, outcome.logs)
    if outcome.output.lstrip()[:1] == b'"' and not shell.printer.json:
        shell.printer.text(as_string(loads(outcome.output)))
    else:
        shell.printer.encoded_document(outcome.output)
    for path, file in zip(save_files(outcome.files, bodies, output), outcome.files, strict=True):
        shell.printer.note(f"saved {path} ({file.type}, {file.size:,} bytes)")


def _print_logs(shell: Shell, logs: Iterable[str]) -> None:
    for line in logs:
        shell.printer.note(f"log: {line}")
