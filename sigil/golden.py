"""Golden tests: what a capability's author promised, run before anybody else may call it."""

from __future__ import annotations

import time
from dataclasses import dataclass

import orjson

from sigil.errors import BackendError, Refused, SigilError, ToolError, UsageError, one_line
from sigil.execution import Execution
from sigil.manifest import Limits as Bounds
from sigil.manifest import Manifest, Test
from sigil.protocol import Caller, Json
from sigil.rehearsal import Fixtures, Rehearsal
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Grants, Limits, Outcome, Program
from sigil.services.part import Facilities, Part
from sigil.strict import dumps

LOADING_MS = 500
SHOWN = 3
NOTHING = Fixtures(())
BUDGET_SECONDS = 10.0
"""For all tests of a deploy together: a deploy must not outlast the turn that asks for it, nor keep others' calls waiting."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One test's outcome; `problem` is empty when it passed."""

    number: int
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where tests run: a sandbox, the namespace that the tested one will stand in, and the capabilities that it may call."""

    sandbox: Sandbox
    namespace: str = "tests"
    others: Facilities | None = None


def rehearsed(bench: Bench, manifest: Manifest, program: Program, given: dict[str, Json], fixtures: Fixtures = NOTHING) -> Outcome:
    """One call as a test makes it: everything declared is granted, the web answers `fixtures`, the store is empty."""
    part = Part(bench.namespace, manifest, "", program)
    return Execution(bench.sandbox, Rehearsal(fixtures, bench.others)).run(part, given, Caller(bench.namespace.partition("~")[0]))


def verdicts(bench: Bench, manifest: Manifest, program: Program) -> list[Verdict]:
    """Run every test of the manifest, in order."""
    end = time.monotonic() + BUDGET_SECONDS
    return [Verdict(number, _within(end, bench, manifest, program, test)) for number, test in enumerate(manifest.tests, 1)]


def demand(bench: Bench, manifest: Manifest, program: Program) -> int:
    """How many tests passed; `Refused` with ETESTS that says which failed and why. Without tests the program has to load at least."""
    if not manifest.tests:
        _must_load(bench.sandbox, manifest, program)
        return 0
    failed = [verdict for verdict in verdicts(bench, manifest, program) if verdict.problem]
    if failed:
        shown = "; ".join(f"test {verdict.number}: {verdict.problem}" for verdict in failed[:SHOWN])
        more = f"; and {len(failed) - SHOWN} more" if len(failed) > SHOWN else ""
        message = f"{len(failed)} of {len(manifest.tests)} tests failed: {shown}{more}"
        raise Refused("ETESTS", message, source=manifest.name, suggestion="mend the code or the test and deploy again")
    return len(manifest.tests)


def _within(end: float, bench: Bench, manifest: Manifest, program: Program, test: Test) -> str:
    left = int((end - time.monotonic()) * 1000)
    if left <= 0:
        return f"not run: all tests together may take {BUDGET_SECONDS:.0f} s"
    short = manifest.limits.timeout_ms > left
    limited = manifest.model_copy(update={"limits": Bounds(timeout_ms=left)}) if short else manifest
    return _problem(bench, limited, program, test)


def _problem(bench: Bench, manifest: Manifest, program: Program, test: Test) -> str:
    try:
        output = orjson.loads(rehearsed(bench, manifest, program, test.input, Fixtures(test.http)).output)
    except BackendError:
        raise
    except SigilError as problem:
        return "" if problem.code == test.error else _instead(test, f"{problem.code} ({problem.message})")
    if test.error is None and _same(output, test.output):
        return ""
    return _instead(test, _short(output))


def _instead(test: Test, got: str) -> str:
    expected = test.error if test.error is not None else _short(test.output)
    return one_line(f"{_short(test.input)} gave {got}, expected {expected}", 240)


def _short(value: Json) -> str:
    try:
        return one_line(dumps(value).decode(), 80)
    except UsageError:
        return "something nested too deep to show"


def _same(left: Json, right: Json) -> bool:
    """Equal as JSON: 1 and 1.0 are, 1 and true are not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)


def _must_load(sandbox: Sandbox, manifest: Manifest, program: Program) -> None:
    try:
        sandbox.run(program, b"{}", Grants(), Limits(timeout_ms=LOADING_MS))
    except ToolError as problem:
        if problem.code == "ESYNTAX":
            raise Refused("EMODULE", problem.message, source=manifest.name, suggestion="mend the code and deploy again") from None
