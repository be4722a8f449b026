"""Turns the compiled engine into one that has already started: its memory after the prelude becomes
the module's own data.

After Wizer's idea (Bytecode Alliance), as little of it as one module without start function, tables
of its own making or threads needs. The image is taken at rest: no call is on the stack, so the
stack pointer is back where it began and what lies below it is dead and left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sigil.sandbox.engine import wasm
from sigil.sandbox.engine.memory_layout import written_by_calls
from sigil.sandbox.engine.unstarted import Unstarted

EXPORTS = (
    *(
        "memory",
        "sigil_alloc",
        "sigil_load",
        "sigil_pack",
        "sigil_hold",
        "sigil_unpack",
        "sigil_tidy",
    ),
    *("sigil_run", "sigil_out_ptr", "sigil_out_len"),
)
_PAGE = 65536
_GAP = re.compile(rb"\0{32,}")


def pre_initialise(compiled: bytes, prelude: bytes) -> bytes:
    """The module whose instances begin where the start with `prelude` ended. ValueError when the
    prelude fails.
    """
    code = Unstarted(compiled).compile(prelude)
    engine = Unstarted(compiled)
    engine.prepare(code, written_by_calls(compiled, code))
    return wasm.module(_rewritten(compiled, engine.memory(), engine.stack()))


def _rewritten(compiled: bytes, memory: bytes, stack: int) -> Iterator[bytes]:
    """The sections of `compiled` with `memory` as its data, without what only building needs."""
    segments = [_segment(at, content) for at, content in _parts(memory, stack)]
    for kind, content in wasm.sections(compiled):
        if kind == wasm.MEMORY:
            yield wasm.section(kind, wasm.vector([b"\0" + wasm.unsigned(len(memory) // _PAGE)]))
        elif kind == wasm.EXPORT:
            yield wasm.section(kind, _exports(content))
        elif kind == wasm.DATA:
            yield wasm.section(kind, wasm.vector(segments))
        elif kind == wasm.DATA_COUNT:
            yield wasm.section(kind, wasm.unsigned(len(segments)))
        elif kind == wasm.START:
            raise ValueError("the compiled engine has a start function")
        elif kind != wasm.CUSTOM:
            yield wasm.section(kind, content)


def _parts(memory: bytes, stack: int) -> Iterator[tuple[int, bytes]]:
    """(address, bytes) of what is not zero, short gaps included. The dead stack, which ends at
    `stack`, is left out.
    """
    at = stack
    for gap in _GAP.finditer(memory, stack):
        if gap.start() > at:
            yield at, memory[at : gap.start()]
        at = gap.end()
    if at < len(memory):
        yield at, memory[at:]


def _segment(at: int, content: bytes) -> bytes:
    return b"\0\x41" + wasm.signed(at) + b"\x0b" + wasm.block(content)


def _exports(content: bytes) -> bytes:
    reader = wasm.Reader(content)
    kept = []
    for _ in range(reader.unsigned()):
        name = reader.block()
        target = bytes([reader.byte()]) + wasm.unsigned(reader.unsigned())
        if name.decode() in EXPORTS:
            kept.append(wasm.block(name) + target)
    return wasm.vector(kept)
