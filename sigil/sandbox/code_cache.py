"""The code cache finds what a runner has to load: the engine, native code, or a JavaScript
source.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from sigil.errors import BackendError, UsageError, one_line
from sigil.sandbox.code_store import CodeStore, open_shipped
from sigil.sandbox.compile_job import CompileJobs, fingerprint
from sigil.sandbox.engine import MODULE_BYTES
from sigil.sandbox.javascript_module import make_module, read_source
from sigil.sandbox.module_scan import ABIS, UnfitModule, measure, scan
from sigil.sandbox.program import LoadedProgram, Program
from sigil.sandbox.protocol import ENGINE
from sigil.sandbox.runner_process import LoadableCode
from sigil.sandbox.sealed_memory import SealedCode
from sigil.sandbox.tenants import SOLE_TENANT, Tenant
from sigil.storage import files

_HELD = 32
_HELD_BYTES = 64 << 20


def ignore_compiling() -> None:
    """Do nothing when something is compiled."""


class NativeCodeCache:
    """Native code by module. Thread-safe; two threads that want the same module compile it once."""

    def __init__(self, folder: Path | None, compile_jobs: CompileJobs) -> None:
        self._folder = folder
        self._compile_jobs = compile_jobs
        self._lock = threading.Lock()
        self._busy: dict[str, threading.Lock] = {}
        self._held: OrderedDict[str, SealedCode] = OrderedDict()
        self._store: CodeStore | None = None

    def get_held(self, digest: str) -> SealedCode | None:
        """Return the code of the module with this sha256 (hex) when it is in memory."""
        with self._lock:
            code = self._held.get(digest)
            if code is not None:
                self._held.move_to_end(digest)
            return code

    def get(
        self,
        wasm: bytes,
        tenant: Tenant = SOLE_TENANT,
        compiling: Callable[[], None] = ignore_compiling,
    ) -> SealedCode:
        """Return the code of `wasm`: from memory, from a store, or compiled now.

        `UnfitModule` when it cannot be compiled within the limits. `compiling` is called before it
        is compiled, which takes a while.

        The turn at the compilers is taken before the module's lock, so that no thread that holds
        the lock waits for a turn.
        """
        digest = sha256(wasm).hexdigest()
        code = self._find(digest)
        if code:
            return code
        with self._compile_jobs.hold_turn(tenant):
            with self._lock:
                busy = self._busy.setdefault(digest, threading.Lock())
            try:
                with busy:
                    code = self._find(digest)
                    if code is None:
                        compiling()
                        code = self._compile_jobs.run("compile", wasm)
                        store = self._open_store()
                        if store:
                            store.write(digest, code)
                        self._hold(digest, code)
                    return code
            finally:
                with self._lock:
                    self._busy.pop(digest, None)

    def _find(self, digest: str) -> SealedCode | None:
        """Return the code that is in memory or in a store; None when it has to be compiled."""
        code = self.get_held(digest)
        if code:
            return code
        for open_store in (open_shipped, self._open_store):
            store = open_store()
            code = store.read(digest) if store else None
            if code:
                self._hold(digest, code)
                return code
        return None

    def close(self) -> None:
        with self._lock:
            self._held.clear()

    def _hold(self, digest: str, code: SealedCode) -> None:
        with self._lock:
            self._held[digest] = code
            while len(self._held) > _HELD or (
                len(self._held) > 1 and sum(each.size for each in self._held.values()) > _HELD_BYTES
            ):
                self._held.popitem(last=False)

    def _open_store(self) -> CodeStore | None:
        with self._lock:
            if self._store is None and self._folder is not None:
                self._store = CodeStore(self._folder, fingerprint())
            return self._store


INLINE_BYTES = 512
"""Modules with no more than this for a compiler to do are compiled by the runner itself, in a
millisecond or a few.
"""

_IMAGE_FACTOR = 10
"""The memory image of a loaded source is at most so many times as large as the source, plus the
bytes of the pages that every source changes.
"""
_IMAGE_BASE_BYTES = 48 << 10
_MEMORY_IMAGE_BYTES = 16 << 20
"""A runner keeps an image of a module's first memory, at most so large."""
_LEAST_BYTES = 1 << 20
"""A module weighs at least this: it holds a file open, and a runner may have a hundred and a few.
"""


class CodeCache:
    """Finds the code that a runner needs: the engine, native code, or a JavaScript source.
    Thread-safe.
    """

    def __init__(self, engine: Path, native_code: NativeCodeCache) -> None:
        self._engine = engine
        self._native_code = native_code
        self._engine_code: SealedCode | None = None

    def fetch(
        self, program: Program, name: str, *, images: bool, tenant: Tenant = SOLE_TENANT
    ) -> LoadableCode:
        """Return the code of `name` (the program or the engine) for a runner, which can make
        `images` or not.

        `UnfitModule` when the module cannot be taken, `BackendError` when there is no engine.
        """
        if name == ENGINE:
            return LoadableCode(self._load_engine(tenant), LoadedProgram(0))
        wasm = program.load()
        if images and program.kind == "js":
            source = _read_own_source(wasm)
            if source is not None:
                weight = _IMAGE_BASE_BYTES + _IMAGE_FACTOR * len(source)
                return LoadableCode(source, LoadedProgram(weight, program.rank, program.expires))
        shape = scan(wasm, ABIS[program.kind]) if program.kind in ABIS else measure(wasm)
        code = self._native_code.get_held(sha256(wasm).hexdigest())
        if code is None and shape.bulk > INLINE_BYTES:
            code = self._native_code.get(wasm, tenant)
        weight = (code.size if code else 0) + min(shape.memory, _MEMORY_IMAGE_BYTES)
        held = LoadedProgram(max(_LEAST_BYTES, weight), program.rank, program.expires)
        return LoadableCode(code or wasm, held)

    def is_ready(self, program: Program, *, images: bool) -> bool:
        """Return whether `fetch` would return the program at once, without a compiler."""
        wasm = program.load()
        if images and program.kind == "js" and _read_own_source(wasm) is not None:
            return True
        if self._native_code.get_held(sha256(wasm).hexdigest()) is not None:
            return True
        return measure(wasm).bulk <= INLINE_BYTES

    def clear(self) -> None:
        self._engine_code = None

    def warm(self, compiling: Callable[[], None]) -> None:
        """Load the engine; `compiling` is called before it is compiled. `BackendError` when there
        is none.
        """
        self._load_engine(SOLE_TENANT, compiling)

    def _load_engine(
        self, tenant: Tenant, compiling: Callable[[], None] = ignore_compiling
    ) -> SealedCode:
        if self._engine_code is None:
            try:
                wasm = files.read_bounded(self._engine, MODULE_BYTES)
                self._engine_code = self._native_code.get(wasm, tenant, compiling)
            except (OSError, UnfitModule) as problem:
                reason = f"no JavaScript engine: {one_line(str(problem))}"
                raise BackendError(
                    "EUNAVAILABLE", reason, source="sandbox", suggestion="run scripts/build-engine"
                ) from None
        return self._engine_code


def _read_own_source(wasm: bytes) -> str | None:
    """Return the source in a module that `make_module` made; None for every other module, which is
    code to us whatever it holds.
    """
    try:
        source = read_source(wasm)
        return source if make_module(source) == wasm else None
    except UsageError:
        return None
