"""A deploy's check: scanned, then compiled in a child that can be ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sigil.errors import BackendError, Refused, ToolError, one_line
from sigil.sandbox.compile_job import CompileJobs
from sigil.sandbox.module_scan import UnfitModule
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import SandboxLimits
from tests.selection import examples
from tests.sigil.sandbox.conftest import ENGINE
from tests.sigil.sandbox.modules import guest, program

ECHO = guest()


def crowded(locals_: int, blocks: int, functions: int = 1) -> bytes:
    """Many locals that live across many blocks: register allocation grows with their product."""
    step = "(if (local.get {}) (then (local.set {} (local.get {}))))"
    body = "".join(
        step.format(n % locals_, n * 13 % locals_, n * 7 % locals_) for n in range(blocks)
    )
    return guest(more=f"(func (local {'i32 ' * locals_}) {body})" * functions)


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    made = Sandbox(engine=ENGINE, cache=None, children=1)
    yield made
    made.close()


def refusal(sandbox: Sandbox, module: bytes) -> str:
    with pytest.raises(Refused) as caught:
        sandbox.check(module)
    assert caught.value.code == "EMODULE"
    assert caught.value.message == one_line(caught.value.message)
    return caught.value.message


def test_a_checked_module_runs(checker: Sandbox) -> None:
    checker.check(ECHO)
    assert checker.run(program(ECHO), b"[1]").output == b"[1]"


def test_a_module_that_is_too_large_for_the_runner_to_compile_runs_too(checker: Sandbox) -> None:
    module = guest(more="(func (result i32) (i32.const 1))" * 2000)
    assert checker.run(program(module), b"[1]").output == b"[1]"


def test_an_invalid_module_is_refused_with_the_compilers_reason(checker: Sandbox) -> None:
    broken = ECHO.replace(
        b"\x41\x80\x08\x0b", b"\x42\x80\x08\x0b"
    )  # an i64 where an i32 is promised
    assert broken != ECHO
    assert refusal(checker, broken).startswith(
        "not valid WebAssembly: Invalid input WebAssembly code at offset"
    )


def test_features_that_are_off_are_refused(checker: Sandbox) -> None:
    tail = guest(more="(func $f (return_call $f))")
    assert "tail calls" in refusal(checker, tail)
    relaxed = guest(
        more="(func (param v128) (result v128) (i32x4.relaxed_trunc_f32x4_s (local.get 0)))"
    )
    assert "relaxed" in refusal(checker, relaxed)


def test_a_bomb_that_eats_memory_is_stopped(checker: Sandbox) -> None:
    assert refusal(checker, crowded(1000, 9_000)) == "the module takes too much memory to compile"


def test_a_bomb_that_eats_time_is_stopped() -> None:
    with pytest.raises(UnfitModule, match="the module takes too long to compile"):
        CompileJobs(seconds=1).run("compile", crowded(1000, 4000, 8))


def test_a_busy_machine_is_no_fault_of_the_module() -> None:
    with pytest.raises(BackendError, match="EBUSY: this machine is too busy"):
        CompileJobs(wall=0.001).run("compile", ECHO)


def test_text_becomes_a_module(checker: Sandbox) -> None:
    assert checker.assemble(b"(module)") == b"\0asm\x01\0\0\0"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"(module\n  (func i32.foo))", "line 2, column 9: unknown operator or unexpected token"),
        (b"(module (func $\xe2\x80\xae))", "line 1, column"),
        (b"\xff\xfe", "not valid WebAssembly: input was not valid utf-8"),
        (b"(" * 100_000, "line 1, column"),
        (b" " * 300_000, "the text has 300000 bytes: at most 262144"),
    ],
)
def test_bad_text_is_refused_with_its_place(text: bytes, reason: str, checker: Sandbox) -> None:
    with pytest.raises(Refused) as caught:
        checker.assemble(text)
    assert caught.value.message.startswith(reason)
    assert caught.value.message == one_line(caught.value.message)


@settings(
    max_examples=examples(30),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    changes=st.lists(
        st.tuples(st.integers(8, len(ECHO) - 1), st.integers(0, 255)), min_size=1, max_size=3
    )
)
def test_a_changed_module_runs_or_fails_cleanly_and_the_next_one_runs(
    changes: list[tuple[int, int]], checker: Sandbox
) -> None:
    module = bytearray(ECHO)
    for at, value in changes:
        module[at] = value
    message = ""
    try:
        checker.run(program(bytes(module)), b"{}", limits=SandboxLimits(timeout_ms=50))
    except ToolError as failure:
        message = failure.message
    assert message == one_line(message)
    assert checker.run(program(ECHO), b"1").output == b"1"


def test_checking_leaves_no_child_behind(
    checker: Sandbox, opened: Callable[..., Sandbox], tmp_path: Path
) -> None:
    sandbox = opened(cache=tmp_path / "cache")
    sandbox.check(ECHO)
    assert sandbox.stats()["children"] == 0
