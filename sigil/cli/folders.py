"""`init`, `check` and `test`: work on a capability's folder before anybody else sees it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.shell import Shell, shell_of
from sigil.errors import Refused, UsageError
from sigil.exits import TESTS_FAILED

if TYPE_CHECKING:
    from sigil.manifest import Package
    from sigil.protocol import Json
    from sigil.sandbox.pool import Sandbox
    from sigil.sandbox.program import Program

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder with a sigil.toml (default: the current one).")]

HERE = Path()


class Lang(StrEnum):
    """What `init` can write."""

    js = "js"
    c = "c"
    wat = "wat"


def init(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The capability's name, and the folder's.")],
    lang: Annotated[Lang, typer.Option("--lang", help="The language of its source.")] = Lang.js,
    folder: Annotated[Path | None, typer.Option("--folder", metavar="PATH", help="Where to write (default: ./NAME).")] = None,
) -> None:
    """Make a folder with a capability that works."""
    from sigil.cli.templates import files_for
    from sigil.protocol import Ref, is_name

    if not is_name(name):
        Ref.parse(name)
        raise UsageError("ENAME", f"not a capability's name: {name!r}", suggestion="lower-case words joined by hyphens")
    shell, place = shell_of(context), folder or Path(name)
    files = files_for(name, lang.value)
    _write(place, files)
    if shell.printer.json:
        shell.printer.document({"folder": str(place), "files": [*files]})
    else:
        shell.printer.line(str(place))
        shell.printer.note(f"try: sigil test {place}, then: sigil deploy {place}")


def check(context: typer.Context, folder: Folder = HERE) -> None:
    """Read the manifest, compile and load the source."""
    from sigil import golden
    from sigil.manifest import read_folder

    shell, package = shell_of(context), read_folder(folder)
    with _program(shell, package) as (sandbox, program):
        golden.demand(golden.Bench(sandbox), package.manifest.model_copy(update={"tests": ()}), program)
        size = len(program.load())
    if shell.printer.json:
        shell.printer.document(
            {"capability": package.manifest.name, "lang": package.manifest.lang, "digest": package.digest, "bytes": size}
        )
    else:
        shell.printer.line(f"{package.manifest.name} {package.digest}")
        shell.printer.note(f"{package.manifest.lang}, {size:,} bytes of wasm, {len(package.manifest.tests)} tests")


def prove(context: typer.Context, folder: Folder = HERE) -> None:
    """Run a folder's golden tests in a sandbox here.

    Exit code 8 when one fails.
    """
    from sigil import golden
    from sigil.manifest import read_folder

    shell, package = shell_of(context), read_folder(folder)
    with _program(shell, package) as (sandbox, program):
        bench = golden.Bench(sandbox)
        verdicts = golden.verdicts(bench, package.manifest, program)
        if not verdicts:
            golden.demand(bench, package.manifest, program)  # it has to load at least, as in a deploy
    failed = sum(1 for verdict in verdicts if verdict.problem)
    if shell.printer.json:
        rows = [{"number": verdict.number, "ok": not verdict.problem, "problem": verdict.problem} for verdict in verdicts]
        shell.printer.document({"capability": package.manifest.name, "passed": len(rows) - failed, "failed": failed, "tests": rows})
    else:
        for verdict, given in zip(verdicts, package.manifest.tests, strict=True):
            shell.printer.line(
                f"FAIL {verdict.number}: {verdict.problem}" if verdict.problem else f"ok   {verdict.number}: {_short(given.input)}"
            )
        shell.printer.note(f"{len(verdicts) - failed} passed, {failed} failed" if verdicts else "there are no tests")
    if failed:
        raise typer.Exit(TESTS_FAILED)


@contextmanager
def _program(shell: Shell, package: Package) -> Iterator[tuple[Sandbox, Program]]:
    from sigil import permissions
    from sigil.compile import build
    from sigil.sandbox.program import Program

    permissions.demand(package.manifest)
    with shell.sandbox() as sandbox:
        built = build(package, sandbox)
        yield sandbox, Program(built.digest, built.kind, lambda: built.wasm)


def _short(value: Json) -> str:
    import orjson

    text = orjson.dumps(value).decode()
    return text if len(text) <= 100 else f"{text[:99]}…"


def _write(folder: Path, files: dict[str, str]) -> None:
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise Refused("EEXIST", f"{folder} is there already", suggestion="choose another name, or --folder PATH")
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise UsageError("EFOLDER", f"cannot write {folder}: {problem.strerror}", suggestion="choose a folder that you can write") from None
