"""Makes a module of a JavaScript capability: its source in a data segment, and code that hands the
source to the engine.

    (module
      (import "sigil_js_v1" "memory" (memory 0))
      (import "sigil_js_v1" "sigil_alloc" (func $alloc (param i32) (result i32)))  ;; … the rest of the ABI
      (func (export "sigil_start") (result i32) (local $at i32)
        (if (i32.eqz (local.tee $at (call $alloc (i32.const LENGTH)))) (then (return (i32.const 1))))
        (memory.init $source (local.get $at) (i32.const 0) (i32.const LENGTH))
        (call $load (local.get $at) (i32.const LENGTH)))
      (data $source "…"))

It takes its memory from the one engine that all of them share, so it weighs a few hundred bytes and
compiles in a millisecond.
"""

from __future__ import annotations

import json

from sigil.errors import UsageError
from sigil.sandbox.engine import wasm

ENGINE = "sigil_js_v1"
SOURCE_LIMIT = 256 * 1024

_MANIFEST = "sigil:manifest"
_PASSIVE = 1

_TYPES = {"memory": b"\x02\0\0", "alloc": b"\0\0", "pair": b"\0\x01", "none": b"\0\x02"}
_IMPORTS = (
    ("memory", "memory"),
    ("sigil_alloc", "alloc"),
    ("sigil_load", "pair"),
    ("sigil_run", "pair"),
    ("sigil_out_ptr", "none"),
    ("sigil_out_len", "none"),
)
_ALLOC, _LOAD, _RUN, _OUT_PTR, _OUT_LEN, _START = range(6)


def make_module(source: str) -> bytes:
    """Return the module of a source, which is a function body or a module; equal sources give equal
    bytes. `UsageError` when it is too long, or no Unicode text.
    """
    try:
        text = source.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            "EINVAL", "the source holds a lone surrogate, which no UTF-8 text can hold"
        ) from error
    if len(text) > SOURCE_LIMIT:
        raise UsageError(
            "ETOOBIG",
            f"the source is {len(text):,} bytes long, more than the {SOURCE_LIMIT:,} allowed",
        )
    return wasm.module(_make_sections(text))


def read_source(module: bytes) -> str:
    """Return the source that `make_module` put into `module`; `UsageError` when it is no such
    module.
    """
    try:
        manifest = json.loads(wasm.custom_section(module, _MANIFEST) or b"")
        section = next(content for kind, content in wasm.sections(module) if kind == wasm.DATA)
        data = wasm.Reader(section)
        if manifest["engine"] != ENGINE or (data.unsigned(), data.byte()) != (1, _PASSIVE):
            raise ValueError("another kind of module")
        return data.block().decode()
    except (ValueError, KeyError, TypeError, StopIteration, RecursionError) as error:
        raise UsageError("EINVAL", "this is not a JavaScript capability") from error


def _make_sections(text: bytes) -> list[bytes]:
    """Return the sections of the module, with the source `text` as its data."""
    i32 = bytes([wasm.I32])
    types = [_signature(i32, i32), _signature(i32 * 2, i32), _signature(b"", i32)]
    imports = [
        wasm.block(ENGINE.encode()) + wasm.block(name.encode()) + _TYPES[kind]
        for name, kind in _IMPORTS
    ]
    exports = [wasm.block(b"memory") + b"\x02\0"]
    for name, index in (
        ("alloc", _ALLOC),
        ("run", _RUN),
        ("out_ptr", _OUT_PTR),
        ("out_len", _OUT_LEN),
        ("start", _START),
    ):
        exports.append(wasm.block(b"sigil_" + name.encode()) + b"\0" + wasm.unsigned(index))
    # The body of `sigil_start`, which is written out at the head of this file.
    size = b"\x41" + wasm.signed(len(text))
    at = b"\x20\0"
    start_body = b"".join(
        (
            b"\x01\x01\x7f",  # one local i32: at
            size + b"\x10" + wasm.unsigned(_ALLOC) + b"\x22\0",  # at = alloc(length)
            b"\x45\x04\x40\x41\x01\x0f\x0b",  # if it is zero: return 1
            at + b"\x41\0" + size + b"\xfc\x08\0\0",  # memory.init
            at + size + b"\x10" + wasm.unsigned(_LOAD),
            b"\x0b",
        )
    )
    manifest = json.dumps({"abi": "sigil/1", "engine": ENGINE}, separators=(",", ":"))
    return [
        wasm.section(wasm.TYPE, wasm.vector(types)),
        wasm.section(wasm.IMPORT, wasm.vector(imports)),
        wasm.section(wasm.FUNCTION, wasm.vector([b"\x02"])),
        wasm.section(wasm.EXPORT, wasm.vector(exports)),
        wasm.section(wasm.DATA_COUNT, wasm.unsigned(1)),
        wasm.section(wasm.CODE, wasm.vector([wasm.block(start_body)])),
        wasm.section(wasm.DATA, wasm.vector([bytes([_PASSIVE]) + wasm.block(text)])),
        wasm.custom(_MANIFEST, manifest.encode()),
    ]


def _signature(parameters: bytes, results: bytes) -> bytes:
    return b"\x60" + wasm.block(parameters) + wasm.block(results)
