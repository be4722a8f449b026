"""What keeps the suite quick and honest: its cost has a budget, each test asserts something, and a
limit of time has its reason beside it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.cpu_seconds import BUDGET, read_record
from tests.project.tree import ROOT

TESTS = ROOT / "tests"
ASSERTING = ("pytest.raises", "pytest.fail", "pytest.warns")
MEASURED = re.compile(r"\b(?:monotonic|perf_counter|process_time)\(\) - \w+ <|\btime\.sleep\(")
THOROUGH = re.compile(r"^pytestmark = .*pytest\.mark\.(?:thorough|ui)\b", re.MULTILINE)
REASON = re.compile(r"#\s*\S")

Function = ast.FunctionDef


@cache
def functions() -> Mapping[str, list[Function]]:
    """Every function of the tests by its name, those of classes too."""
    found: dict[str, list[Function]] = {}
    for path in sorted(TESTS.rglob("*.py")):
        for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, Function):
                found.setdefault(node.name, []).append(node)
    return found


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield every statement below a node, at any depth, without looking into expressions."""
    for blocks in ("body", "handlers", "orelse", "finalbody", "cases"):
        for below in getattr(node, blocks, ()):
            yield below
            yield from statements(below)


def asserts(function: Function, depth: int = 1) -> bool:
    """Return whether a function asserts something, or calls a function of the tests that does."""
    if any(isinstance(node, ast.Assert) for node in statements(function)):
        return True
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    if any(ast.unparse(call.func) in ASSERTING for call in calls):
        return True
    return depth > 0 and any(
        asserts(other, depth - 1) for call in calls for other in functions().get(_name(call), ())
    )


def _name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(name):
            return name
        case ast.Attribute(_, name):
            return name
    return ""


def limits_without_reason(path: Path) -> Iterator[str]:
    """The lines of a file of tests that limit a time or wait for one, with no comment on them or
    above them.
    """
    lines = ["", *path.read_text(encoding="utf-8").splitlines()]
    for number, line in enumerate(lines[1:], 1):
        near = (lines[number - 1], line)
        if MEASURED.search(line) and not any(REASON.search(each) for each in near):
            yield f"{path.relative_to(ROOT)}:{number}"


def test_the_suite_costs_no_more_than_its_budget() -> None:
    record = read_record()
    dearest = sorted(record, key=record.__getitem__, reverse=True)[:10]

    assert sum(record.values()) <= BUDGET, f"the dearest files: {dearest}"


def test_the_cost_of_every_file_of_tests_is_recorded() -> None:
    files = {path.relative_to(ROOT).as_posix() for path in TESTS.rglob("test_*.py")}
    thorough = {name for name in files if THOROUGH.search(_text(name))}

    assert not sorted(files - thorough - set(read_record())), "run scripts/test --record FILE"
    assert not sorted(set(read_record()) - files), "run scripts/test --record"


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_test_asserts_something() -> None:
    assert not [
        name
        for name, found in functions().items()
        if name.startswith("test_")
        for function in found
        if not asserts(function)
    ]


def test_a_limit_of_time_has_its_reason_beside_it() -> None:
    assert not [
        line for path in sorted(TESTS.rglob("test_*.py")) for line in limits_without_reason(path)
    ]


def test_the_quick_tests_are_there() -> None:
    named = [
        line
        for line in (TESTS / "quick.txt").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]

    assert named
    for line in named:
        path, *names = line.partition("[")[0].split("::")
        assert (ROOT / path).exists(), line
        assert all(re.search(rf"(?:def|class) {name}\b", _text(path)) for name in names), line
