"""`sigil run`: run a capability."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from sigil.cli import completions
from sigil.cli.names import suggest_names
from sigil.cli.options import ARGUMENT
from sigil.cli.shell import OpenRegistry, Shell, get_shell
from sigil.errors import SigilError, UsageError, one_line


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
    *,
    argument: Annotated[
        list[str] | None, typer.Option(ARGUMENT, metavar="KEY=VALUE", hidden=True)
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

    Prints a string as it is, and anything else as JSON. Files that it returns are saved. An
    argument may be written as an option too: --text hi means -a text=hi.
    """
    from sigil.cli.saved_files import save_files
    from sigil.cli.values import read_arguments
    from sigil.json_fields import as_string
    from sigil.running_call import RunningCall, format_progress, run_as
    from sigil.strict_json import loads

    shell = get_shell(context)
    for pair in argument or ():
        key, _, value = pair.partition("=")
        shell.printer.note(f"--{key} is read as -a {shlex.quote(f'{key}={value}')}")
    arguments = read_arguments(input, [*(argument or ()), *(arg or ())])
    bodies: list[bytes] = []
    with shell.open_registry(
        "interrupted; what the run changed by then, in env.KV or on the web, stays changed"
    ) as opened:
        try:
            call = RunningCall(
                show=lambda told: shell.printer.spinner.change(f"{name} {format_progress(told)}")
            )
            with (
                suggest_names(opened, name),
                shell.printer.progress(f"running {name}"),
                run_as(call),
            ):
                outcome = opened.registry.run(name, arguments, opened.caller)
                for file in outcome.files:
                    bodies.append(opened.registry.read_file(file.id, opened.caller))
        except SigilError as problem:
            _print_logs(shell, problem.logs)
            if isinstance(problem, UsageError) and problem.code == "EINVAL":
                help_hint = f"`sigil run {name} --help` shows it"
                meant = _find_meant_arguments(opened, name, arguments)
                if meant:
                    problem.suggestion = f"{meant} {help_hint}"
                else:
                    problem.suggestion = f"{problem.suggestion}: {help_hint}".removeprefix(": ")
            raise
    _print_logs(shell, outcome.logs)
    if outcome.output.lstrip()[:1] == b'"' and not shell.printer.json:
        shell.printer.text(as_string(loads(outcome.output)))
    else:
        shell.printer.encoded_document(outcome.output)
    for path, file in zip(save_files(outcome.files, bodies, output), outcome.files, strict=True):
        shell.printer.note(f"saved {path} ({file.type}, {file.size:,} bytes)")


def _find_meant_arguments(opened: OpenRegistry, name: str, arguments: Mapping[str, object]) -> str:
    """Return a question for each argument that is none and is written like one; mostly empty."""
    from difflib import get_close_matches

    from sigil.json_fields import as_mapping

    try:
        schema = opened.registry.inspect(name, opened.caller).get("schema", {})
    except SigilError:
        return ""  # it was removed a moment ago
    known = [*as_mapping(schema.get("properties"))]
    questions = []
    for key in arguments:
        similar = [] if key in known else get_close_matches(key, known, n=1, cutoff=0.6)
        if similar and similar[0] not in arguments:
            questions.append(f"did you mean {similar[0]} by {one_line(key, 40)}?")
    return " ".join(questions)


def _print_logs(shell: Shell, logs: Iterable[str]) -> None:
    for line in logs:
        shell.printer.note(f"log: {line}")
