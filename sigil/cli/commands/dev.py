"""`sigil dev`: build and test a folder again whenever something in it changes, until Ctrl-C."""

from __future__ import annotations

import difflib
import os
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.commands.test import open_bench, test_program
from sigil.cli.exit_codes import INTERRUPTED
from sigil.cli.shell import OpenRegistry, Shell, get_shell
from sigil.cli.source_folder import (
    CURRENT_FOLDER,
    Folder,
    deploy_package,
    locate_errors,
    read_package,
    warn_of_slow_compile,
)
from sigil.errors import SigilError, UsageError, one_line

if TYPE_CHECKING:
    from sigil.deploy.golden_tests import GoldenTestBench, GoldenTestResult
    from sigil.manifest.model import Manifest
    from sigil.manifest.package import Package
    from sigil.protocol import Deployed, Json
    from sigil.sandbox.pool import Sandbox
    from sigil.sandbox.program import Outcome, Program

POLL_SECONDS = 0.05
SETTLED_SECONDS = 0.02
FILES_MOST = 2_000
DEPTH_MOST = 3
DIFFERENCE_LINES_MOST = 40
OUTPUT_CHARACTERS = 2_000
_IGNORED_FOLDERS = frozenset({"node_modules", "target", "__pycache__", "build", "dist"})
_CLEAR_TERMINAL = "\x1b[2J\x1b[3J\x1b[H"

Snapshot = Mapping[str, tuple[int, int, int]]
"""By path: the time of the last change in nanoseconds, the size, and the file's number."""


@dataclass(frozen=True, slots=True)
class DevContext:
    """Everything that each round needs. `registry`: a round without failures is deployed there;
    `run_input`: the input of the run after the tests.
    """

    shell: Shell
    folder: Path
    sandbox: Sandbox
    registry: OpenRegistry | None = None
    run_input: dict[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class DevRound:
    """The result of one round. `problem`: why there was no test at all. `differences`: by the
    number of a failed test, its output against the expected one.
    """

    name: str
    digest: str = ""
    tests: tuple[GoldenTestResult, ...] = ()
    differences: Mapping[int, list[str]] = field(default_factory=dict)
    run: Outcome | SigilError | None = None
    deployed: Deployed | None = None
    problem: SigilError | None = None
    seconds: float = 0.0

    @property
    def failed(self) -> int:
        """Return how many tests failed."""
        return sum(bool(test.problem) for test in self.tests)


def dev(
    context: typer.Context,
    folder: Folder = CURRENT_FOLDER,
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="JSON|@FILE",
            help="Run this input too in each round, as a test would.",
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

    Ctrl-C ends it. The capabilities that it calls are found as in `sigil test`; the folders of
    those beside it are watched too. With --json, each round is one line.
    """
    from sigil.cli.values import read_arguments

    shell = get_shell(context)
    if not folder.is_dir():
        raise UsageError(
            "ENOENT",
            f"there is no folder {folder}",
            suggestion="`sigil init NAME` makes one that works",
        )
    run_input = read_arguments(run, ()) if run is not None else None
    with ExitStack() as stack:
        stack.callback(shell.printer.note, "stopped")
        registry = stack.enter_context(shell.open_registry()) if deploy else None
        sandbox = stack.enter_context(shell.open_sandbox())
        clear = clear and sys.stdout.isatty() and not shell.printer.json
        try:
            _repeat_rounds(DevContext(shell, folder, sandbox, registry, run_input), clear=clear)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None


def _repeat_rounds(setup: DevContext, *, clear: bool) -> None:
    """Run rounds without end. A change of files that leaves their contents as they were starts
    none.
    """
    from sigil.cli.templates import find_stale_types
    from sigil.compile import input_types
    from sigil.storage.files import write_whole

    folders = [setup.folder]
    last_round: tuple[str, Snapshot] = ("", {})
    while True:
        seen = wait_until_settled(folders)
        package: Package | None = None
        problem: SigilError | None = None
        try:
            package = read_package(setup.folder)
            contents = package.digest
            types = find_stale_types(setup.folder, package.manifest)
            if types:
                write_whole(setup.folder / input_types.FILE, types)
        except SigilError as unreadable:
            problem = unreadable
            contents = str(unreadable)
        folders = [setup.folder, *_find_called_folders(setup.folder, package)]
        # scanned before the round, so that a change during it starts the next one
        seen = {**scan_files(folders[1:]), **seen}
        outside = {
            path: facts
            for path, facts in seen.items()
            if not Path(path).is_relative_to(setup.folder)
        }
        if (contents, outside) != last_round:
            if clear:
                sys.stdout.write(_CLEAR_TERMINAL)
                sys.stdout.flush()  # what follows may go to the other stream
            result = _run_round(setup, package) if package else DevRound("", problem=problem)
            print_round(setup.shell, result)
            setup.shell.printer.note(f"watching {setup.folder}; Ctrl-C ends it")
        last_round = (contents, outside)
        wait_for_change(folders, seen)


def _find_called_folders(folder: Path, package: Package | None) -> list[Path]:
    """Return the folders, beside this one, of the capabilities that it calls."""
    from sigil.manifest import permissions

    if package is None:
        return []
    parent = folder.resolve().parent
    called = [parent / name for name in permissions.declared_calls(package.manifest)]
    return [path for path in called if path.is_dir()]


def _run_round(setup: DevContext, package: Package) -> DevRound:
    """Build a package and run its tests, then the input of `--run`; deploy it when all passed."""
    from sigil.compile.compiler import build
    from sigil.deploy import golden_tests
    from sigil.manifest.package import flat_spec
    from sigil.sandbox.program import Program

    shell = setup.shell
    manifest = package.manifest
    result = DevRound(manifest.name, package.digest)
    start = time.perf_counter()
    try:
        warn_of_slow_compile(shell, manifest.lang, package.code)
        with locate_errors(setup.folder):
            built = build(package, setup.sandbox)
            program = Program(built.digest, built.kind, lambda: built.wasm)
            bench = open_bench(shell.read_settings(), setup.sandbox, package, setup.folder)
            tests = tuple(test_program(bench, shell, package, program))
        seconds = time.perf_counter() - start
        failed = [test.number for test in tests if test.problem]
        differences = {number: diff_output(bench, manifest, program, number) for number in failed}
        run: Outcome | SigilError | None = None
        if setup.run_input is not None:
            try:
                run = golden_tests.run_as_test(bench, manifest, program, setup.run_input)
            except SigilError as problem:
                run = problem
        deployed = None
        opened = setup.registry
        if opened and not failed:
            spec = flat_spec(package)
            deployed = deploy_package(
                shell, lambda: opened.registry.deploy(spec, opened.caller), spec, setup.folder
            )
    except SigilError as problem:
        return replace(result, problem=problem, seconds=time.perf_counter() - start)
    return replace(
        result,
        tests=tests,
        differences=differences,
        run=run,
        deployed=deployed,
        seconds=seconds,
    )


def diff_output(
    bench: GoldenTestBench, manifest: Manifest, program: Program, number: int
) -> list[str]:
    """Return, for a failed test that expects an output, the lines it should give (`-`) and gives
    (`+`).
    """
    import orjson

    from sigil.deploy import golden_tests
    from sigil.deploy.golden_tests import FixtureWeb

    test = manifest.tests[number - 1]
    if test.error is not None:
        return []
    web = FixtureWeb(test.http, bool(bench.others and bench.others.open_web().loopback))
    try:
        outcome = golden_tests.run_as_test(bench, manifest, program, test.input, web)
    except SigilError:
        return []
    expected = _output_lines(test.output)
    given = _output_lines(orjson.loads(outcome.output))
    lines = [*difflib.unified_diff(expected, given, "expected", "given", lineterm="", n=2)]
    return [line for line in lines[2:] if not line.startswith("@@")][:DIFFERENCE_LINES_MOST]


def _output_lines(value: Json) -> list[str]:
    import orjson

    if isinstance(value, str):
        return value.split("\n")
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()
    return text.split("\n")


def print_round(shell: Shell, result: DevRound) -> None:
    """Print a round: lines for people, or one document."""
    printer = shell.printer
    if printer.json:
        printer.document(_make_round_row(result))
        return
    if result.problem:
        printer.error(result.problem)
    for test in result.tests:
        printer.line(
            f"FAIL {test.number}: {test.problem}" if test.problem else f"ok   {test.number}"
        )
        for line in result.differences.get(test.number, ()):
            printer.line(line)
    if isinstance(result.run, SigilError):
        printer.line(f"run: {result.run.message} ({result.run.code})")
    elif result.run:
        for log in result.run.logs:
            printer.line(f"log: {log}")
        output = result.run.output.decode("utf-8", "replace")
        printer.line(f"run: {one_line(output, OUTPUT_CHARACTERS)}")
    if not result.problem:
        printer.note(
            f"{len(result.tests) - result.failed} passed, {result.failed} failed,"
            f" {result.seconds * 1000:,.0f} ms"
        )
    if result.deployed:
        printer.note(f"deployed {result.deployed.offer.name}@{result.deployed.offer.version}")


def _make_round_row(result: DevRound) -> dict[str, Json]:
    import orjson

    row: dict[str, Json] = {
        "capability": result.name,
        "digest": result.digest,
        "ms": round(result.seconds * 1000, 1),
        "tests": [
            {"number": test.number, "ok": not test.problem, "problem": test.problem}
            for test in result.tests
        ],
    }
    if result.problem:
        row["error"] = result.problem.as_dict()
    if result.deployed:
        offer = result.deployed.offer
        row["deployed"] = {"version": offer.version, "digest": offer.digest}
    if isinstance(result.run, SigilError):
        row["run"] = {"error": result.run.as_dict()}
    elif result.run:
        row["run"] = {"output": orjson.loads(result.run.output), "logs": list(result.run.logs)}
    row["passed"] = len(result.tests) - result.failed
    row["failed"] = result.failed
    return row


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
        time.sleep(POLL_SECONDS)


def scan_files(folders: Iterable[Path]) -> Snapshot:
    """Return the files in `folders` now, at most 2,000 and four levels deep; a file that vanishes
    meanwhile is left out.
    """
    found: dict[str, tuple[int, int, int]] = {}
    for folder in folders:
        _scan_folder(str(folder), DEPTH_MOST, found)
    return found


def _scan_folder(folder: str, depth: int, found: dict[str, tuple[int, int, int]]) -> None:
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if len(found) >= FILES_MOST or entry.name.startswith(".") or entry.name in _IGNORED_FOLDERS:
            continue
        try:
            if entry.is_dir(follow_symlinks=False):
                if depth:
                    _scan_folder(entry.path, depth - 1, found)
                continue
            facts = entry.stat()
        except OSError:
            continue
        found[entry.path] = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
