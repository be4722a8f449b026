"""`sigil test`: run a folder's golden tests in a sandbox here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sigil.cli.exit_codes import TESTS_FAILED
from sigil.cli.shell import Shell, get_shell
from sigil.cli.source_folder import (
    CURRENT_FOLDER,
    Folder,
    locate_errors,
    read_package,
    warn_of_slow_compile,
)
from sigil.errors import one_line

if TYPE_CHECKING:
    from sigil.deploy.golden_tests import GoldenTestBench, GoldenTestResult
    from sigil.manifest.package import Package
    from sigil.sandbox.pool import Sandbox
    from sigil.sandbox.program import Program
    from sigil.settings import Settings

INPUT_CHARACTERS = 100


def run_tests(context: typer.Context, folder: Folder = CURRENT_FOLDER) -> None:
    """Run a folder's golden tests in a sandbox here.

    Exit code 8 when one fails. A capability that it calls is the one in the registry of this
    process, else the folder of that name beside it.
    """
    import orjson

    shell = get_shell(context)
    package = read_package(folder)
    manifest = package.manifest
    with locate_errors(folder):
        results = test_package(shell, package, folder)
    failed = sum(bool(result.problem) for result in results)
    passed = len(results) - failed
    if shell.printer.json:
        rows = [
            {"number": result.number, "ok": not result.problem, "problem": result.problem}
            for result in results
        ]
        shell.printer.document(
            {"capability": manifest.name, "passed": passed, "failed": failed, "tests": rows}
        )
    else:
        for result, test in zip(results, manifest.tests, strict=True):
            if result.problem:
                shell.printer.line(f"FAIL {result.number}: {result.problem}")
            else:
                given = one_line(orjson.dumps(test.input).decode(), INPUT_CHARACTERS)
                shell.printer.line(f"ok   {result.number}: {given}")
        shell.printer.note(f"{passed} passed, {failed} failed" if results else "there are no tests")
    if failed:
        raise typer.Exit(TESTS_FAILED)


def test_package(shell: Shell, package: Package, folder: Path) -> list[GoldenTestResult]:
    """Compile a package, run its tests as a deploy would, and return the results. The capabilities
    that a remote registry has are unknown here.
    """
    with compile_package(shell, package) as (sandbox, program):
        bench = open_bench(shell.read_settings(), sandbox, package, folder)
        return test_program(bench, shell, package, program)


@contextmanager
def compile_package(shell: Shell, package: Package) -> Iterator[tuple[Sandbox, Program]]:
    """Compile a package and yield a sandbox of this process with the program."""
    from sigil.compile.compiler import build
    from sigil.sandbox.program import Program

    warn_of_slow_compile(shell, package.manifest.lang, package.code)
    with shell.open_sandbox() as sandbox:
        with shell.printer.progress(f"compiling {package.manifest.name}"):
            built = build(package, sandbox)
        yield sandbox, Program(built.digest, built.kind, lambda: built.wasm)


def open_bench(
    settings: Settings, sandbox: Sandbox, package: Package, folder: Path
) -> GoldenTestBench:
    """Return the bench on which a folder's tests run: in `sandbox`, with the capabilities of this
    process's registry or beside the folder.
    """
    from sigil.cli.folder_services import open_folder_services
    from sigil.deploy.golden_tests import GoldenTestBench

    services = open_folder_services(settings, sandbox, folder, package.manifest)
    return GoldenTestBench(sandbox, settings.agent, services)


def test_program(
    bench: GoldenTestBench, shell: Shell, package: Package, program: Program
) -> list[GoldenTestResult]:
    """Run the tests of a compiled package as a deploy would, and return the results."""
    from sigil.deploy import golden_tests
    from sigil.run import dependencies
    from sigil.run.host_calls.context import Runnable

    manifest = package.manifest
    if bench.others:
        part = Runnable(bench.namespace, manifest, package.digest, program)
        dependencies.require_dependencies(part, bench.others, later=shell.is_remote())
    golden_tests.require_loadable(bench.sandbox, manifest, program)
    with shell.printer.progress(f"testing {manifest.name}"):
        return golden_tests.run_tests(bench, manifest, program)
