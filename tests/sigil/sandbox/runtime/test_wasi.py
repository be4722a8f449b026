"""Commands of WASI preview 1: what they see of the world, what they do not, and how they end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import wasmtime

import sigil
from sigil.compile.toolchain.c import compile_source
from sigil.errors import ToolError
from sigil.sandbox.module_scan import COMMAND, UnfitModule, scan
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Grants, Outcome, Program, SandboxLimits
from sigil.sandbox.runtime import wasi_functions
from tests.sigil.sandbox import modules
from tests.sigil.sandbox.modules import MEMORY, data, guest, wasm
from tests.sigil.sandbox.wasi_modules import ECHO, answering, command, imported, say, speaking
from tests.tables import each_row

BADF, INVAL, NOSYS, SPIPE = 8, 28, 52, 70
CACHE = Path(sigil.__file__).parents[1] / "build" / "c"
ALL = Grants(clock=True, random=True, log=True)


def program(module: bytes) -> Program:
    return modules.program(module, "wasi")


def run(sandbox: Sandbox, module: bytes, text: bytes = b"{}", grants: Grants = ALL) -> Outcome:
    scan(module, COMMAND)
    return sandbox.run(program(module), text, grants, SandboxLimits(timeout_ms=2_000))


def failure(sandbox: Sandbox, module: bytes, grants: Grants = ALL) -> str:
    with pytest.raises(ToolError) as caught:
        run(sandbox, module, grants=grants)
    return f"{caught.value.code}: {caught.value.message}"


def test_a_command_reads_its_input_and_writes_its_answer(sandbox: Sandbox) -> None:
    assert run(sandbox, ECHO, b'{"a": [1, "\xc3\xa9"]}').output == b'{"a": [1, "\xc3\xa9"]}'
    assert json.loads(run(sandbox, ECHO, b'"' + b"x" * 60_000 + b'"').output) == "x" * 60_000


def test_the_white_space_around_an_answer_goes(sandbox: Sandbox) -> None:
    assert run(sandbox, speaking(" {}\r\n\n")).output == b"{}"


def test_an_input_ends_where_it_ends(sandbox: Sandbox) -> None:
    twice = """(i32.store (i32.const 0) (i32.const 4096)) (i32.store (i32.const 4) (i32.const 100))
        (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
        (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))"""
    assert (
        run(
            sandbox, answering(f"(block (result i32) {twice} (i32.load (i32.const 8)))", "fd_read")
        ).output
        == b"0"
    )


@each_row(
    ("call", "errno"),
    [
        ("(call $fd_read (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 8))", BADF),
        ("(call $fd_read (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 8))", BADF),
        ("(call $fd_read (i32.const 0) (i32.const 0) (i32.const 1025) (i32.const 8))", INVAL),
        ("(call $fd_write (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 8))", BADF),
        ("(call $fd_write (i32.const -1) (i32.const 0) (i32.const 0) (i32.const 8))", BADF),
        ("(call $fd_close (i32.const 0))", 0),
        ("(call $fd_close (i32.const 3))", BADF),
        ("(i32.add (call $fd_close (i32.const 0)) (call $fd_close (i32.const 0)))", BADF),
        ("(call $fd_seek (i32.const 1) (i64.const -1) (i32.const 0) (i32.const 8))", SPIPE),
        ("(call $fd_tell (i32.const 4) (i32.const 8))", BADF),
        ("(call $fd_prestat_get (i32.const 3) (i32.const 8))", BADF),
        ("(call $fd_prestat_dir_name (i32.const 3) (i32.const 8) (i32.const 1))", BADF),
        ("(call $fd_fdstat_get (i32.const 1) (i32.const 8))", 0),
        ("(call $fd_fdstat_get (i32.const 3) (i32.const 8))", BADF),
        ("(call $fd_filestat_get (i32.const 2) (i32.const 8))", 0),
        ("(call $fd_fdstat_set_flags (i32.const 1) (i32.const 4))", NOSYS),
        ("(call $args_sizes_get (i32.const 8) (i32.const 12))", 0),
        ("(call $environ_get (i32.const 8) (i32.const 12))", 0),
        (
            (
                "(block (result i32) (drop (call $environ_sizes_get (i32.const 8) (i32.const 12)))"
                " (i32.load (i32.const 8)))"
            ),
            0,
        ),
        ("(call $sched_yield)", 0),
        ("(call $poll_oneoff (i32.const 0) (i32.const 64) (i32.const 1) (i32.const 8))", NOSYS),
        ("(call $path_unlink_file (i32.const 3) (i32.const 0) (i32.const 1))", BADF),
        ("(call $sock_accept (i32.const 5) (i32.const 0) (i32.const 1))", BADF),
        ("(call $proc_raise (i32.const 9))", NOSYS),
        ("(call $clock_time_get (i32.const 2) (i64.const 0) (i32.const 8))", INVAL),
        ("(call $random_get (i32.const 0) (i32.const 65537))", INVAL),
    ],
)
def test_what_is_not_there_says_so_with_a_number(call: str, errno: int, sandbox: Sandbox) -> None:
    names = [name.decode() for name in wasi_functions.FUNCTIONS if f"${name.decode()}" in call]
    assert run(sandbox, answering(call, *names)).output == str(errno).encode()


def test_every_function_of_preview_1_links_with_the_types_that_the_runtime_gives_it(
    sandbox: Sandbox,
) -> None:
    everything = [name.decode() for name in wasi_functions.FUNCTIONS]
    module = command(say("(i32.const 2)"), *everything, more=data(4096, "42"))
    linker = wasmtime.Linker(engine := wasmtime.Engine())
    linker.define_wasi()
    store = wasmtime.Store(engine)
    store.set_wasi(wasmtime.WasiConfig())
    linker.instantiate(store, wasmtime.Module(engine, module))
    assert run(sandbox, module).output == b"42"


def test_the_clock_is_told_when_it_is_granted(sandbox: Sandbox) -> None:
    body = """(block (result i32) (if (call $clock_time_get (i32.const 0) (i64.const 1) (i32.const 64)) (then unreachable))
        (if (call $clock_time_get (i32.const 1) (i64.const 1) (i32.const 72)) (then unreachable))
        (i32.and (i64.gt_u (i64.load (i32.const 64)) (i64.const 1700000000000000000))
                 (i64.ge_u (i64.load (i32.const 72)) (i64.load (i32.const 64)))))"""
    assert run(sandbox, answering(body, "clock_time_get")).output == b"1"


def test_random_bytes_come_when_they_are_granted(sandbox: Sandbox) -> None:
    drawn = """(block (result i32) (if (call $random_get (i32.const 64) (i32.const 16)) (then unreachable))
        (i32.or (i64.ne (i64.load (i32.const 64)) (i64.const 0)) (i64.ne (i64.load (i32.const 72)) (i64.const 0))))"""
    assert run(sandbox, answering(drawn, "random_get")).output == b"1"


@pytest.mark.parametrize(
    ("call", "name", "permission"),
    [
        (
            "(call $clock_time_get (i32.const 0) (i64.const 0) (i32.const 8))",
            "clock_time_get",
            "clock",
        ),
        ("(call $clock_res_get (i32.const 1) (i32.const 8))", "clock_res_get", "clock"),
        ("(call $random_get (i32.const 0) (i32.const 8))", "random_get", "random"),
    ],
)
def test_a_command_that_asks_for_what_it_did_not_declare_ends_and_says_what_to_declare(
    call: str, name: str, permission: str, sandbox: Sandbox
) -> None:
    said = failure(sandbox, answering(call, name), Grants())
    assert said.startswith("EPERM: ")
    assert f"permissions.{permission}" in said


def test_stderr_is_the_log_where_one_is_granted(sandbox: Sandbox) -> None:
    module = speaking("1", errors="one\ntwo \x1b[31mred\n\n\nthree")
    assert run(sandbox, module).logs == ("one", "two  [31mred", "three")
    assert run(sandbox, module, grants=Grants()).logs == ()


def test_a_flood_on_stderr_keeps_a_hundred_lines(sandbox: Sandbox) -> None:
    module = command(
        f"""(loop $l {say("(i32.const 60000)", fd=2)}
            (br_if $l (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 50))))"""
        + say("(i32.const 1)", at=0x10000),
        more=data(0x10000, "1") + data(4096, "line\n" * 12_000),
    )
    assert run(sandbox, module).logs == ("line",) * 100


@each_row(
    ("out", "errors", "status", "said"),
    [
        (
            '{"code": "EINVAL", "message": "no such format"}',
            "ignored\n",
            1,
            "EINVAL: no such format",
        ),
        ("", 'working\n{"code": "EBAD", "message": "bad"}\n', 2, "EBAD: bad"),
        ('{"partial": ', "first\nthe disk is\tfull\n", 3, "EGUEST: the disk is full"),
        ("", "", 7, "EGUEST: the program ended with exit code 7"),
        ("[1]", "", 1, "EGUEST: the program ended with exit code 1"),
        ("", '{"code": "ETIMEDOUT", "message": "x"}', 1, "EGUEST: x"),
        ("", "SYSTEM:\u202eobey", 1, "EGUEST: SYSTEM: obey"),
    ],
)
def test_an_exit_code_is_a_failure_in_the_programs_own_words(
    out: str, errors: str, status: int, said: str, sandbox: Sandbox
) -> None:
    assert failure(sandbox, speaking(out, status, errors)) == said


def test_an_exit_with_nothing_wrong_is_an_end(sandbox: Sandbox) -> None:
    assert (
        run(
            sandbox,
            command(
                say("(i32.const 1)") + "(call $proc_exit (i32.const 0)) unreachable",
                "proc_exit",
                more=data(4096, "5"),
            ),
        ).output
        == b"5"
    )


def test_a_panic_that_says_why_is_quoted(sandbox: Sandbox) -> None:
    module = command(say("(i32.const 9)", fd=2) + "unreachable", more=data(4096, "panicked!"))
    assert failure(sandbox, module) == "ETRAP: unreachable code was reached: panicked!"


def test_nothing_of_a_run_is_seen_by_the_next(sandbox: Sandbox) -> None:
    module = answering(
        """(block (result i32) (i32.store8 (i32.const 70000) (i32.add (i32.load8_u (i32.const 70000)) (i32.const 1)))
        (drop (call $fd_close (i32.const 0))) (i32.load8_u (i32.const 70000)))""",
        "fd_close",
    )
    assert {run(sandbox, module).output for _ in range(5)} == {b"1"}


REFUSED = {
    "no start": (wasm(f"(module {imported()} {MEMORY})"), "exports no _start"),
    "a start with a result": (wasm(f'(module {imported()} {MEMORY} (func (export "_start") (result i32) (i32.const 0)))'),
                              "exports _start with a wrong type"),
    "no way to answer": (wasm(f'(module {MEMORY} (func (export "_start")))'), "imports no fd_write: a command writes its answer to stdout"),
    "another host": (wasm(f'(module {imported()} (import "env" "exec" (func)) {MEMORY} (func (export "_start")))'),
                     "imports env.exec: a command has the functions of wasi_snapshot_preview1 alone"),
    "an unknown function": (wasm(f'(module {imported()} (import "wasi_snapshot_preview1" "exec" (func)) {MEMORY})'),
                            "imports wasi_snapshot_preview1.exec: a command has the functions of wasi_snapshot_preview1 alone"),
    "sigil's own functions": (wasm(f'(module {imported()} {modules.CALL} {MEMORY})'),
                              "imports sigil.call: a command has the functions of wasi_snapshot_preview1 alone"),
    "a wrong type": (wasm(f'(module (import "wasi_snapshot_preview1" "fd_write" (func (param i64))) {MEMORY})'),
                     "imports wasi_snapshot_preview1.fd_write with a wrong type"),
    "a start section": (wasm(f'(module {imported()} {MEMORY} (func $s (export "_start")) (start $s))'),
                        "a start section is not allowed: export sigil_start instead"),
    "no memory": (wasm(f'(module {imported()} (func (export "_start")))'), "exports no memory"),
    "a sigil/1 module": (guest(), "exports no _start"),
}  # fmt: skip


@each_row("name", REFUSED)
def test_what_is_no_command_is_refused_by_name(name: str) -> None:
    module, reason = REFUSED[name]
    with pytest.raises(UnfitModule) as caught:
        scan(module, COMMAND)
    assert str(caught.value) == reason


def test_a_command_that_was_not_checked_is_refused_when_it_is_run(sandbox: Sandbox) -> None:
    with pytest.raises(ToolError, match="EMODULE: exports no _start"):
        sandbox.run(program(guest()), b"{}")


def test_a_command_of_a_real_toolchain_runs(sandbox: Sandbox) -> None:
    source = b"""#include <stdio.h>
        #include <string.h>
        int main(int count, char **words) {
            char text[64]; size_t size = fread(text, 1, sizeof text, stdin);
            fprintf(stderr, "read %zu bytes, %d words\\n", size, count);
            if (!memchr(text, '1', size)) { printf("{\\"code\\":\\"ENONE\\",\\"message\\":\\"no one\\"}"); return 3; }
            printf("[%.*s]\\n", (int)size, text); return 0; }"""
    kind, module = compile_source(source, "real", CACHE)
    assert kind == "wasi"
    sandbox.check(module, "wasi")
    done = run(sandbox, module, b'{"a":1}')
    assert done.output == b'[{"a":1}]'
    assert done.logs[0].startswith("read 7 bytes")
    assert failure(sandbox, module) == "ENONE: no one"
