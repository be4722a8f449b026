"""Drives wasmtime: the engine's settings, linking, one fresh instance a call, traps in our own
words.

This is the only module that knows the runtime. A guest's pointers are 32-bit numbers until they are
checked against the size of its memory, which is read anew after each call into the guest. A store
lives for one call and never longer, whatever its end.

A call takes some thirty steps of a microsecond or less, so what they pass is made once: references,
and a place for each export.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import byref, c_int, c_int32, c_long, c_size_t, c_uint32, c_void_p
from functools import partial
from typing import Any, NamedTuple

from sigil.sandbox import capi, runtime_features, wasi_functions
from sigil.sandbox.faults import Faults, Invalid, Stopped
from sigil.sandbox.wasi import WasiCommands

TWO = struct.Struct("<2I")
"""Two of a guest's pointers or sizes."""
_BUFFERS = struct.Struct("<5I")


class EngineBuffers(NamedTuple):
    """Addresses in the guest's memory: of the `room` bytes for an input, of the output's place and
    length, of the end of what it needs.
    """

    input: int
    room: int
    output: int
    end: int

    @classmethod
    def at(cls, address: int, memory: bytes) -> EngineBuffers:
        """Read the buffers at `address`, as shim.c lays them out: input, its room, output, its
        length, the end.
        """
        pointer, room, _, _, end = _BUFFERS.unpack_from(memory, address)
        return cls(pointer, room, address + TWO.size, end)

    def fits(self, memory: int) -> bool:
        """Return whether all of them lie in a memory of so many bytes: then they need not be
        checked again, for a memory never shrinks.
        """
        return (
            self.end <= memory
            and self.input + self.room < self.end
            and self.output + TWO.size <= self.end
        )


_READ, _PRIVATE = 1, 2  # sys/mman.h
_FAILED = c_void_p(-1).value


@contextmanager
def map_file(descriptor: int, size: int) -> Iterator[int]:
    """Map the first `size` bytes, read only, until the end of the `with`; yield their address.

    Only two system calls are needed, which a locked process still has. `OSError` when they cannot
    be mapped.
    """
    c = ctypes.CDLL(None)
    c.mmap.restype = c_void_p
    address = c.mmap(None, c_size_t(size), _READ, _PRIVATE, c_int(descriptor), c_long(0))
    if address is None or address == _FAILED:
        raise OSError("a file cannot be mapped")
    try:
        yield address
    finally:
        c.munmap(c_void_p(address), c_size_t(size))


__all__ = ("LINKED", "Driver", "Host", "Invalid", "Loaded")

LINKED = b"sigil_js_v1"
"""Under this name a module imports what the JavaScript engine exports."""

_REQUEST_LIMIT = 1 << 20
_ABI = ("start", "alloc", "load", "pack", "hold", "unpack", "tidy", "run", "out_ptr", "out_len")
_NAMES = (b"memory", *(f"sigil_{verb}".encode() for verb in _ABI), wasi_functions.START)


class Loaded(NamedTuple):
    """A module ready to run. `pre`: linked to the host (0 for a module that is linked to the
    engine); `imports`: of the latter.

    `command`: a program of WASI preview 1.
    """

    module: int
    pre: int
    imports: tuple[bytes, ...] = ()
    command: bool = False


Host = Callable[[bytes], bytes | None]
"""Answers a guest's request; None when it is not a request."""


class Driver:
    """One engine of the runtime and what is loaded in it; one call at a time, on one thread."""

    def __init__(self, library: str, *, pooling: bool = True, target: str = "") -> None:
        self._c = capi.load(library)
        self._faults = Faults(self._c)
        self._engine = capi.engine(self._c, pooling, target)
        self._callbacks = (capi.HostFunction(self._on_call), capi.HostFunction(self._on_take))
        self._linker = capi.linker(self._c, self._engine, self._callbacks)
        self._commands = WasiCommands(self._c, self.place)
        self._host: Host = _refuse_request
        self._waiting = b""
        self._context: int = 0
        self._instances = (capi.Instance(), capi.Instance())
        self._from = byref(self._instances[0])
        self._trap = c_void_p()
        self._on_trap = byref(self._trap)
        self._arguments = (capi.Value * 2)()
        self._first, self._second = self._arguments
        self._result = capi.Value()
        self._on_result = byref(self._result)
        self._exports: dict[bytes, tuple[capi.Extern, Any, Any]] = {}
        for name in _NAMES:
            extern = capi.Extern()
            self._exports[name] = (extern, byref(extern), byref(extern, 8))
        self._memory = self._exports[b"memory"][2]

    # -- loading

    def compile(self, wasm: bytes) -> int:
        """Return a module from its bytes; `Invalid` when it is not valid."""
        module = c_void_p()
        self._faults.sound(
            self._c.wasmtime_module_new(self._engine, wasm, len(wasm), byref(module))
        )
        return module.value or 0

    def assemble(self, text: bytes) -> bytes:
        """Return the bytes of the module whose text form `text` is; `Invalid` when it is none."""
        vector = capi.Bytes()
        self._faults.sound(self._c.wasmtime_wat2wasm(text, len(text), byref(vector)))
        return self._faults.taken(vector)

    def serialize(self, module: int) -> bytes:
        """Return the native code of `module`."""
        vector = capi.Bytes()
        self._faults.sound(self._c.wasmtime_module_serialize(module, byref(vector)))
        return self._faults.taken(vector)

    def restore(self, path: str) -> int:
        """Load a module from the file of native code at `path`, which must be our own: nothing
        checks what it does.
        """
        module = c_void_p()
        self._faults.sound(
            self._c.wasmtime_module_deserialize_file(self._engine, path.encode(), byref(module))
        )
        return module.value or 0

    def copied(self, descriptor: int, size: int) -> int:
        """Load a module as `restore` does, from an open file and without opening another: it is a
        copy in this process's own memory.
        """
        module = c_void_p()
        with map_file(descriptor, size) as address:
            self._faults.sound(
                self._c.wasmtime_module_deserialize(self._engine, address, size, byref(module))
            )
        return module.value or 0

    def prepare(self, module: int) -> Loaded:
        """Link `module` to the host's functions, or make it ready to be linked to the engine."""
        names = capi.imports(self._c, module)
        if any(owner == LINKED for owner, _ in names):
            return Loaded(module, 0, tuple(name for _, name in names))
        command = any(owner == wasi_functions.MODULE for owner, _ in names)
        if command:
            self._commands.link(self._linker)
        pre = c_void_p()
        error = self._c.wasmtime_linker_instantiate_pre(self._linker, module, byref(pre))
        if error:
            self._c.wasmtime_module_delete(module)
        self._faults.sound(error)
        return Loaded(module, pre.value or 0, command=command)

    def unload(self, loaded: Loaded) -> None:
        if loaded.pre:
            self._c.wasmtime_instance_pre_delete(loaded.pre)
        self._c.wasmtime_module_delete(loaded.module)

    # -- calling

    def bump(self) -> None:
        """Let the epoch pass: a call in progress ends. The only verb that another thread may
        use.
        """
        self._c.wasmtime_engine_increment_epoch(self._engine)

    def call(
        self,
        program: Loaded,
        engine: Loaded | None,
        data: bytes,
        limits: tuple[int, int],
        host: Host,
    ) -> tuple[bool, bytes]:
        """Run `program` on `data`; return whether it succeeded, and its output.

        `limits`: memory and output in bytes.
        """
        store = self.open(limits[0], host)
        try:
            self.enter(program, engine)
            if program.command:
                return self._commands.run(
                    partial(self._begin, wasi_functions.START, 0), data, limits[1], host
                )
            if self._start():
                return False, self.output(limits[1])
            return self.answer(data, limits[1])
        finally:
            self.close(store)

    def open(self, memory_bytes: int, host: Host) -> int:
        """Open a store for one call, to be closed at its end; until then the other verbs work in
        it.
        """
        store: int = self._c.wasmtime_store_new(self._engine, None, None)
        self._context = self._c.wasmtime_store_context(store)
        memory_bytes = min(memory_bytes, runtime_features.MEMORY_BYTES)
        self._c.wasmtime_store_limiter(
            store, memory_bytes, runtime_features.TABLE_ELEMENTS, 2, runtime_features.TABLES, 1
        )
        self._c.wasmtime_context_set_epoch_deadline(self._context, 1)
        self._host = host
        return store

    def close(self, store: int) -> None:
        self._host, self._waiting, self._context = _refuse_request, b"", 0
        self._c.wasmtime_store_delete(store)

    def enter(self, program: Loaded, engine: Loaded | None = None) -> None:
        """Make a fresh instance, the one whose exports are called from now on. Its memory, or the
        engine's, is what the host sees.
        """
        first = program if program.pre else engine
        if first is None:
            raise Stopped("EMODULE", "the module needs the JavaScript engine")
        self._from = byref(self._instances[0])
        error = self._c.wasmtime_instance_pre_instantiate(
            first.pre, self._context, self._from, self._on_trap
        )
        if error or self._trap:
            self._faults.check(error, self._trap)
        self._export(b"memory", capi.EXTERN_MEMORY)
        if first is not program:
            self._link(program)

    def invoke(self, name: bytes, *arguments: int) -> int:
        """Call an export with at most two integers; return its result."""
        function = self._export(name)
        if arguments:
            self._first.i32 = arguments[0]
            if len(arguments) > 1:
                self._second.i32 = arguments[1]
        error = self._c.wasmtime_func_call(
            self._context,
            function,
            self._arguments,
            len(arguments),
            self._on_result,
            1,
            self._on_trap,
        )
        if error or self._trap:
            self._faults.check(error, self._trap)
        return self._result.i32

    def give(self, data: bytes) -> int:
        """Copy `data` into the guest; return the copy's address there."""
        pointer = self.invoke(b"sigil_alloc", len(data))
        if not pointer:
            raise Stopped("ENOMEM", "no room for the input")
        ctypes.memmove(self.place(pointer, len(data)), data, len(data))
        return pointer

    def answer(self, data: bytes, limit: int) -> tuple[bool, bytes]:
        """Run the instance on `data`."""
        failed = self.invoke(b"sigil_run", self.give(data), len(data))
        return not failed, self.output(limit)

    def run_in_buffers(
        self, buffers: EngineBuffers, data: bytes, limit: int, memory: int
    ) -> tuple[bool, bytes]:
        """As `answer`, on an instance whose memory begins at `memory` and whose input buffer is
        large enough: three calls into it less.
        """
        ctypes.memmove(memory + buffers.input, data, len(data))
        failed = self.invoke(b"sigil_run", buffers.input, len(data))
        size, memory = self.size(), self._c.wasmtime_memory_data(self._context, self._memory)
        pointer, length = TWO.unpack(ctypes.string_at(memory + buffers.output, TWO.size))
        if length > limit:
            raise _too_long(limit)
        if pointer + length > size:
            raise Stopped("ETRAP", "a pointer of the module's lies outside its memory")
        return not failed, ctypes.string_at(memory + pointer, length)

    def output(self, limit: int) -> bytes:
        pointer, length = self.invoke(b"sigil_out_ptr"), self.invoke(b"sigil_out_len")
        if length > limit:
            raise _too_long(limit)
        return ctypes.string_at(self.place(pointer, length), length)

    def place(self, pointer: int, length: int) -> int:
        """Return the address in this process of `length` bytes at the guest's `pointer`, valid
        until the guest runs again.
        """
        if pointer + length > self.size():
            raise Stopped("ETRAP", "a pointer of the module's lies outside its memory")
        return int(self._c.wasmtime_memory_data(self._context, self._memory)) + pointer

    def size(self) -> int:
        """Return the bytes of the guest's memory."""
        return int(self._c.wasmtime_memory_data_size(self._context, self._memory))

    def grow(self, size: int) -> None:
        """Make the guest's memory `size` bytes large, a multiple of 64 KiB."""
        missing = (size - self.size()) >> 16
        error = (
            self._c.wasmtime_memory_grow(
                self._context, self._memory, missing, byref(ctypes.c_uint64())
            )
            if missing > 0
            else 0
        )
        if error:
            self._c.wasmtime_error_delete(error)
            raise Stopped("ENOMEM", "out of memory")

    def _link(self, program: Loaded) -> None:
        externs = (capi.Extern * len(program.imports))()
        for extern, name in zip(externs, program.imports, strict=True):
            if not self._c.wasmtime_instance_export_get(
                self._context, self._from, name, len(name), byref(extern)
            ):
                raise Stopped("EMODULE", "the module needs what the engine does not have")
        self._from = byref(self._instances[1])
        error = self._c.wasmtime_instance_new(
            self._context, program.module, externs, len(externs), self._from, self._on_trap
        )
        self._faults.check(error, self._trap)

    def _start(self) -> int:
        """Call the optional `sigil_start`; return its result, 0 when it has none or is missing."""
        name = b"sigil_start"
        if not self._c.wasmtime_instance_export_get(
            self._context, self._from, name, len(name), self._exports[name][1]
        ):
            return 0
        self._result.i32 = 0
        try:
            self._begin(name, 1)
        except Stopped as stopped:
            if stopped.code != "EMODULE":
                raise
            self._begin(name, 0)
        return self._result.i32

    def _begin(self, name: bytes, results: int) -> None:
        function = self._export(name)
        error = self._c.wasmtime_func_call(
            self._context, function, self._arguments, 0, self._on_result, results, self._on_trap
        )
        self._faults.check(error, self._trap)

    def _export(self, name: bytes, kind: int = capi.EXTERN_FUNC) -> Any:
        """Return a reference to the export; `Stopped` when there is none of that kind."""
        extern, whole, inner = self._exports[name]
        if (
            not self._c.wasmtime_instance_export_get(
                self._context, self._from, name, len(name), whole
            )
            or extern.kind != kind
        ):
            raise Stopped("EMODULE", f"the module exports no {name.decode()}")
        return inner

    # -- what the guest may call

    def _on_call(self, _environment: int, _caller: int, slots: int, _count: int) -> int:
        pointer = c_uint32.from_address(slots).value
        length = c_uint32.from_address(slots + capi.SLOT).value
        try:
            answer = (
                self._host(ctypes.string_at(self.place(pointer, length), length))
                if length <= _REQUEST_LIMIT
                else None
            )
        except Exception:  # noqa: BLE001 (entry point: nothing may leave through C; an odd request is none)
            answer = None
        self._waiting = answer or b""
        c_int32.from_address(slots).value = -1 if answer is None else len(answer)
        return 0

    def _on_take(self, _environment: int, _caller: int, slots: int, _count: int) -> int:
        answer, self._waiting = self._waiting, b""
        try:
            ctypes.memmove(
                self.place(c_uint32.from_address(slots).value, len(answer)), answer, len(answer)
            )
        except Stopped:
            return int(self._c.wasmtime_trap_new_code(capi.TRAP_MEMORY_OUT_OF_BOUNDS))
        return 0


def _too_long(limit: int) -> Stopped:
    return Stopped("ELIMIT", f"the output is larger than {limit} bytes")


def _refuse_request(_request: bytes) -> bytes | None:
    return None
