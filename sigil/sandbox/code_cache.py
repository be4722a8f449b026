"""What runners are given when they need it: the engine, native code, or a JavaScript source."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
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
from sigil.sandbox.tenants import NOBODY, Tenant
from sigil.storage import files

_HELD = 32
_HELD_BYTES = 64 << 20


def ignore_compiling() -> None:
    """Do nothing: nobody waits to hear that something is compiled."""


class NativeCodeCache:
    """Native code by module. Thread-safe; two threads that want the same module compile it once."""

    def __init__(self, folder: Path | None, compile_jobs: CompileJobs) -> None:
        self._folder = folder
        self._compile_jobs = compile_jobs
        self._lock = threading.Lock()
        self._busy: dict[str, threading.Lock] = {}
        self._held: OrderedDict[str, SealedCode] = OrderedDict()
        self._store: CodeStore | None = None

    def held(self, digest: str) -> SealedCode | None:
        """Return the code of the module with this sha256 (hex) when it is in memory."""
        with self._lock:
            code = self._held.get(digest)
            if code is not None:
                self._held.move_to_end(digest)
            return code

    def code(
        self, wasm: bytes, tenant: Tenant = NOBODY, compiling: Callable[[], None] = ignore_compiling
    ) -> SealedCode:
        """Return the code of `wasm`: at hand, stored, or compiled now.

        `UnfitModule` when it cannot be compiled within the limits.

        A turn at the compilers comes before the module's lock: nobody waits here for somebody
        else's turn. `compiling` is called before it is compiled, which takes a while.
        """
        digest = sha256(wasm).hexdigest()
        code = self._find(digest)
        if code:
            return code
        with self._compile_jobs.turn(tenant):
            return self._compile_once(digest, wasm, compiling)

    def _compile_once(self, digest: str, wasm: bytes, compiling: Callable[[], None]) -> SealedCode:
        with self._lock:
            busy = self._busy.setdefault(digest, threading.Lock())
        try:
            with busy:
                return self._find(digest) or self._hold(
                    digest, self._compile(digest, wasm, compiling)
                )
        finally:
            with self._lock:
                self._busy.pop(digest, None)

    def _find(self, digest: str) -> SealedCode | None:
        code = self.held(digest)
        if code:
            return code
        kept = self._read_stored(digest)
        return self._hold(digest, kept) if kept else None

    def close(self) -> None:
        with self._lock:
            self._held.clear()

    def _hold(self, digest: str, code: SealedCode) -> SealedCode:
        with self._lock:
            self._held[digest] = code
            while len(self._held) > _HELD or (
                len(self._held) > 1 and sum(each.size for each in self._held.values()) > _HELD_BYTES
            ):
                self._held.popitem(last=False)
        return code

    def _read_stored(self, digest: str) -> SealedCode | None:
        for store in self._stores():
            code = store.read(digest)
            if code:
                return code
        return None

    def _stores(self) -> Iterator[CodeStore]:
        shipped = open_shipped()
        if shipped:
            yield shipped
        own = self._open()
        if own:
            yield own

    def _compile(self, digest: str, wasm: bytes, compiling: Callable[[], None]) -> SealedCode:
        compiling()
        code = self._compile_jobs.work("compile", wasm)
        store = self._open()
        if store:
            store.write(digest, code)
        return code

    def _open(self) -> CodeStore | None:
        with self._lock:
            if self._store is None and self._folder is not None:
                self._store = CodeStore(self._folder, fingerprint())
            return self._store


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


class CodeCache:
    """Finds the code that a runner needs: the engine, native code, or a JavaScript source.
    Thread-safe.
    """

    def __init__(self, engine: Path, native_code: NativeCodeCache) -> None:
        self._engine = engine
        self._native_code = native_code
        self._engine_code: SealedCode | None = None

    def fetch(
        self, program: Program, name: str, *, images: bool, tenant: Tenant = NOBODY
    ) -> LoadableCode:
        """Return the code of `name` (the program or the engine) for a runner, which can make
        `images` or not.

        `UnfitModule` when the module cannot be taken, `BackendError` when there is no engine.
        """
        if name == ENGINE:
            return LoadableCode(self._load_engine(tenant), LoadedProgram(0))
        wasm = program.load()
        source = _source(wasm) if images and program.kind == "js" else None
        if source is not None:
            return LoadableCode(
                source,
                LoadedProgram(_CHANGED + _LOADED * len(source), program.rank, program.expires),
            )
        shape = scan(wasm, ABIS[program.kind]) if program.kind in ABIS else measure(wasm)
        code = self._native_code.held(sha256(wasm).hexdigest()) or (
            None if shape.bulk <= INLINE_BYTES else self._native_code.code(wasm, tenant)
        )
        weight = (code.size if code else 0) + min(shape.memory, _IMAGE_BYTES)
        return LoadableCode(
            code or wasm, LoadedProgram(max(_LEAST_BYTES, weight), program.rank, program.expires)
        )

    def at_hand(self, program: Program, *, images: bool) -> bool:
        """Return whether `fetch` would return the program at once, without a compiler."""
        wasm = program.load()
        if images and program.kind == "js" and _source(wasm) is not None:
            return True
        return (
            self._native_code.held(sha256(wasm).hexdigest()) is not None
            or measure(wasm).bulk <= INLINE_BYTES
        )

    def clear(self) -> None:
        self._engine_code = None

    def warm(self, compiling: Callable[[], None]) -> None:
        """Load the engine; `compiling` is called before it is compiled. `BackendError` when there
        is none.
        """
        self._load_engine(NOBODY, compiling)

    def _load_engine(
        self, tenant: Tenant, compiling: Callable[[], None] = ignore_compiling
    ) -> SealedCode:
        if self._engine_code is None:
            try:
                self._engine_code = self._native_code.code(
                    files.read_bounded(self._engine, MODULE_BYTES), tenant, compiling
                )
            except (OSError, UnfitModule) as problem:
                reason = f"no JavaScript engine: {one_line(str(problem))}"
                raise BackendError(
                    "EUNAVAILABLE", reason, source="sandbox", suggestion="run scripts/build-engine"
                ) from None
        return self._engine_code


def _source(wasm: bytes) -> str | None:
    """Return the source in a JavaScript capability's module; None for a module of another making,
    which is code to us.
    """
    try:
        source = read_source(wasm)
        return source if make_module(source) == wasm else None
    except UsageError:
        return None
