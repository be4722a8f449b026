"""`init`, `check` and `test`: work on a capability's folder before anybody else sees it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.moments import counted
from sigil.cli.shell import Shell, shell_of
from sigil.cli.sources import placed, read, warn
from sigil.errors import Refused, UsageError
from sigil.exits import TESTS_FAILED

if TYPE_CHECKING:
    from sigil.golden import Verdict
    from sigil.package import Package
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

    shell, package = shell_of(context), read(folder)
    with placed(folder), _program(shell, package) as (sandbox, program):
        golden.demand_loads(sandbox, package.manifest.model_copy(update={"tests": ()}), program)
        size = len(program.load())
    if shell.printer.json:
        shell.printer.document(
            {"capability": package.manifest.name, "lang": package.manifest.lang, "digest": package.digest, "bytes": size}
        )
    else:
        shell.printer.line(f"{package.manifest.name} {package.digest}")
        shell.printer.note(f"{package.manifest.lang}, {size:,} bytes of wasm, {counted(len(package.manifest.tests), 'test')}")


def prove(context: typer.Context, folder: Folder = HERE) -> None:
    """Run a folder's golden tests in a sandbox here.

    Exit code 8 when one fails. What it calls is what stands in the registry of this process, else the folder of that name beside it.
    """
    shell, package = shell_of(context), read(folder)
    with placed(folder):
        verdicts = _verdicts(shell, package, folder)
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


def _verdicts(shell: Shell, package: Package, folder: Path) -> list[Verdict]:
    """What a deploy would find. Of a registry elsewhere nobody here knows what stands there."""
    from sigil import composition, golden
    from sigil.cli.beside import beside
    from sigil.services.part import Part

    settings, manifest = shell.settings(), package.manifest
    with _program(shell, package) as (sandbox, program):
        others = beside(settings, sandbox, folder, manifest)
        part = Part(settings.agent, manifest, package.digest, program)
        composition.demand(part, others, later=bool(settings.registry_url))
        golden.demand_loads(sandbox, manifest, program)
        return golden.verdicts(golden.Bench(sandbox, settings.agent, others), manifest, program)


@contextmanager
def _program(shell: Shell, package: Package) -> Iterator[tuple[Sandbox, Program]]:
    from sigil.compile import build
    from sigil.sandbox.program import Program

    warn(shell, package.manifest.lang, package.code)
    with shell.sandbox() as sandbox:
        built = build(package, sandbox)
        yield sandbox, Program(built.digest, built.kind, lambda: built.wasm)


def _short(value: Json) -> str:
    import orjson

    text = orjson.dumps(value).decode()
    return text if len(text) <= 100 else f"{text[:99]}…"


def _write(folder: Path, files: dict[str, str]) -> None:
    from sigil.files import unwritten, write_folder

    try:
        taken = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    except OSError as problem:
        raise unwritten(folder, problem) from None
    if taken:
        raise Refused("EEXIST", f"{folder} is there already", suggestion="choose another name, or --folder PATH")
    write_folder(folder, files)
