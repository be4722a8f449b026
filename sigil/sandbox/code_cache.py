"""What runners are given when they need it: the engine, native code, or a JavaScript source."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from sigil.errors import BackendError, UsageError, one_line
from sigil.sandbox.abi import ABIS
from sigil.sandbox.aot import Codes, untold
from sigil.sandbox.engine import MODULE_BYTES
from sigil.sandbox.javascript_module import plugin, source_of
from sigil.sandbox.loaded_programs import Held
from sigil.sandbox.module_scan import Unfit, measure, scan
from sigil.sandbox.program import Program
from sigil.sandbox.protocol import ENGINE
from sigil.sandbox.runner_process import Supply
from sigil.sandbox.sealed_memory import Code
from sigil.sandbox.tenants import NOBODY, Tenant
from sigil.storage import untrusted_files

INLINE_BYTES = 512
"""Modules with no more than this for a compiler to do are compiled by the runner itself, in a
millisecond or a few.
"""

_LOADED = 10
"""So many times as large as its source is the image of a loaded source, at most; and the pages that
every one of them changes:
"""
_CHANGED = 48 << 10
_IMAGE_BYTES = 16 << 20
"""A runner keeps an image of a module's first memory, at most so large."""
_LEAST_BYTES = 1 << 20
"""A module weighs at least this: it holds a file open, and a runner may have a hundred and a few.
"""


class Supplies:
    """Finds and remembers code. Thread-safe."""

    def __init__(self, engine: Path, codes: Codes) -> None:
        self._engine = engine
        self._codes = codes
        self._engine_code: Code | None = None

    def fetch(
        self, program: Program, name: str, *, images: bool, tenant: Tenant = NOBODY
    ) -> Supply:
        """What `name` (the program or the engine) is to a runner, which can make `images` or not.

        `Unfit` when the module cannot be taken, `BackendError` when there is no engine.
        """
        if name == ENGINE:
            return Supply(self._the_engine(tenant), Held(0))
        wasm = program.load()
        source = _source(wasm) if images and program.kind == "js" else None
        if source is not None:
            return Supply(
                source, Held(_CHANGED + _LOADED * len(source), program.rank, program.expires)
            )
        shape = scan(wasm, ABIS[program.kind]) if program.kind in ABIS else measure(wasm)
        code = self._codes.held(sha256(wasm).hexdigest()) or (
            None if shape.bulk <= INLINE_BYTES else self._codes.code(wasm, tenant)
        )
        weight = (code.size if code else 0) + min(shape.memory, _IMAGE_BYTES)
        return Supply(code or wasm, Held(max(_LEAST_BYTES, weight), program.rank, program.expires))

    def at_hand(self, program: Program, *, images: bool) -> bool:
        """Whether `fetch` would give the program at once, without a compiler."""
        wasm = program.load()
        if images and program.kind == "js" and _source(wasm) is not None:
            return True
        return (
            self._codes.held(sha256(wasm).hexdigest()) is not None
            or measure(wasm).bulk <= INLINE_BYTES
        )

    def clear(self) -> None:
        self._engine_code = None

    def warm(self, compiling: Callable[[], None]) -> None:
        """Have the engine at hand; `compiling` is called before it is compiled. `BackendError` when
        there is none.
        """
        self._the_engine(NOBODY, compiling)

    def _the_engine(self, tenant: Tenant, compiling: Callable[[], None] = untold) -> Code:
        if self._engine_code is None:
            try:
                self._engine_code = self._codes.code(
                    untrusted_files.read(self._engine, MODULE_BYTES), tenant, compiling
                )
            except (OSError, Unfit) as problem:
                reason = f"no JavaScript engine: {one_line(str(problem))}"
                raise BackendError(
                    "EUNAVAILABLE", reason, source="sandbox", suggestion="run scripts/build-engine"
                ) from None
        return self._engine_code


def _source(wasm: bytes) -> str | None:
    """The source in a JavaScript capability's module; None for a module of another making, which is
    code to us.
    """
    try:
        source = source_of(wasm)
        return source if plugin(source) == wasm else None
    except UsageError:
        return None
