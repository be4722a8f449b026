"""Drives wasmtime: it loads and links modules and makes a fresh instance for each call.

This is the only module that knows the runtime. A guest's pointers are 32-bit numbers until they are
checked against the size of its memory, which is read anew after each call into the guest. A store
lives for one call and never longer, whatever its end.

A call takes some thirty steps of a microsecond or less, so the references that they pass, and a
place for each export, are made once.
"""

from __future__ import annotations

import ctypes
import struct
from ctypes import byref, c_int, c_int32, c_long, c_size_t, c_uint32, c_void_p

from sigil.sandbox.runtime import capi, config, wasi_functions
from sigil.sandbox.runtime.faults import Faults, GuestStopped, InvalidModule
from sigil.sandbox.runtime.wasi import WasiCommands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Host = Callable[[bytes], bytes | None]
    """Answers a guest's request; None when it is not a request."""

TWO = struct.Struct("<2I")
"""Two pointers or sizes in a guest's memory."""
_BUFFERS = struct.Struct("<5I")


class EngineBuffers:
    """Addresses in the guest's memory: of `capacity` bytes for an input, of the output's pointer
    and length, and of the end of the memory that it uses.
    """

    __slots__ = ("capacity", "end", "input", "output")

    def __init__(self, address: int, memory: bytes) -> None:
        """Read the buffers at `address`, as shim.c lays them out: input, its capacity, output, its
        length, the end.
        """
        buffers: tuple[int, ...] = _BUFFERS.unpack_from(memory, address)
        self.input, self.capacity, _, _, self.end = buffers
        self.output = address + TWO.size

    def fits(self, memory: int) -> bool:
        """Return whether all of them lie in a memory of so many bytes. They need not be checked
        again then, for a memory never shrinks.
        """
        return (
            self.end <= memory
            and self.input + self.capacity < self.end
            and self.output + TWO.size <= self.end
        )


_READ, _PRIVATE = 1, 2  # sys/mman.h
_FAILED = c_void_p(-1).value


class _MappedFile:
    """The first `size` bytes of a file, mapped read only until the end of the `with`, which gives
    their address.

    Only two system calls are needed, which a locked process still has. `OSError` when they cannot
    be mapped.
    """

    def __init__(self, descriptor: int, size: int) -> None:
        self._c = ctypes.CDLL(None)
        self._c.mmap.restype = c_void_p
        self._size = c_size_t(size)
        self._address: int | None = self._c.mmap(
            None, self._size, _READ, _PRIVATE, c_int(descriptor), c_long(0)
        )

    def __enter__(self) -> int:
        if self._address is None or self._address == _FAILED:
            raise OSError("a file cannot be mapped")
        return self._address

    def __exit__(self, *_error: object) -> None:
        self._c.munmap(c_void_p(self._address), self._size)


__all__ = ("LINKED", "Driver", "Host", "InvalidModule", "LoadedModule")

LINKED = b"sigil_js_v1"
"""The name under which a module imports the functions of the JavaScript engine."""

_REQUEST_LIMIT = 1 << 20
_ABI = ("start", "alloc", "load", "pack", "hold", "unpack", "tidy", "run", "out_ptr", "out_len")
_NAMES = (b"memory", *(f"sigil_{verb}".encode() for verb in _ABI), wasi_functions.START)


class LoadedModule:
    """A module that is ready to run. `pre`: it is linked to the host; 0 for one that is linked to
    the engine, whose `imports` are named.

    `command`: a program of WASI preview 1.
    """

    __slots__ = ("command", "imports", "module", "pre")

    def __init__(
        self, module: int, pre: int, imports: tuple[bytes, ...] = (), command: bool = False
    ) -> None:
        self.module = module
        self.pre = pre
        self.imports = imports
        self.command = command


class Driver:
    """One engine of the runtime and what is loaded in it; one call at a time, on one thread."""

    def __init__(self, library: str, *, pooling: bool = True, target: str = "") -> None:
        self._c = capi.load(library)
        self._faults = Faults(self._c)
        self._engine = capi.new_engine(self._c, pooling, target)
        self._callbacks = (
            capi.HostFunction(self._answer_call),
            capi.HostFunction(self._hand_over_answer),
        )
        self._linker = capi.new_linker(self._c, self._engine, self._callbacks)
        self._commands = WasiCommands(self._c, self.address)
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
        """Return a module from its bytes; `InvalidModule` when it is not valid."""
        module = c_void_p()
        self._faults.check_loaded(
            self._c.wasmtime_module_new(self._engine, wasm, len(wasm), byref(module))
        )
        return module.value or 0

    def assemble(self, text: bytes) -> bytes:
        """Return the bytes of the module whose text form is `text`; `InvalidModule` when it is not
        valid.
        """
        vector = capi.Bytes()
        self._faults.check_loaded(self._c.wasmtime_wat2wasm(text, len(text), byref(vector)))
        return self._faults.take_bytes(vector)

    def serialize(self, module: int) -> bytes:
        """Return the native code of `module`."""
        vector = capi.Bytes()
        self._faults.check_loaded(self._c.wasmtime_module_serialize(module, byref(vector)))
        return self._faults.take_bytes(vector)

    def load_file(self, path: str) -> int:
        """Load a module from the file of native code at `path`, which must be our own: nothing
        checks what it does.
        """
        module = c_void_p()
        self._faults.check_loaded(
            self._c.wasmtime_module_deserialize_file(self._engine, path.encode(), byref(module))
        )
        return module.value or 0

    def load_copy(self, descriptor: int, size: int) -> int:
        """Load a module as `load_file` does, from an open file and without opening another: it is a
        copy in this process's own memory.
        """
        module = c_void_p()
        with _MappedFile(descriptor, size) as address:
            self._faults.check_loaded(
                self._c.wasmtime_module_deserialize(self._engine, address, size, byref(module))
            )
        return module.value or 0

    def prepare(self, module: int) -> LoadedModule:
        """Link `module` to the host's functions, or make it ready to be linked to the engine."""
        names = capi.read_imports(self._c, module)
        if any(owner == LINKED for owner, _ in names):
            return LoadedModule(module, 0, tuple(name for _, name in names))
        command = any(owner == wasi_functions.MODULE for owner, _ in names)
        if command:
            self._commands.link(self._linker)
        pre = c_void_p()
        error = self._c.wasmtime_linker_instantiate_pre(self._linker, module, byref(pre))
        if error:
            self._c.wasmtime_module_delete(module)
        self._faults.check_loaded(error)
        return LoadedModule(module, pre.value or 0, command=command)

    def unload(self, loaded: LoadedModule) -> None:
        if loaded.pre:
            self._c.wasmtime_instance_pre_delete(loaded.pre)
        self._c.wasmtime_module_delete(loaded.module)

    # -- calling

    def bump(self) -> None:
        """Increment the epoch, which ends a call in progress. No other method may be called from
        another thread.
        """
        self._c.wasmtime_engine_increment_epoch(self._engine)

    def call(
        self,
        program: LoadedModule,
        engine: LoadedModule | None,
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
                    lambda: self._call_without_arguments(wasi_functions.START, 0),
                    data,
                    limits[1],
                    host,
                )
            if self._call_start():
                return False, self.read_output(limits[1])
            return self.run(data, limits[1])
        finally:
            self.close(store)

    def open(self, memory_bytes: int, host: Host) -> int:
        """Open a store for one call, to be closed at its end; until then the other methods work in
        it.
        """
        store: int = self._c.wasmtime_store_new(self._engine, None, None)
        self._context = self._c.wasmtime_store_context(store)
        memory_bytes = min(memory_bytes, config.MEMORY_BYTES)
        self._c.wasmtime_store_limiter(
            store, memory_bytes, config.TABLE_ELEMENTS, 2, config.TABLES, 1
        )
        self._c.wasmtime_context_set_epoch_deadline(self._context, 1)
        self._host = host
        return store

    def close(self, store: int) -> None:
        self._host = _refuse_request
        self._waiting = b""
        self._context = 0
        self._c.wasmtime_store_delete(store)

    def enter(self, program: LoadedModule, engine: LoadedModule | None = None) -> None:
        """Make a fresh instance, whose exports are called from now on. The host sees its memory, or
        the engine's.
        """
        first = program if program.pre else engine
        if first is None:
            raise GuestStopped("EMODULE", "the module needs the JavaScript engine")
        self._from = byref(self._instances[0])
        error = self._c.wasmtime_instance_pre_instantiate(
            first.pre, self._context, self._from, self._on_trap
        )
        if error or self._trap:
            self._faults.check(error, self._trap)
        self._find_export(b"memory", capi.EXTERN_MEMORY)
        if first is not program:
            self._link_to_engine(program)

    def invoke(self, name: bytes, *arguments: int) -> int:
        """Call an export with at most two integers; return its result."""
        function = self._find_export(name)
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

    def copy_in(self, data: bytes) -> int:
        """Copy `data` into the guest; return the copy's address there."""
        pointer = self.invoke(b"sigil_alloc", len(data))
        if not pointer:
            raise GuestStopped("ENOMEM", "out of memory for the input")
        ctypes.memmove(self.address(pointer, len(data)), data, len(data))
        return pointer

    def run(self, data: bytes, limit: int) -> tuple[bool, bytes]:
        """Run the instance on `data`; return whether it succeeded, and its output of at most
        `limit` bytes.
        """
        failed = self.invoke(b"sigil_run", self.copy_in(data), len(data))
        return not failed, self.read_output(limit)

    def run_in_buffers(
        self, buffers: EngineBuffers, data: bytes, limit: int, memory: int
    ) -> tuple[bool, bytes]:
        """Run the instance as `run` does, where its memory begins at `memory` and its input buffer
        is large enough: it is called three times less.
        """
        ctypes.memmove(memory + buffers.input, data, len(data))
        failed = self.invoke(b"sigil_run", buffers.input, len(data))
        size = self.memory_size()
        memory = self._c.wasmtime_memory_data(self._context, self._memory)
        pointer, length = TWO.unpack(ctypes.string_at(memory + buffers.output, TWO.size))
        if length > limit:
            raise _too_long(limit)
        if pointer + length > size:
            raise GuestStopped("ETRAP", "a pointer of the module's lies outside its memory")
        return not failed, ctypes.string_at(memory + pointer, length)

    def read_output(self, limit: int) -> bytes:
        """Return the guest's output; `GuestStopped` ELIMIT when it is longer than `limit` bytes."""
        pointer = self.invoke(b"sigil_out_ptr")
        length = self.invoke(b"sigil_out_len")
        if length > limit:
            raise _too_long(limit)
        return ctypes.string_at(self.address(pointer, length), length)

    def address(self, pointer: int, length: int) -> int:
        """Return the address in this process of `length` bytes at the guest's `pointer`, valid
        until the guest runs again. `GuestStopped` ETRAP when they lie outside its memory.
        """
        if pointer + length > self.memory_size():
            raise GuestStopped("ETRAP", "a pointer of the module's lies outside its memory")
        return int(self._c.wasmtime_memory_data(self._context, self._memory)) + pointer

    def memory_size(self) -> int:
        """Return the bytes of the guest's memory."""
        return int(self._c.wasmtime_memory_data_size(self._context, self._memory))

    def grow_memory(self, size: int) -> None:
        """Make the guest's memory `size` bytes large, a multiple of 64 KiB."""
        missing = (size - self.memory_size()) >> 16
        if missing <= 0:
            return
        error = self._c.wasmtime_memory_grow(
            self._context, self._memory, missing, byref(ctypes.c_uint64())
        )
        if error:
            self._c.wasmtime_error_delete(error)
            raise GuestStopped("ENOMEM", "out of memory")

    def _link_to_engine(self, program: LoadedModule) -> None:
        """Make an instance of `program` that imports the functions of the engine's instance."""
        externs = (capi.Extern * len(program.imports))()
        for extern, name in zip(externs, program.imports, strict=True):
            if not self._c.wasmtime_instance_export_get(
                self._context, self._from, name, len(name), byref(extern)
            ):
                raise GuestStopped("EMODULE", "the module needs what the engine does not have")
        self._from = byref(self._instances[1])
        error = self._c.wasmtime_instance_new(
            self._context, program.module, externs, len(externs), self._from, self._on_trap
        )
        self._faults.check(error, self._trap)

    def _call_start(self) -> int:
        """Call the optional `sigil_start`; return its result, 0 when it has none or is missing."""
        name = b"sigil_start"
        if not self._c.wasmtime_instance_export_get(
            self._context, self._from, name, len(name), self._exports[name][1]
        ):
            return 0
        self._result.i32 = 0
        try:
            self._call_without_arguments(name, 1)
        except GuestStopped as stopped:
            if stopped.code != "EMODULE":
                raise
            self._call_without_arguments(name, 0)
        return self._result.i32

    def _call_without_arguments(self, name: bytes, results: int) -> None:
        function = self._find_export(name)
        error = self._c.wasmtime_func_call(
            self._context, function, self._arguments, 0, self._on_result, results, self._on_trap
        )
        self._faults.check(error, self._trap)

    def _find_export(self, name: bytes, kind: int = capi.EXTERN_FUNC) -> Any:
        """Return a reference to the export; `GuestStopped` when there is none of that kind."""
        extern, whole, inner = self._exports[name]
        found = self._c.wasmtime_instance_export_get(
            self._context, self._from, name, len(name), whole
        )
        if not found or extern.kind != kind:
            raise GuestStopped("EMODULE", f"the module exports no {name.decode()}")
        return inner

    # -- the host functions that the guest may call

    def _answer_call(self, _environment: int, _caller: int, slots: int, _count: int) -> int:
        """Serve `sigil.call`: a request's pointer and length → its answer's length, or -1 when it
        is no request.
        """
        pointer = c_uint32.from_address(slots).value
        length = c_uint32.from_address(slots + capi.SLOT).value
        answer = None
        try:
            if length <= _REQUEST_LIMIT:
                answer = self._host(ctypes.string_at(self.address(pointer, length), length))
        except Exception:  # noqa: BLE001 (entry point: no exception may leave through C)
            answer = None
        self._waiting = answer or b""
        c_int32.from_address(slots).value = -1 if answer is None else len(answer)
        return 0

    def _hand_over_answer(self, _environment: int, _caller: int, slots: int, _count: int) -> int:
        """Serve `sigil.take`: copy the answer of the last request to the guest's pointer."""
        answer = self._waiting
        self._waiting = b""
        pointer = c_uint32.from_address(slots).value
        try:
            ctypes.memmove(self.address(pointer, len(answer)), answer, len(answer))
        except GuestStopped:
            return int(self._c.wasmtime_trap_new_code(capi.TRAP_MEMORY_OUT_OF_BOUNDS))
        return 0


def _too_long(limit: int) -> GuestStopped:
    return GuestStopped("ELIMIT", f"the output is larger than {limit} bytes")


def _refuse_request(_request: bytes) -> bytes | None:
    return None
