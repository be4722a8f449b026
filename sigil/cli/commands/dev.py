"""`sigil dev`: build and test a folder again whenever something in it changes, until Ctrl-C."""

from __future__ import annotations

import difflib
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.commands.test import open_bench, test_program
from sigil.cli.exit_codes import INTERRUPTED
from sigil.cli.shell import OpenRegistry, Shell, shell_of
from sigil.cli.source_folder import (
    HERE,
    Folder,
    deploy_package,
    locate_errors,
    read_package,
    warn_of_slow_compile,
)
from sigil.errors import SigilError, UsageError, one_line

if TYPE_CHECKING:
    from sigil.deploy.golden_tests import TestBench, TestResult
    from sigil.manifest.model import Manifest
    from sigil.manifest.package import Package
    from sigil.protocol import Deployed, Json
    from sigil.sandbox.pool import Sandbox
    from sigil.sandbox.program import Outcome, Program

_CLEARED = "\x1b[2J\x1b[3J\x1b[H"


@dataclass(frozen=True, slots=True)
class DevContext:
    """Everything that each round needs. `registry`: a round without failures is deployed there;
    `given`: the input of the run after the tests.
    """

    shell: Shell
    folder: Path
    sandbox: Sandbox
    registry: OpenRegistry | None = None
    given: dict[str, Json] | None = None


def dev(
    context: typer.Context,
    folder: Folder = HERE,
    run: Annotated[
        str | None,
        typer.Option(
            "--run", metavar="JSON|@FILE", help="Run this input too, each time, as a test would."
        ),
    ] = None,
    deploy: Annotated[
        bool, typer.Option("--deploy", help="Deploy it whenever all its tests pass.")
    ] = False,
    clear: Annotated[
        bool, typer.Option("--clear", help="Clear the terminal before each round.")
    ] = False,
) -> None:
    """Build and test a folder again whenever it changes.

    Ctrl-C ends it. What it calls is taken from where `sigil test` takes it; the folders of such
    capabilities beside it are watched too. With --json, each round is one line.
    """
    from sigil.cli.values import read_arguments

    shell = shell_of(context)
    if not folder.is_dir():
        raise UsageError(
            "ENOENT",
            f"there is no folder {folder}",
            suggestion="`sigil init NAME` makes one that works",
        )
    given = read_arguments(run, ()) if run is not None else None
    with ExitStack() as stack:
        stack.callback(shell.printer.note, "stopped")
        registry = stack.enter_context(shell.registry()) if deploy else None
        stand = DevContext(shell, folder, stack.enter_context(shell.sandbox()), registry, given)
        try:
            _run_rounds(stand, clear=clear and sys.stdout.isatty() and not shell.printer.json)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None


def _run_rounds(stand: DevContext, *, clear: bool) -> None:
    """Run rounds without end. Files that only moved, and say the same as before, start none."""
    places: list[Path] = [stand.folder]
    done: tuple[str, Snapshot] = ("", NO_FILES)
    while True:
        seen = wait_until_settled(places)
        package, problem = _try_to_read(stand.folder)
        places = [stand.folder, *_called_folders(stand.folder, package)]
        seen = {
            **scan_files(places[1:]),
            **seen,
        }  # before the round: what changes while it runs is still to be noticed
        now = (package.digest if package else str(problem), _facts_outside(seen, stand.folder))
        if now != done:
            if clear:
                sys.stdout.write(_CLEARED)
                sys.stdout.flush()  # what follows may go to the other stream
            show_round(stand.shell, _run_round(stand, package, problem))
            stand.shell.printer.note(f"watching {stand.folder}; Ctrl-C ends it")
        done = now
        wait_for_change(places, seen)


def _facts_outside(seen: Snapshot, folder: Path) -> Snapshot:
    return {path: facts for path, facts in seen.items() if not Path(path).is_relative_to(folder)}


def _try_to_read(folder: Path) -> tuple[Package | None, SigilError | None]:
    try:
        return read_package(folder), None
    except SigilError as problem:
        return None, problem


def _run_round(stand: DevContext, package: Package | None, problem: SigilError | None) -> DevRound:
    """Run one build with its tests, and what follows when they pass."""
    if package is None:
        return DevRound("", problem=problem)
    begin = time.perf_counter()
    try:
        return _build_and_test(stand, package, begin)
    except SigilError as failure:
        return DevRound(
            package.manifest.name,
            digest=package.digest,
            problem=failure,
            seconds=time.perf_counter() - begin,
        )


def _build_and_test(stand: DevContext, package: Package, begin: float) -> DevRound:
    from sigil.compile.compiler import build
    from sigil.sandbox.program import Program

    shell, manifest = stand.shell, package.manifest
    warn_of_slow_compile(shell, manifest.lang, package.code)
    with locate_errors(stand.folder):
        built = build(package, stand.sandbox)
        program = Program(built.digest, built.kind, lambda: built.wasm)
        bench = open_bench(shell.settings(), stand.sandbox, package, stand.folder)
        tests = tuple(test_program(bench, shell, package, program))
    seconds = time.perf_counter() - begin
    failed = [test.number for test in tests if test.problem]
    differences = {number: diff_output(bench, manifest, program, number) for number in failed}
    ran = _run_input(stand, bench, manifest, program)
    done = None if failed else _deploy_round(stand, package)
    return DevRound(manifest.name, package.digest, tests, differences, ran, done, seconds=seconds)


def _run_input(
    stand: DevContext, bench: TestBench, manifest: Manifest, program: Program
) -> Outcome | SigilError | None:
    from sigil.deploy import golden_tests

    try:
        return (
            golden_tests.run_as_test(bench, manifest, program, stand.given)
            if stand.given is not None
            else None
        )
    except SigilError as problem:
        return problem


def _deploy_round(stand: DevContext, package: Package) -> Deployed | None:
    from sigil.manifest.package import flat_spec

    opened, spec = stand.registry, flat_spec(package)
    return (
        deploy_package(
            stand.shell, lambda: opened.registry.deploy(spec, opened.caller), spec, stand.folder
        )
        if opened
        else None
    )


def _called_folders(folder: Path, package: Package | None) -> list[Path]:
    """Return the folders, beside this one, of the capabilities that it calls."""
    from sigil.manifest import permissions

    parent = folder.resolve().parent
    return [
        parent / name
        for name in (permissions.declared_calls(package.manifest) if package else ())
        if (parent / name).is_dir()
    ]


LINES_MOST = 40


@dataclass(frozen=True, slots=True)
class DevRound:
    """The result of one round. `problem`: why there was no test at all. `differences`: by the
    number of a failed test, its output against the expected one.
    """

    name: str
    digest: str = ""
    tests: tuple[TestResult, ...] = ()
    differences: Mapping[int, list[str]] = field(default_factory=dict)
    ran: Outcome | SigilError | None = None
    deployed: Deployed | None = None
    problem: SigilError | None = None
    seconds: float = 0.0

    @property
    def failed(self) -> int:
        return sum(1 for test in self.tests if test.problem)


def diff_output(bench: TestBench, manifest: Manifest, program: Program, number: int) -> list[str]:
    """Return, for a failed test that expects an output, the lines it should give (`-`) and gives
    (`+`).
    """
    import orjson

    from sigil.deploy import golden_tests
    from sigil.deploy.golden_tests import FixtureWeb

    test = manifest.tests[number - 1]
    web = FixtureWeb(test.http, bool(bench.others and bench.others.web().loopback))
    try:
        output = orjson.loads(
            golden_tests.run_as_test(bench, manifest, program, test.input, web).output
        )
    except SigilError:
        return []
    if test.error is not None:
        return []
    lines = [
        *difflib.unified_diff(
            _output_lines(test.output), _output_lines(output), "expected", "given", lineterm="", n=2
        )
    ]
    return [line for line in lines[2:] if not line.startswith("@@")][:LINES_MOST]


def show_round(shell: Shell, done: DevRound) -> None:
    """Print a round: lines for people, or one document."""
    if shell.printer.json:
        shell.printer.document(_round_row(done))
        return
    if done.problem:
        shell.printer.error(done.problem)
    for line in _round_lines(done):
        shell.printer.line(line)
    if not done.problem:
        shell.printer.note(
            f"{len(done.tests) - done.failed} passed, {done.failed} failed,"
            f" {done.seconds * 1000:,.0f} ms"
        )
    if done.deployed:
        shell.printer.note(f"deployed {done.deployed.offer.name}@{done.deployed.offer.version}")


def _round_lines(done: DevRound) -> Iterator[str]:
    for test in done.tests:
        yield f"FAIL {test.number}: {test.problem}" if test.problem else f"ok   {test.number}"
        yield from done.differences.get(test.number, ())
    if isinstance(done.ran, SigilError):
        yield f"run: {done.ran.message} ({done.ran.code})"
    elif done.ran:
        yield from (f"log: {line}" for line in done.ran.logs)
        yield f"run: {one_line(done.ran.output.decode('utf-8', 'replace'), 2_000)}"


def _round_row(done: DevRound) -> dict[str, Json]:
    import orjson

    tests = [
        {"number": test.number, "ok": not test.problem, "problem": test.problem}
        for test in done.tests
    ]
    row: dict[str, Json] = {
        "capability": done.name,
        "digest": done.digest,
        "ms": round(done.seconds * 1000, 1),
        "tests": tests,
    }
    if done.problem:
        row["error"] = done.problem.as_dict()
    if done.deployed:
        row["deployed"] = {
            "version": done.deployed.offer.version,
            "digest": done.deployed.offer.digest,
        }
    if isinstance(done.ran, SigilError):
        row["run"] = {"error": done.ran.as_dict()}
    elif done.ran:
        row["run"] = {"output": orjson.loads(done.ran.output), "logs": list(done.ran.logs)}
    return {**row, "passed": len(done.tests) - done.failed, "failed": done.failed}


def _output_lines(value: Json) -> list[str]:
    import orjson

    if isinstance(value, str):
        return value.split("\n")
    return (
        orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode().split("\n")
    )


PAUSE_SECONDS = 0.05
SETTLED_SECONDS = 0.02
FILES_MOST = 2_000
DEEPEST = 3
_PASSED_OVER = frozenset({"node_modules", "target", "__pycache__", "build", "dist"})

Snapshot = Mapping[str, tuple[int, int, int]]
"""By path: the time of the last change in nanoseconds, the size, and the file's number."""


NO_FILES: Snapshot = {}


def scan_files(folders: Iterable[Path]) -> Snapshot:
    """Return the files in `folders` now; a file that vanishes meanwhile is left out."""
    found: dict[str, tuple[int, int, int]] = {}
    for folder in folders:
        _scan_folder(str(folder), DEEPEST, found)
    return found


def wait_until_settled(folders: Iterable[Path]) -> Snapshot:
    """Wait until two scans agree, for a second at most, and return the last one."""
    places = list(folders)
    before = scan_files(places)
    for _ in range(int(1 / SETTLED_SECONDS)):
        time.sleep(SETTLED_SECONDS)
        now = scan_files(places)
        if now == before:
            break
        before = now
    return before


def wait_for_change(folders: Iterable[Path], seen: Snapshot) -> None:
    """Return once the files are not those of `seen`."""
    places = list(folders)
    while scan_files(places) == seen:
        time.sleep(PAUSE_SECONDS)


def _scan_folder(folder: str, deep: int, found: dict[str, tuple[int, int, int]]) -> None:
    try:
        with os.scandir(folder) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in inside:
        if len(found) >= FILES_MOST or entry.name.startswith(".") or entry.name in _PASSED_OVER:
            continue
        try:
            if entry.is_dir(follow_symlinks=False):
                if deep:
                    _scan_folder(entry.path, deep - 1, found)
                continue
            facts = entry.stat()
        except OSError:
            continue
        found[entry.path] = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
