"""Commands for the tests: a whole WASI preview 1 module from the parts that a test cares about."""

from __future__ import annotations

from sigil.sandbox.runtime import wasi_functions
from tests.sigil.sandbox.modules import MEMORY, data, wasm

_TYPES = {"i": "i32", "I": "i64"}


def imported(*names: str) -> str:
    """The declarations of functions of preview 1, each named like itself."""
    return "".join(_import(name) for name in dict.fromkeys((*names, "fd_write")))


def _import(name: str) -> str:
    parameters, _, results = wasi_functions.FUNCTIONS[name.encode()].partition(" ")
    kinds = "".join(f"(param {_TYPES[kind]})" for kind in parameters) + "".join(
        f"(result {_TYPES[kind]})" for kind in results
    )
    return f'(import "wasi_snapshot_preview1" "{name}" (func ${name} {kinds}))'


def say(size: str, *, fd: int = 1, at: int = 4096) -> str:
    """Code that writes `size` bytes at `at` to a stream."""
    return f"""(i32.store (i32.const 0) (i32.const {at})) (i32.store (i32.const 4) {size})
        (if (call $fd_write (i32.const {fd}) (i32.const 0) (i32.const 1) (i32.const 8)) (then unreachable))"""


def command(body: str, *imports: str, more: str = "", memory: str = MEMORY) -> bytes:
    """A command whose `_start` is `body`."""
    return wasm(
        f'(module {imported(*imports)} {memory} {more} (func $start (export "_start") (local $n'
        f" i32) {body}))"
    )


def speaking(text: str, status: int = 0, errors: str = "") -> bytes:
    """A command that writes `text` to stdout and `errors` to stderr, and exits with `status`."""
    body = say(f"(i32.const {len(text.encode())})") + say(
        f"(i32.const {len(errors.encode())})", fd=2, at=16384
    )
    return command(
        f"{body} (call $proc_exit (i32.const {status}))",
        "proc_exit",
        more=data(4096, text) + data(16384, errors),
    )


def answering(call: str, *imports: str, more: str = "") -> bytes:
    """A command that answers with the number, below 100, that `call` gives."""
    digits = """(i32.store8 (i32.const 4096) (i32.add (i32.const 48) (i32.div_u (local.get $n) (i32.const 10))))
        (i32.store8 (i32.const 4097) (i32.add (i32.const 48) (i32.rem_u (local.get $n) (i32.const 10))))"""
    whole = (
        f"(if (i32.lt_u (local.get $n) (i32.const 10)) (then {say('(i32.const 1)', at=4097)}) (else"
        f" {say('(i32.const 2)')}))"
    )
    return command(f"(local.set $n {call}) {digits} {whole}", *imports, more=more)


ECHO = command(
    f"""(i32.store (i32.const 0) (i32.const 4096)) (i32.store (i32.const 4) (i32.const 65536))
    (if (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)) (then unreachable))
    {say("(i32.load (i32.const 8))")}""",
    "fd_read",
)
