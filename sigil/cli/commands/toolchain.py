"""`sigil toolchain`: install, list and remove the compilers of C, Rust and AssemblyScript."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sigil.cli.help import format_examples
from sigil.cli.names import name_own_command
from sigil.cli.shell import get_shell


class CompiledLanguage(StrEnum):
    """A language that needs a compiler."""

    c = "c"
    rust = "rust"
    assemblyscript = "assemblyscript"


Language = Annotated[CompiledLanguage, typer.Argument(metavar="LANGUAGE", help="The language.")]

toolchain = typer.Typer(
    name="toolchain",
    help="Install, list and remove compilers.",
    epilog=format_examples("sigil", "sigil toolchain install c\nsigil toolchain list"),
    no_args_is_help=True,
    rich_markup_mode=None,
)


@toolchain.command(
    "install",
    epilog=format_examples(
        "sigil", "sigil toolchain install c\nsigil toolchain install assemblyscript"
    ),
)
def install(context: typer.Context, language: Language) -> None:
    """Install the compiler of a language.

    It goes into a folder of its own in the data folder, without root: C with ziglang from PyPI,
    AssemblyScript from npm (with Node from PyPI where it is missing), Rust from Debian's packages.
    JavaScript, TypeScript and WAT need none.
    """
    from sigil.compile.toolchain.installed import find_toolchain
    from sigil.compile.toolchain.installer import Progress, install_toolchain

    printer = get_shell(context).printer
    with printer.progress(f"installing {language}"):
        is_new = install_toolchain(language, Progress(printer.note, printer.spinner.change))
    path = find_toolchain(language)
    if is_new:
        note = f"{language} is ready, in {path}"
    else:
        note = f"{language} is ready here already"
    printer.result({"language": language, "installed": is_new, "path": _text(path)}, note)


@toolchain.command("list", epilog=format_examples("sigil", "sigil toolchain list"))
def list_installed(context: typer.Context) -> None:
    """List the languages that need a compiler, and whether it is here."""
    from sigil.compile.toolchain.installed import install_command
    from sigil.compile.toolchain.installer import list_toolchains

    printer = get_shell(context).printer
    rows = list_toolchains()
    if printer.json:
        items = [
            {
                "language": row.language,
                "ready": not row.problem,
                "path": _text(row.path),
                "origin": row.origin,
                "problem": row.problem or None,
            }
            for row in rows
        ]
        printer.document({"items": items})
        return
    cells = []
    for row in rows:
        state = "missing" if row.problem else "ready"
        where = str(row.path) if row.path else row.problem or "of this machine"
        cells.append((row.language, state, where))
    printer.table(("language", "state", "where"), cells)
    for row in rows:
        if row.problem:
            command = name_own_command(install_command(row.language))
            printer.note(f"{command}  # {row.origin}")


@toolchain.command("remove", epilog=format_examples("sigil", "sigil toolchain remove c"))
def remove(context: typer.Context, language: Language) -> None:
    """Remove what `sigil toolchain install` installed for a language."""
    from sigil.compile.toolchain.installer import remove_toolchain

    is_gone = remove_toolchain(language)
    note = f"removed the compiler of {language}" if is_gone else f"{language} was not installed"
    get_shell(context).printer.result({"language": language, "removed": is_gone}, note)


def _text(path: Path | None) -> str | None:
    return str(path) if path else None
