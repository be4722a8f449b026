"""`init` and `test`: work on a capability's folder before anybody else sees it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.exit_codes import TESTS_FAILED
from sigil.cli.shell import Shell, shell_of
from sigil.cli.source_folder import placed, read, warn
from sigil.errors import Refused, UsageError

if TYPE_CHECKING:
    from sigil.deploy.golden_tests import TestBench, TestResult
    from sigil.manifest.package import Package
    from sigil.protocol import Json
    from sigil.sandbox.pool import Sandbox
    from sigil.sandbox.program import Program
    from sigil.settings import Settings

Folder = Annotated[
    Path,
    typer.Argument(metavar="FOLDER", help="A folder with a sigil.toml (default: the current one)."),
]

HERE = Path()


class Lang(StrEnum):
    """What `init` can write."""

    js = "js"
    ts = "ts"
    c = "c"
    assemblyscript = "assemblyscript"
    rust = "rust"
    wat = "wat"
    wasm = "wasm"
    wasi = "wasi"


def init(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The capability's name, and the folder's.")
    ],
    lang: Annotated[Lang, typer.Option("--lang", help="The language of its source.")] = Lang.js,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="PATH", help="Where to write (default: ./NAME)."),
    ] = None,
) -> None:
    """Make a folder with a capability that works."""
    from sigil.cli.templates import files_for
    from sigil.protocol import Ref, is_name
    from sigil.storage.files import write_folder

    if not is_name(name):
        Ref.parse(name)
        raise UsageError(
            "ENAME",
            f"not a capability's name: {name!r}",
            suggestion="lower-case words joined by hyphens",
        )
    shell, place = shell_of(context), folder or Path(name)
    _demand_free(place)
    files = files_for(name, lang.value, partial(_assembled, shell))
    write_folder(place, files)
    if shell.printer.json:
        shell.printer.document({"folder": str(place), "files": [*files]})
    else:
        shell.printer.line(str(place))
        shell.printer.note(f"try: sigil test {place}, then: sigil deploy {place}")


def prove(context: typer.Context, folder: Folder = HERE) -> None:
    """Run a folder's golden tests in a sandbox here.

    Exit code 8 when one fails. What it calls is what stands in the registry of this process, else
    the folder of that name beside it.
    """
    shell, package = shell_of(context), read(folder)
    with placed(folder):
        verdicts = verdicts_of(shell, package, folder)
    failed = sum(1 for verdict in verdicts if verdict.problem)
    if shell.printer.json:
        rows = [
            {"number": verdict.number, "ok": not verdict.problem, "problem": verdict.problem}
            for verdict in verdicts
        ]
        shell.printer.document(
            {
                "capability": package.manifest.name,
                "passed": len(rows) - failed,
                "failed": failed,
                "tests": rows,
            }
        )
    else:
        for verdict, given in zip(verdicts, package.manifest.tests, strict=True):
            shell.printer.line(
                f"FAIL {verdict.number}: {verdict.problem}"
                if verdict.problem
                else f"ok   {verdict.number}: {_short(given.input)}"
            )
        shell.printer.note(
            f"{len(verdicts) - failed} passed, {failed} failed"
            if verdicts
            else "there are no tests"
        )
    if failed:
        raise typer.Exit(TESTS_FAILED)


def verdicts_of(shell: Shell, package: Package, folder: Path) -> list[TestResult]:
    """What a deploy would find. Of a registry elsewhere nobody here knows what stands there."""
    with program_of(shell, package) as (sandbox, program):
        return verdicts_in(
            tested_in(shell.settings(), sandbox, package, folder), shell, package, program
        )


def tested_in(settings: Settings, sandbox: Sandbox, package: Package, folder: Path) -> TestBench:
    """Where the tests of a folder run: in `sandbox`, with what stands in this process's registry or
    beside the folder.
    """
    from sigil.cli.folder_registry import beside
    from sigil.deploy.golden_tests import TestBench

    return TestBench(sandbox, settings.agent, beside(settings, sandbox, folder, package.manifest))


def verdicts_in(
    bench: TestBench, shell: Shell, package: Package, program: Program
) -> list[TestResult]:
    """What a deploy would find of a compiled package."""
    from sigil.deploy import golden_tests
    from sigil.run import dependencies
    from sigil.run.host_calls.context import Part

    manifest = package.manifest
    if bench.others:
        part = Part(bench.namespace, manifest, package.digest, program)
        dependencies.require_dependencies(part, bench.others, later=bool(shell.address()))
    golden_tests.require_loadable(bench.sandbox, manifest, program)
    with shell.printer.working(f"testing {manifest.name}"):
        return golden_tests.run_tests(bench, manifest, program)


@contextmanager
def program_of(shell: Shell, package: Package) -> Iterator[tuple[Sandbox, Program]]:
    """A sandbox here, and what a package compiles to in it."""
    from sigil.compile.compiler import build
    from sigil.sandbox.program import Program

    warn(shell, package.manifest.lang, package.code)
    with shell.sandbox() as sandbox:
        with shell.printer.working(f"compiling {package.manifest.name}"):
            built = build(package, sandbox)
        yield sandbox, Program(built.digest, built.kind, lambda: built.wasm)


def _short(value: Json) -> str:
    import orjson

    text = orjson.dumps(value).decode()
    return text if len(text) <= 100 else f"{text[:99]}…"


def _assembled(shell: Shell, text: bytes) -> bytes:
    with shell.sandbox() as sandbox:
        return sandbox.assemble(text)


def _demand_free(folder: Path) -> None:
    from sigil.storage.files import unwritten

    try:
        taken = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    except OSError as problem:
        raise unwritten(folder, problem) from None
    if taken:
        raise Refused(
            "EEXIST",
            f"{folder} is there already",
            suggestion="choose another name, or --folder PATH",
        )
