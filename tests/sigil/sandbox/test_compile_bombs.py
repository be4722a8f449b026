"""Modules that are small, valid and expensive: the compiler's process is bounded, and nothing else
notices.
"""

from __future__ import annotations

from time import process_time

import pytest

from sigil.sandbox.compile_job import CompileJobs
from sigil.sandbox.module_scan import COMMAND, SIGIL, UnfitModule, scan
from tests.selection import thorough
from tests.sigil.sandbox.modules import guest
from tests.sigil.sandbox.wasi_modules import command, say

STOPPED = "the module takes too "


def nested(depth: int, locals_: int) -> str:
    body = "".join(
        f"(local.set {n % locals_} (i32.add (local.get {n * 7 % locals_}) (i32.const 1)))"
        for n in range(locals_)
    )
    return (
        f"(func (local {'i32 ' * locals_}) {'(loop ' * depth} {body}"
        f" {'(br_if 0 (local.get 0))) ' * depth})"
    )


BOMBS = {
    "nested loops over many locals": nested(250, 250) * 4,
    "many locals over many blocks": (
        f"(func (local {'i32 ' * 1000}) "
        + "".join(
            f"(if (local.get {n % 1000}) (then (local.set {n * 13 % 1000} (local.get"
            f" {n * 7 % 1000}))))"
            for n in range(4000)
        )
        + ")"
    ),
    "very many calls": "(func $c) (func " + "(call $c)" * 60_000 + ")",
    "a straight line": (
        "(func (result i64) (i64.const 1) " + "(i64.const 3) (i64.mul) " * 40_000 + ")"
    ),
    "the largest number of functions": "(func (result i32) (i32.const 1))" * 19_000,
}


DEAR = ("nested loops over many locals", "the largest number of functions")
"""A second of work each; a command of the first is stopped in the suite as well."""


@pytest.mark.parametrize("name", [*(name for name in BOMBS if name not in DEAR), *thorough(*DEAR)])
def test_a_module_that_is_expensive_to_compile_is_compiled_or_stopped_within_its_bounds(
    name: str,
) -> None:
    module = guest(more=BOMBS[name])
    scan(module, SIGIL)
    since, said = process_time(), ""
    try:
        assert CompileJobs(seconds=1).run("compile", module).size > 1000
    except UnfitModule as unfit:
        said = str(unfit)
    assert said.startswith(STOPPED) or not said
    assert process_time() - since < 1  # the work is the child's, not the server's


def test_a_command_has_the_same_bounds() -> None:
    module = command(say("(i32.const 0)"), more=BOMBS["nested loops over many locals"])
    scan(module, COMMAND)
    with pytest.raises(UnfitModule, match=STOPPED):
        CompileJobs(seconds=1).run("compile", module)
    with pytest.raises(UnfitModule, match="20002 functions: at most 20000"):
        scan(command("", more="(func)" * 20_001), COMMAND)


def test_the_same_expensive_thing_is_refused_before_it_is_compiled_where_its_size_tells() -> None:
    with pytest.raises(UnfitModule, match="a function has more than 1000 locals"):
        scan(guest(more=f"(func (local {'i32 ' * 49_000}))"), SIGIL)
    with pytest.raises(UnfitModule, match="the memory starts with more than 1024 pages"):
        scan(command("", memory='(memory (export "memory") 65536)'), COMMAND)
