"""One round of `dev`: what was found out, and how it is told."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sigil.cli.shell import Shell
from sigil.errors import SigilError, one_line

if TYPE_CHECKING:
    from sigil.deploy.golden_tests import TestBench, TestResult
    from sigil.manifest.model import Manifest
    from sigil.protocol import Deployed, Json
    from sigil.sandbox.program import Outcome, Program

LINES_MOST = 40


@dataclass(frozen=True, slots=True)
class Round:
    """`problem`: why there was no test at all. `differences`: by the number of a failed test, what
    it gave against what it should.
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


def difference(bench: TestBench, manifest: Manifest, program: Program, number: int) -> list[str]:
    """Of a failed test that expects an output: what it should give (`-`) and what it gives (`+`),
    line by line.
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
            _lines(test.output), _lines(output), "expected", "given", lineterm="", n=2
        )
    ]
    return [line for line in lines[2:] if not line.startswith("@@")][:LINES_MOST]


def show(shell: Shell, done: Round) -> None:
    """Tell it: lines for people, or one document."""
    if shell.printer.json:
        shell.printer.document(_row(done))
        return
    if done.problem:
        shell.printer.error(done.problem)
    for line in _told(done):
        shell.printer.line(line)
    if not done.problem:
        shell.printer.note(
            f"{len(done.tests) - done.failed} passed, {done.failed} failed,"
            f" {done.seconds * 1000:,.0f} ms"
        )
    if done.deployed:
        shell.printer.note(f"deployed {done.deployed.offer.name}@{done.deployed.offer.version}")


def _told(done: Round) -> Iterator[str]:
    for test in done.tests:
        yield f"FAIL {test.number}: {test.problem}" if test.problem else f"ok   {test.number}"
        yield from done.differences.get(test.number, ())
    if isinstance(done.ran, SigilError):
        yield f"run: {done.ran.message} ({done.ran.code})"
    elif done.ran:
        yield from (f"log: {line}" for line in done.ran.logs)
        yield f"run: {one_line(done.ran.output.decode('utf-8', 'replace'), 2_000)}"


def _row(done: Round) -> dict[str, Json]:
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


def _lines(value: Json) -> list[str]:
    import orjson

    if isinstance(value, str):
        return value.split("\n")
    return (
        orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode().split("\n")
    )
