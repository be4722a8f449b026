"""`dev`: builds and tests a folder again whenever something in it changes, until Ctrl-C."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.commands import file_watcher
from sigil.cli.commands.dev_round import Round, difference, show
from sigil.cli.commands.init import HERE, Folder, tested_in, verdicts_in
from sigil.cli.exit_codes import INTERRUPTED
from sigil.cli.shell import Opened, Shell, shell_of
from sigil.cli.source_folder import deployed, placed, read, warn
from sigil.errors import SigilError, UsageError

if TYPE_CHECKING:
    from sigil.deploy.golden_tests import TestBench
    from sigil.manifest.model import Manifest
    from sigil.manifest.package import Package
    from sigil.protocol import Deployed, Json
    from sigil.sandbox.pool import Sandbox
    from sigil.sandbox.program import Outcome, Program

_CLEARED = "\x1b[2J\x1b[3J\x1b[H"


@dataclass(frozen=True, slots=True)
class Stand:
    """What every round stands on. `registry`: where a green one is deployed; `given`: the input of
    the run after the tests.
    """

    shell: Shell
    folder: Path
    sandbox: Sandbox
    registry: Opened | None = None
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
    from sigil.cli.values import arguments_of

    shell = shell_of(context)
    if not folder.is_dir():
        raise UsageError(
            "ENOENT",
            f"there is no folder {folder}",
            suggestion="`sigil init NAME` makes one that works",
        )
    given = arguments_of(run, ()) if run is not None else None
    with ExitStack() as stack:
        stack.callback(shell.printer.note, "stopped")
        registry = stack.enter_context(shell.registry()) if deploy else None
        stand = Stand(shell, folder, stack.enter_context(shell.sandbox()), registry, given)
        try:
            _watch(stand, clear=clear and sys.stdout.isatty() and not shell.printer.json)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None


def _watch(stand: Stand, *, clear: bool) -> None:
    """Rounds without end. What only moved, and says the same as before, is no reason for one."""
    places: list[Path] = [stand.folder]
    done: tuple[str, file_watcher.Look] = ("", file_watcher.NOTHING)
    while True:
        seen = file_watcher.settled(places)
        package, problem = _read(stand.folder)
        places = [stand.folder, *_beside(stand.folder, package)]
        seen = {
            **file_watcher.look(places[1:]),
            **seen,
        }  # before the round: what changes while it runs is still to be noticed
        now = (package.digest if package else str(problem), _elsewhere(seen, stand.folder))
        if now != done:
            if clear:
                sys.stdout.write(_CLEARED)
                sys.stdout.flush()  # what follows may go to the other stream
            show(stand.shell, _round(stand, package, problem))
            stand.shell.printer.note(f"watching {stand.folder}; Ctrl-C ends it")
        done = now
        file_watcher.wait(places, seen)


def _elsewhere(seen: file_watcher.Look, folder: Path) -> file_watcher.Look:
    return {path: facts for path, facts in seen.items() if not Path(path).is_relative_to(folder)}


def _read(folder: Path) -> tuple[Package | None, SigilError | None]:
    try:
        return read(folder), None
    except SigilError as problem:
        return None, problem


def _round(stand: Stand, package: Package | None, problem: SigilError | None) -> Round:
    """One build with its tests, and what follows when they pass."""
    if package is None:
        return Round("", problem=problem)
    begin = time.perf_counter()
    try:
        return _tried(stand, package, begin)
    except SigilError as failure:
        return Round(
            package.manifest.name,
            digest=package.digest,
            problem=failure,
            seconds=time.perf_counter() - begin,
        )


def _tried(stand: Stand, package: Package, begin: float) -> Round:
    from sigil.compile.compiler import build
    from sigil.sandbox.program import Program

    shell, manifest = stand.shell, package.manifest
    warn(shell, manifest.lang, package.code)
    with placed(stand.folder):
        built = build(package, stand.sandbox)
        program = Program(built.digest, built.kind, lambda: built.wasm)
        bench = tested_in(shell.settings(), stand.sandbox, package, stand.folder)
        tests = tuple(verdicts_in(bench, shell, package, program))
    seconds = time.perf_counter() - begin
    failed = [test.number for test in tests if test.problem]
    differences = {number: difference(bench, manifest, program, number) for number in failed}
    ran = _ran(stand, bench, manifest, program)
    done = None if failed else _deployed(stand, package)
    return Round(manifest.name, package.digest, tests, differences, ran, done, seconds=seconds)


def _ran(
    stand: Stand, bench: TestBench, manifest: Manifest, program: Program
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


def _deployed(stand: Stand, package: Package) -> Deployed | None:
    from sigil.manifest.package import flat_spec

    opened, spec = stand.registry, flat_spec(package)
    return (
        deployed(
            stand.shell, lambda: opened.registry.deploy(spec, opened.caller), spec, stand.folder
        )
        if opened
        else None
    )


def _beside(folder: Path, package: Package | None) -> list[Path]:
    """The folders, beside this one, of what the capability calls."""
    from sigil.manifest import permissions

    parent = folder.resolve().parent
    return [
        parent / name
        for name in (permissions.declared_calls(package.manifest) if package else ())
        if (parent / name).is_dir()
    ]
