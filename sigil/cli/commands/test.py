"""`sigil test`: run a folder's golden tests in a sandbox here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sigil.cli.exit_codes import TESTS_FAILED
from sigil.cli.shell import Shell, shell_of
from sigil.cli.source_folder import HERE, Folder, locate_errors, read_package, warn_of_slow_compile

if TYPE_CHECKING:
    from sigil.deploy.golden_tests import TestBench, TestResult
    from sigil.manifest.package import Package
    from sigil.protocol import Json
    from sigil.sandbox.pool import Sandbox
    from sigil.sandbox.program import Program
    from sigil.settings import Settings


def run_tests(context: typer.Context, folder: Folder = HERE) -> None:
    """Run a folder's golden tests in a sandbox here.

    Exit code 8 when one fails. What it calls is what stands in the registry of this process, else
    the folder of that name beside it.
    """
    shell, package = shell_of(context), read_package(folder)
    with locate_errors(folder):
        verdicts = test_package(shell, package, folder)
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
                else f"ok   {verdict.number}: {_shorten(given.input)}"
            )
        shell.printer.note(
            f"{len(verdicts) - failed} passed, {failed} failed"
            if verdicts
            else "there are no tests"
        )
    if failed:
        raise typer.Exit(TESTS_FAILED)


def test_package(shell: Shell, package: Package, folder: Path) -> list[TestResult]:
    """What a deploy would find. Of a registry elsewhere nobody here knows what stands there."""
    with compile_package(shell, package) as (sandbox, program):
        return test_program(
            open_bench(shell.settings(), sandbox, package, folder), shell, package, program
        )


def open_bench(settings: Settings, sandbox: Sandbox, package: Package, folder: Path) -> TestBench:
    """Where the tests of a folder run: in `sandbox`, with what stands in this process's registry or
    beside the folder.
    """
    from sigil.cli.folder_registry import open_rehearsal
    from sigil.deploy.golden_tests import TestBench

    return TestBench(
        sandbox, settings.agent, open_rehearsal(settings, sandbox, folder, package.manifest)
    )


def test_program(
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
def compile_package(shell: Shell, package: Package) -> Iterator[tuple[Sandbox, Program]]:
    """A sandbox here, and what a package compiles to in it."""
    from sigil.compile.compiler import build
    from sigil.sandbox.program import Program

    warn_of_slow_compile(shell, package.manifest.lang, package.code)
    with shell.sandbox() as sandbox:
        with shell.printer.working(f"compiling {package.manifest.name}"):
            built = build(package, sandbox)
        yield sandbox, Program(built.digest, built.kind, lambda: built.wasm)


def _shorten(value: Json) -> str:
    import orjson

    text = orjson.dumps(value).decode()
    return text if len(text) <= 100 else f"{text[:99]}…"
