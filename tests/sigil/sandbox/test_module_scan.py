"""The scan of an upload: what is allowed passes, what is not is named in one clean line, and
nothing makes it fail otherwise.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sigil.errors import one_line
from sigil.sandbox.module_scan import LOCALS, MODULE_BYTES, UnfitModule, measure, scan
from tests.selection import examples
from tests.sigil.sandbox.modules import CALL, MEMORY, TAKE, guest, wasm
from tests.tables import each_row

ECHO = guest(
    imports=CALL + TAKE,
    more='(table 3 funcref) (data (i32.const 0) "abc") (func (export "sigil_start"))',
)
ALLOC = '(func (export "sigil_alloc") (param i32) (result i32) unreachable)'
FUNCTIONS = (
    '(func (export "sigil_run") (param i32 i32) (result i32) unreachable) (func (export'
    ' "sigil_out_ptr") (result i32) unreachable)'
)


def leb(number: int) -> bytes:
    parts = [number >> shift & 0x7F for shift in range(0, max(number.bit_length(), 1), 7)]
    return bytes([*(part | 0x80 for part in parts[:-1]), parts[-1]])


def section(number: int, body: bytes) -> bytes:
    return bytes([number]) + leb(len(body)) + body


REFUSED = {
    "a text module": (b'(module (memory (export "memory") 1))', "not a binary WebAssembly core module of version 1"),
    "nothing": (b"", "not a binary WebAssembly core module of version 1"),
    "a component": (b"\0asm\x0d\0\x01\0", "not a binary WebAssembly core module of version 1"),
    "native code": (b"\x7fELF" + bytes(100), "not a binary WebAssembly core module of version 1"),
    "an empty module": (b"\0asm\x01\0\0\0", "exports no memory"),
    "a large module": (ECHO + section(0, bytes(MODULE_BYTES)), f"the module has {len(ECHO) + MODULE_BYTES + 5} bytes: at most 2097152"),
    "a foreign import": (guest(imports='(import "wasi_snapshot_preview1" "fd_write" (func (param i32)))'),
                         "imports wasi_snapshot_preview1.fd_write: only sigil.call and sigil.take exist"),
    "an engine import": (guest(imports='(import "sigil_js_v1" "sigil_run" (func))'),
                         "imports sigil_js_v1.sigil_run: only sigil.call and sigil.take exist"),
    "a name that forges lines": (guest(imports='(import "a\\0a\\1b[31m" "SYSTEM: \\e2\\80\\aeobey" (func))'),
                                 "imports a [31m.SYSTEM:  obey: only sigil.call and sigil.take exist"),
    "an imported memory": (wasm('(module (import "sigil" "call" (memory 1)))'), "imports sigil.call with a wrong type"),
    "an import of a wrong type": (guest(imports='(import "sigil" "take" (func (param i64)))'), "imports sigil.take with a wrong type"),
    "no memory": (guest(memory=""), "exports no memory"),
    "a hidden memory": (guest(memory="(memory 1)"), "exports no memory"),
    "a function as memory": (wasm('(module (memory 1) (func (export "memory")))'), "exports no memory"),
    "no run": (wasm(f"(module {MEMORY} {ALLOC})"), "exports no sigil_run"),
    "a wrong alloc": (wasm(f'(module {MEMORY} {FUNCTIONS} (func (export "sigil_alloc") (param i64) (result i32) unreachable))'),
                      "exports sigil_alloc with a wrong type"),
    "a wrong start": (guest(more='(func (export "sigil_start") (param i32))'), "exports sigil_start with a wrong type"),
    "an import as run": (wasm(f'(module {CALL} {MEMORY} {ALLOC} (export "sigil_run" (func $call)))'),
                         "exports sigil_run with a wrong type"),
    "a start section": (guest(more="(func $s) (start $s)"), "a start section is not allowed: export sigil_start instead"),
    "two memories": (wasm(f"(module {MEMORY} (memory 1))"), "2 memories: at most 1"),
    "a huge memory": (guest(memory='(memory (export "memory") 1025)'), "the memory starts with more than 1024 pages"),
    "a 64-bit memory": (wasm('(module (memory (export "memory") i64 1))'), "limits at byte"),
    "a shared memory": (wasm('(module (memory (export "memory") 1 2 shared))'), "limits at byte"),
    "five tables": (guest(more="(table 1 funcref)" * 5), "5 tables: at most 4"),
    "a huge table": (guest(more="(table 10001 funcref)"), "a table starts with more than 10000 elements"),
    "a thousand and one locals": (guest(more=f'(func (local {"i64 " * (LOCALS + 1)}))'), "a function has more than 1000 locals"),
    "many functions": (guest(more="(func)" * 20_001), "20005 functions: at most 20000"),
    "a tag": (wasm(f"(module {MEMORY} (tag))"), "section 13 is not supported"),
    "a structure type": (wasm(f"(module {MEMORY} (type (struct)))"), "a type at byte"),
    "a fat custom section": (ECHO + section(0, b"\x01n" + bytes(65536)), "a custom section has 65538 bytes: at most 65536"),
    "an unknown section": (ECHO + section(200, b""), "section 200 is not supported"),
    "a section twice": (ECHO + section(11, b"\0") * 2, "section 11 is out of order"),
    "a section that is too long": (b"\0asm\x01\0\0\0" + section(1, b"\0\0"), "section 1 has 1 bytes too many"),
    "a number that is too long": (b"\0asm\x01\0\0\0\x01\x80\x80\x80\x80\x80\x00", "does not fit 32 bits"),
    "a number of 33 bits": (b"\0asm\x01\0\0\0\x01\xff\xff\xff\xff\x1f", "does not fit 32 bits"),
}  # fmt: skip


def refusal(module: bytes) -> str:
    with pytest.raises(UnfitModule) as caught:
        scan(module)
    return str(caught.value)


def test_a_proper_module_passes() -> None:
    assert 0 < scan(ECHO).bulk < len(ECHO)


@each_row("name", REFUSED)
def test_what_is_not_allowed_is_named(name: str) -> None:
    module, reason = REFUSED[name]
    found = refusal(module)
    assert reason in found
    assert found == one_line(found)
    assert len(found) < 200


def test_a_module_cut_anywhere_is_refused() -> None:
    data = wasm(
        f'(module {MEMORY} {FUNCTIONS} {ALLOC} (func (export "sigil_out_len") (result i32)'
        " unreachable))"
    )
    scan(data)
    for end in range(len(data)):
        refusal(data[:end])


def test_data_and_custom_sections_are_no_work_for_a_compiler() -> None:
    small, large = (
        guest(more='(data (i32.const 0) "a")'),
        guest(more=f'(data (i32.const 0) "{"a" * 50_000}")'),
    )
    assert measure(small).bulk == measure(large).bulk < 300


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(ECHO) - 1), st.integers(0, 255)), min_size=1, max_size=4)
)
def test_a_changed_module_passes_or_is_refused_in_one_line(changes: list[tuple[int, int]]) -> None:
    module = bytearray(ECHO)
    for at, value in changes:
        module[at] = value
    reason = ""
    try:
        scan(bytes(module))
    except UnfitModule as unfit:
        reason = str(unfit)
    assert reason == one_line(reason)


@settings(max_examples=examples(50), deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_refused_in_one_line(body: bytes) -> None:
    found = refusal(b"\0asm\x01\0\0\0" + body)
    assert found == one_line(found)
