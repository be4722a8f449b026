"""Modules for the tests: a whole `sigil/1` module from the parts that a test cares about."""

from __future__ import annotations

from hashlib import sha256

import wasmtime

from sigil.sandbox.javascript_module import make_module
from sigil.sandbox.program import Program

MEMORY = '(memory (export "memory") 2)'
CALL = '(import "sigil" "call" (func $call (param i32 i32) (result i32)))'
TAKE = '(import "sigil" "take" (func $take (param i32)))'


def wasm(text: str) -> bytes:
    return bytes(wasmtime.wat2wasm(text))


def guest(
    run: str = "(global.set $n (local.get 1)) (i32.const 0)",
    *,
    alloc: str = "(i32.const 1024)",
    out_ptr: str = "(i32.const 1024)",
    out_len: str = "(global.get $n)",
    memory: str = MEMORY,
    imports: str = "",
    more: str = "",
) -> bytes:
    """A module that echoes its input, but for the parts that are given. `$n` is a global: the
    output's length.
    """
    return wasm(f"""(module {imports} {memory} (global $n (mut i32) (i32.const 0)) {more}
        (func $alloc (export "sigil_alloc") (param i32) (result i32) {alloc})
        (func $run (export "sigil_run") (param i32 i32) (result i32) {run})
        (func (export "sigil_out_ptr") (result i32) {out_ptr})
        (func (export "sigil_out_len") (result i32) {out_len}))""")


def data(at: int, text: str) -> str:
    """A data segment with `text` at the address `at`."""
    return f'(data (i32.const {at}) "{"".join(f"{chr(92)}{byte:02x}" for byte in text.encode())}")'


def saying(text: str, answer: int = 0) -> bytes:
    """A module whose output is `text`, whatever it is asked."""
    size = len(text.encode())
    return guest(
        f"(i32.const {answer})",
        out_ptr="(i32.const 4096)",
        out_len=f"(i32.const {size})",
        more=data(4096, text),
    )


def asking(request: str) -> bytes:
    """A module that makes one request of its host and answers what it got, or null when it was no
    request.
    """
    return guest(
        f"""(global.set $n (call $call (i32.const 100000) (i32.const {len(request.encode())})))
            (if (i32.eq (global.get $n) (i32.const -1)) (then (global.set $n (i32.const 4))) (else (call $take (i32.const 8192))))
            (i32.const 0)""",
        imports=CALL + TAKE,
        out_ptr="(i32.const 8192)",
        memory='(memory (export "memory") 4)',
        more=data(8192, "null") + data(100_000, request),
    )


def program(module: bytes, kind: str = "sigil") -> Program:
    return Program(sha256(module).hexdigest(), kind, lambda: module)  # type: ignore[arg-type]


def script(source: str) -> Program:
    """A JavaScript capability's program."""
    return program(make_module(source), "js")
