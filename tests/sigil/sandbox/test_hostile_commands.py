"""The run of a hostile command ends within its limits, with our own words, and the next run works."""

from __future__ import annotations

from time import process_time

import pytest

from sigil.errors import SigilError
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Grants, SandboxLimits
from tests.sigil.sandbox import modules
from tests.sigil.sandbox.modules import data
from tests.sigil.sandbox.wasi_modules import ECHO, command, say

LATE = "ETIMEDOUT: timed out after 200 ms"
OUTSIDE = "ETRAP: a pointer of the module's lies outside its memory"
LARGE = "ELIMIT: the output is larger than 262144 bytes"
BOUNDS = "ETRAP: memory access out of bounds"
NOTHING = "EOUTPUT: the output is not one JSON value in UTF-8"
BIG = '(memory (export "memory") 256)'


def endless(call: str) -> str:
    return f"(loop $l {call} (br $l))"


RUNS = {
    "loops": (command("(loop $l (br $l))"), LATE),
    "yields for ever": (command(endless("(drop (call $sched_yield))"), "sched_yield"), LATE),
    "sleeps for an hour": (
        command(endless("(drop (call $poll_oneoff (i32.const 64) (i32.const 1024) (i32.const 1) (i32.const 8)))"), "poll_oneoff"),
        LATE,
    ),
    "draws random bytes for ever": (
        command(endless("(drop (call $random_get (i32.const 0) (i32.const 65536)))"), "random_get", memory=BIG),
        LATE,
    ),
    "draws more random bytes than there may be, for ever": (
        command(endless("(drop (call $random_get (i32.const 0) (i32.const 16000000)))"), "random_get", memory=BIG),
        LATE,
    ),
    "asks for the time for ever": (
        command(endless("(drop (call $clock_time_get (i32.const 0) (i64.const 0) (i32.const 8)))"), "clock_time_get"),
        LATE,
    ),
    "reads for ever": (
        command(endless("(drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1024) (i32.const 8)))"), "fd_read"),
        LATE,
    ),
    "floods stdout": (command(endless(say("(i32.const 60000)"))), LARGE),
    "writes one huge piece": (command(say("(i32.const 16000000)"), memory=BIG), LARGE),
    "floods stderr": (command(endless(say("(i32.const 60000)", fd=2))), LATE),
    "floods stderr with huge pieces": (command(endless(say("(i32.const 16000000)", fd=2)), memory=BIG), LATE),
    "floods stderr with many pieces": (
        command(
            """(loop $f (i32.store (i32.add (local.get $n) (i32.const 4)) (i32.const 100000))
                (br_if $f (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 8))) (i32.const 8192))))"""
            + endless("(drop (call $fd_write (i32.const 2) (i32.const 0) (i32.const 1024) (i32.const 16384)))"),
            memory=BIG,
        ),
        LATE,
    ),
    "writes what lies outside": (command(say("(i32.const 10)", at=131_070)), OUTSIDE),
    "writes what ends beyond four gibibytes": (command(say("(i32.const -1)", fd=2)), OUTSIDE),
    "has its pieces outside": (command("(drop (call $fd_write (i32.const 1) (i32.const 131068) (i32.const 2) (i32.const 8)))"), OUTSIDE),
    "wants the size written outside": (
        command("(drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 0) (i32.const -1)))"),
        OUTSIDE,
    ),
    "reads to outside": (
        command(
            """(i32.store (i32.const 0) (i32.const 131071)) (i32.store (i32.const 4) (i32.const 100))
            (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))""",
            "fd_read",
        ),
        OUTSIDE,
    ),
    "wants random bytes outside": (command("(drop (call $random_get (i32.const 131000) (i32.const 1000)))", "random_get"), OUTSIDE),
    "wants the time outside": (
        command("(drop (call $clock_time_get (i32.const 0) (i64.const 0) (i32.const -8)))", "clock_time_get"),
        OUTSIDE,
    ),
    "wants its arguments outside": (command("(drop (call $args_sizes_get (i32.const 0) (i32.const -1)))", "args_sizes_get"), OUTSIDE),
    "wants to know a stream outside": (command("(drop (call $fd_fdstat_get (i32.const 0) (i32.const 131060)))", "fd_fdstat_get"), OUTSIDE),
    "calls itself": (command("(call $start)"), "ESTACK: the stack overflowed: the recursion is too deep"),
    "reaches unreachable code": (command("unreachable"), "ETRAP: unreachable code was reached"),
    "grows until it cannot, then touches the end": (
        command("(loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) (drop (i32.load (i32.const 0x7fffffff)))"),
        BOUNDS,
    ),
    "says nothing": (command(""), NOTHING),
    "says no JSON": (command(say("(i32.const 3)"), more=data(4096, "NaN")), NOTHING),
    "says two things": (command(say("(i32.const 3)"), more=data(4096, "1 2")), NOTHING),
    "says half of a character": (command(say("(i32.const 2)"), more='(data (i32.const 4096) "\\22\\c3")'), NOTHING),
    "closes stdout and writes": (
        command("(drop (call $fd_close (i32.const 1)))" + say("(i32.const 1)"), "fd_close"),
        "ETRAP: unreachable code was reached",
    ),
    "exits with a huge code": (
        command("(call $proc_exit (i32.const -1))", "proc_exit"),
        "EGUEST: the program ended with exit code 4294967295",
    ),
    "goes on after its end": (
        command(endless("(call $proc_exit (i32.const 1))"), "proc_exit"),
        "EGUEST: the program ended with exit code 1",
    ),
}  # fmt: skip
ALL = Grants(clock=True, random=True, log=True)


@pytest.mark.parametrize("name", RUNS)
def test_a_command_that_breaks_the_rules_fails_cleanly_and_the_next_one_works(
    name: str, sandbox: Sandbox
) -> None:
    module, expected = RUNS[name]
    killed, since = sandbox.stats()["killed"], process_time()
    with pytest.raises(SigilError) as caught:
        sandbox.run(modules.program(module, "wasi"), b"{}", ALL, SandboxLimits(timeout_ms=200))
    assert f"{caught.value.code}: {caught.value.message}" == expected
    assert process_time() - since < 1  # the work is the child's, not the server's
    assert (
        sandbox.run(modules.program(ECHO, "wasi"), b'{"next":"works"}').output
        == b'{"next":"works"}'
    )
    if expected != LATE:  # on a busy machine a late child may be killed before it says so itself
        assert sandbox.stats()["killed"] == killed
