"""The standard library in the real sandbox, once for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import orjson
import pytest

import sigil
from sigil.compile.compiler import build
from sigil.deploy.golden_tests import GoldenTestBench, GoldenTestResult, run_as_test, run_tests
from sigil.deploy.library import read_packages, update_library
from sigil.errors import SigilError
from sigil.manifest.model import Manifest
from sigil.manifest.package import Package
from sigil.protocol import LIBRARY, Caller, Json
from sigil.registry import LocalRegistry
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Program
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from tests.machine import within

FOLDER = Path(sigil.__file__).parents[1] / "capabilities"


class Library:
    """Every capability of the folder, ready to be called."""

    def __init__(self, sandbox: Sandbox, members: Mapping[str, tuple[Manifest, Program]]) -> None:
        self.sandbox = sandbox
        self.members = members

    def __call__(self, name: str, **arguments: Json) -> Json:
        """Return the capability's answer; `SigilError` when it fails.

        The time that it may take is meant for an idle machine.
        """
        milliseconds = round(within(self.members[name][0].limits.timeout_ms))
        return self._run(name, arguments, milliseconds)

    def is_stopped(self, name: str, **arguments: Json) -> bool:
        """Return whether the capability runs until its time is over: a tenth of a second, in which
        it has answered when it ends at all.
        """
        try:
            self._run(name, arguments, 100)
        except SigilError as problem:
            return problem.code == "ETIMEDOUT"
        return False

    def _run(self, name: str, arguments: Mapping[str, Json], milliseconds: int) -> Json:
        manifest, program = self.members[name]
        limits = manifest.limits.model_copy(update={"timeout_ms": milliseconds})
        manifest = manifest.model_copy(update={"limits": limits})
        return orjson.loads(
            run_as_test(GoldenTestBench(self.sandbox), manifest, program, {**arguments}).output
        )

    def code_of(self, name: str, **arguments: Json) -> str:
        """The code of the failure; empty when the capability answers."""
        try:
            self(name, **arguments)
        except SigilError as problem:
            return problem.code
        return ""

    def verdicts_of(self, package: Package) -> list[GoldenTestResult]:
        return run_tests(
            GoldenTestBench(self.sandbox), package.manifest, program_of(package, self.sandbox)
        )


@pytest.fixture(scope="session")
def library(compiled: Path) -> Iterator[Library]:
    sandbox = Sandbox(
        engine=Path(sigil.__file__).parent / "sandbox" / "engine" / "engine.wasm",
        cache=compiled,
        children=1,
    )
    yield Library(
        sandbox,
        {
            package.manifest.name: (package.manifest, program_of(package, sandbox))
            for package in read_packages(FOLDER)
        },
    )
    sandbox.close()


@pytest.fixture(scope="session")
def registry(library: Library) -> LocalRegistry:
    """A registry with the standard library, for tests that only search it."""
    made = LocalRegistry(MemoryKV(), MemoryArtifacts(), library.sandbox)
    update_library(made, FOLDER, Caller(LIBRARY, author="library"), lambda line: None)
    return made


def program_of(package: Package, sandbox: Sandbox) -> Program:
    built = build(package, sandbox)
    return Program(built.digest, built.kind, lambda: built.wasm)
