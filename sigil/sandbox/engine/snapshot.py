"""Makes a module that has already started of the compiled engine: its memory after the prelude
becomes the module's own data.

After Wizer's idea (Bytecode Alliance), as little of it as one module without start function, tables
of its own making or threads needs. The image is taken at rest: no call is on the stack, so the
stack pointer is back where it began and what lies below it is dead and left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sigil.sandbox.engine import wasm
from sigil.sandbox.engine.memory_layout import plan_layout
from sigil.sandbox.engine.unstarted import UnstartedEngine

EXPORTS = (
    "memory",
    "sigil_alloc",
    "sigil_load",
    "sigil_pack",
    "sigil_hold",
    "sigil_unpack",
    "sigil_tidy",
    "sigil_run",
    "sigil_out_ptr",
    "sigil_out_len",
)
_PAGE = 65536
_GAP = re.compile(rb"\0{32,}")


def pre_initialise(compiled: bytes, prelude: bytes) -> bytes:
    """Return the module whose instances begin where the start with `prelude` ended. `ValueError`
    when the prelude fails.
    """
    code = UnstartedEngine(compiled).compile_prelude(prelude)
    engine = UnstartedEngine(compiled)
    engine.start(code, plan_layout(compiled, code))
    return wasm.module(_rewrite_sections(compiled, engine.read_memory(), engine.stack_pointer()))


def _rewrite_sections(compiled: bytes, memory: bytes, stack: int) -> Iterator[bytes]:
    """Yield the sections of `compiled` with `memory` as its data, and without the exports and
    custom sections that only building needs.
    """
    segments = []
    for at, content in _find_data(memory, stack):
        segments.append(b"\0\x41" + wasm.signed(at) + b"\x0b" + wasm.block(content))
    for kind, content in wasm.sections(compiled):
        if kind == wasm.MEMORY:
            yield wasm.section(kind, wasm.vector([b"\0" + wasm.unsigned(len(memory) // _PAGE)]))
        elif kind == wasm.EXPORT:
            yield wasm.section(kind, _select_exports(content))
        elif kind == wasm.DATA:
            yield wasm.section(kind, wasm.vector(segments))
        elif kind == wasm.DATA_COUNT:
            yield wasm.section(kind, wasm.unsigned(len(segments)))
        elif kind == wasm.START:
            raise ValueError("the compiled engine has a start function")
        elif kind != wasm.CUSTOM:
            yield wasm.section(kind, content)


def _find_data(memory: bytes, stack: int) -> Iterator[tuple[int, bytes]]:
    """Yield (address, bytes) of the parts that are not zero, with short gaps in them. The dead
    stack, which ends at `stack`, is left out.
    """
    at = stack
    for gap in _GAP.finditer(memory, stack):
        if gap.start() > at:
            yield at, memory[at : gap.start()]
        at = gap.end()
    if at < len(memory):
        yield at, memory[at:]


def _select_exports(content: bytes) -> bytes:
    """Return the content of an export section with only the exports of `EXPORTS`."""
    reader = wasm.Reader(content)
    exports = []
    for _ in range(reader.unsigned()):
        name = reader.block()
        target = bytes([reader.byte()]) + wasm.unsigned(reader.unsigned())
        if name.decode() in EXPORTS:
            exports.append(wasm.block(name) + target)
    return wasm.vector(exports)
