"""`check`: whether a folder could be deployed, and what could be better in it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.exit_codes import FAILED
from sigil.cli.shell import Shell, shell_of
from sigil.cli.source_folder import placed, read
from sigil.cli.times import counted

if TYPE_CHECKING:
    from sigil.cli.lint import Advice
    from sigil.manifest.package import Package

Folder = Annotated[
    Path,
    typer.Argument(metavar="FOLDER", help="A folder with a sigil.toml (default: the current one)."),
]
HERE = Path()


def check(
    context: typer.Context,
    folder: Folder = HERE,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 1 when something could be better.")
    ] = False,
) -> None:
    """Read the manifest, compile, and say what could be better.

    The manifest and its schema, whether the code compiles and loads, what it imports against what
    it asks for. No test is run and nothing is asked of a registry.
    """
    from sigil.cli.commands.init import program_of
    from sigil.cli.lint import lint
    from sigil.deploy import golden_tests

    shell, package = shell_of(context), read(folder)
    with placed(folder), program_of(shell, package) as (sandbox, program):
        golden_tests.require_loadable(
            sandbox, package.manifest.model_copy(update={"tests": ()}), program
        )
        module = program.load()
    advice = lint(package, module)
    _tell(shell, package, len(module), advice)
    if strict and advice:
        raise typer.Exit(FAILED)


def _tell(shell: Shell, package: Package, size: int, advice: list[Advice]) -> None:
    manifest = package.manifest
    if shell.printer.json:
        row = {
            "capability": manifest.name,
            "lang": manifest.lang,
            "digest": package.digest,
            "bytes": size,
        }
        shell.printer.document({**row, "advice": [asdict(one) for one in advice]})
        return
    shell.printer.line(f"{manifest.name} {package.digest}")
    for one in advice:
        shell.printer.line(f"{one.field}: {one.says}")
    tests = counted(len(manifest.tests), "test")
    shell.printer.note(f"{manifest.lang}, {size:,} bytes of wasm, {tests}")
