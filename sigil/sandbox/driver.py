"""Drives wasmtime: the engine's settings, linking, one fresh instance a call, traps in our own words.

This is the only room that knows the runtime. A guest's pointers are 32-bit numbers until they are checked against the size of its
memory, which is read anew after each call into the guest. A store lives for one call and never longer, whatever its end.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import byref, c_int32, c_uint32, c_void_p
from typing import NamedTuple

from sigil.sandbox import capi, features

_REQUEST_LIMIT = 1 << 20
_LINKED = b"sigil_js_v1"
_TRAPS = {
    capi.TRAP_STACK_OVERFLOW: ("ESTACK", "the stack overflowed: the recursion is too deep"),
    capi.TRAP_MEMORY_OUT_OF_BOUNDS: ("ETRAP", "memory access out of bounds"),
    capi.TRAP_UNREACHABLE: ("ETRAP", "unreachable code was reached"),
    capi.TRAP_INTERRUPT: ("ETIMEDOUT", "timed out"),
    3: ("ETRAP", "table access out of bounds"),
    4: ("ETRAP", "an indirect call of nothing"),
    5: ("ETRAP", "an indirect call with a wrong type"),
    6: ("ETRAP", "integer overflow"),
    7: ("ETRAP", "integer division by zero"),
    8: ("ETRAP", "a number does not fit an integer"),
}


class Stopped(Exception):
    """The call ended without an answer of the guest's. `code` and `message` are our own words."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message


class Invalid(Exception):
    """The module is not valid; the text is the compiler's and may quote the module."""


class Loaded(NamedTuple):
    """A module ready to run. `pre`: linked to the host (0 for a module that is linked to the engine); `imports`: of the latter."""

    module: int
    pre: int
    imports: tuple[bytes, ...] = ()


Host = Callable[[bytes], bytes | None]
"""Answers a guest's request; None when it is not a request."""


class Driver:
    """One engine of the runtime and what is loaded in it; one call at a time, on one thread."""

    def __init__(self, library: str, *, pooling: bool = True, target: str = "") -> None:
        self._c = capi.load(library)
        self._engine = capi.engine(self._c, pooling, target)
        self._callbacks = (capi.HostFunction(self._on_call), capi.HostFunction(self._on_take))
        self._linker = capi.linker(self._c, self._engine, self._callbacks)
        self._host: Host = _deaf
        self._waiting = b""
        self._context: int = 0
        self._memory = capi.Extern()
        self._trap = c_void_p()
        self._arguments = (capi.Value * 2)()
        self._result = capi.Value()

    # -- loading -----------------------------------------------------------------------------------------------------------

    def compile(self, wasm: bytes) -> int:
        """A module from its bytes; `Invalid` when it is not valid."""
        module = c_void_p()
        self._sound(self._c.wasmtime_module_new(self._engine, wasm, len(wasm), byref(module)))
        return module.value or 0

    def assemble(self, text: bytes) -> bytes:
        """The bytes of the module whose text form `text` is; `Invalid` when it is none."""
        vector = capi.Bytes()
        self._sound(self._c.wasmtime_wat2wasm(text, len(text), byref(vector)))
        return self._taken(vector)

    def serialize(self, module: int) -> bytes:
        """The native code of `module`."""
        vector = capi.Bytes()
        self._sound(self._c.wasmtime_module_serialize(module, byref(vector)))
        return self._taken(vector)

    def restore(self, path: str) -> int:
        """A module from the file of native code at `path`, which must be our own: nothing checks what it does."""
        module = c_void_p()
        self._sound(self._c.wasmtime_module_deserialize_file(self._engine, path.encode(), byref(module)))
        return module.value or 0

    def prepare(self, module: int) -> Loaded:
        """`module` linked to the host's functions, or ready to be linked to the engine."""
        names = self._imports(module)
        if any(owner == _LINKED for owner, _ in names):
            return Loaded(module, 0, tuple(name for _, name in names))
        pre = c_void_p()
        error = self._c.wasmtime_linker_instantiate_pre(self._linker, module, byref(pre))
        if error:
            self._c.wasmtime_module_delete(module)
        self._sound(error)
        return Loaded(module, pre.value or 0)

    def unload(self, loaded: Loaded) -> None:
        if loaded.pre:
            self._c.wasmtime_instance_pre_delete(loaded.pre)
        self._c.wasmtime_module_delete(loaded.module)

    # -- calling -----------------------------------------------------------------------------------------------------------

    def bump(self) -> None:
        """Let the epoch pass: a call in progress ends. The only verb that another thread may use."""
        self._c.wasmtime_engine_increment_epoch(self._engine)

    def call(self, program: Loaded, engine: Loaded | None, data: bytes, limits: tuple[int, int], host: Host) -> tuple[bool, bytes]:
        """Run `program` on `data`: whether it succeeded and its output. `limits`: memory and output in bytes."""
        memory_bytes, output_bytes = limits
        with self._store(min(memory_bytes, features.MEMORY_BYTES)):
            self._host = host
            instance = self._instance(program, engine)
            if self._start(instance):
                return False, self._output(instance, output_bytes)
            pointer = self._invoke(self._export(instance, b"sigil_alloc"), len(data))
            if not pointer:
                raise Stopped("ENOMEM", "no room for the input")
            ctypes.memmove(self._address(pointer, len(data)), data, len(data))
            failed = self._invoke(self._export(instance, b"sigil_run"), pointer, len(data))
            return not failed, self._output(instance, output_bytes)

    @contextmanager
    def _store(self, memory_bytes: int) -> Iterator[None]:
        store = self._c.wasmtime_store_new(self._engine, None, None)
        try:
            self._context = self._c.wasmtime_store_context(store)
            self._c.wasmtime_store_limiter(store, memory_bytes, features.TABLE_ELEMENTS, 2, features.TABLES, 1)
            self._c.wasmtime_context_set_epoch_deadline(self._context, 1)
            yield
        finally:
            self._host, self._waiting, self._context = _deaf, b"", 0
            self._c.wasmtime_store_delete(store)

    def _instance(self, program: Loaded, engine: Loaded | None) -> capi.Instance:
        """A fresh instance; `self._memory` becomes the memory that the host's functions see."""
        first = program if program.pre else engine
        if first is None:
            raise Stopped("EMODULE", "the module needs the JavaScript engine")
        instance = capi.Instance()
        self._check(self._c.wasmtime_instance_pre_instantiate(first.pre, self._context, byref(instance), byref(self._trap)))
        self._memory = self._export(instance, b"memory", capi.EXTERN_MEMORY)
        return instance if first is program else self._linked(program, instance)

    def _linked(self, program: Loaded, engine: capi.Instance) -> capi.Instance:
        externs = (capi.Extern * len(program.imports))()
        for extern, name in zip(externs, program.imports, strict=True):
            if not self._c.wasmtime_instance_export_get(self._context, byref(engine), name, len(name), byref(extern)):
                raise Stopped("EMODULE", "the module needs what the engine does not have")
        instance = capi.Instance()
        self._check(self._c.wasmtime_instance_new(self._context, program.module, externs, len(externs), byref(instance), byref(self._trap)))
        return instance

    def _start(self, instance: capi.Instance) -> int:
        """Call the optional `sigil_start`: what it returns, 0 when it returns nothing or is not there."""
        start = self._find(instance, b"sigil_start")
        if start is None:
            return 0
        for results in (1, 0):
            self._result.i32 = 0
            error = self._c.wasmtime_func_call(
                self._context, byref(start, 8), self._arguments, 0, byref(self._result), results, byref(self._trap)
            )
            if not error or not results:
                break
            self._c.wasmtime_error_delete(error)
        self._check(error)
        return self._result.i32

    def _output(self, instance: capi.Instance, limit: int) -> bytes:
        pointer = self._invoke(self._export(instance, b"sigil_out_ptr"))
        length = self._invoke(self._export(instance, b"sigil_out_len"))
        if length > limit:
            raise Stopped("ELIMIT", f"the output is larger than {limit} bytes")
        return ctypes.string_at(self._address(pointer, length), length)

    def _invoke(self, function: capi.Extern, *arguments: int) -> int:
        for slot, argument in zip(self._arguments, arguments, strict=False):
            slot.i32 = argument
        self._check(
            self._c.wasmtime_func_call(
                self._context, byref(function, 8), self._arguments, len(arguments), byref(self._result), 1, byref(self._trap)
            )
        )
        return self._result.i32

    def _address(self, pointer: int, length: int) -> int:
        """Where `length` bytes at the guest's `pointer` lie in this process, valid until the guest runs again."""
        if pointer + length > self._c.wasmtime_memory_data_size(self._context, byref(self._memory, 8)):
            raise Stopped("ETRAP", "a pointer of the module's lies outside its memory")
        return int(self._c.wasmtime_memory_data(self._context, byref(self._memory, 8))) + pointer

    def _find(self, instance: capi.Instance, name: bytes) -> capi.Extern | None:
        extern = capi.Extern()
        found = self._c.wasmtime_instance_export_get(self._context, byref(instance), name, len(name), byref(extern))
        return extern if found else None

    def _export(self, instance: capi.Instance, name: bytes, kind: int = capi.EXTERN_FUNC) -> capi.Extern:
        extern = self._find(instance, name)
        if extern is None or extern.kind != kind:
            raise Stopped("EMODULE", f"the module exports no {name.decode()}")
        return extern

    # -- what the guest may call -------------------------------------------------------------------------------------------

    def _on_call(self, _environment: int, _caller: int, slots: int, _count: int) -> int:
        pointer, length = c_uint32.from_address(slots).value, c_uint32.from_address(slots + capi.SLOT).value
        try:
            answer = self._host(ctypes.string_at(self._address(pointer, length), length)) if length <= _REQUEST_LIMIT else None
        except Exception:  # noqa: BLE001 (a door: nothing may leave through C; an odd request is none)
            answer = None
        self._waiting = answer or b""
        c_int32.from_address(slots).value = -1 if answer is None else len(answer)
        return 0

    def _on_take(self, _environment: int, _caller: int, slots: int, _count: int) -> int:
        answer, self._waiting = self._waiting, b""
        try:
            ctypes.memmove(self._address(c_uint32.from_address(slots).value, len(answer)), answer, len(answer))
        except Stopped:
            return int(self._c.wasmtime_trap_new_code(capi.TRAP_MEMORY_OUT_OF_BOUNDS))
        return 0

    # -- errors and names --------------------------------------------------------------------------------------------------

    def _imports(self, module: int) -> list[tuple[bytes, bytes]]:
        vector = capi.Bytes()
        self._c.wasmtime_module_imports(module, byref(vector))
        kinds = (c_void_p * vector.size).from_address(vector.data) if vector.data else ()
        names = [(_text(self._c.wasm_importtype_module(kind)), _text(self._c.wasm_importtype_name(kind))) for kind in kinds]
        self._c.wasm_importtype_vec_delete(byref(vector))
        return names

    def _sound(self, error: int | None) -> None:
        if error:
            raise Invalid(self._message(error))

    def _check(self, error: int | None) -> None:
        """Turn an error or a trap of the last call into `Stopped`. Their own text never leaves: it may be the guest's."""
        if error:
            text = self._message(error)
            if "exceeds" in text and "limit" in text:
                raise Stopped("ENOMEM", "the module starts with more memory or tables than it may have")
            if "(os error " in text:
                raise Stopped("EUNAVAILABLE", "there is no address space for a guest's memory")
            raise Stopped("EMODULE", "the module does not keep to the ABI")
        if self._trap:
            code = ctypes.c_uint8()
            known = self._c.wasmtime_trap_code(self._trap, byref(code))
            self._c.wasm_trap_delete(self._trap)
            self._trap.value = None
            raise Stopped(*_TRAPS.get(code.value if known else -1, ("ETRAP", "the module failed")))

    def _message(self, error: int) -> str:
        vector = capi.Bytes()
        self._c.wasmtime_error_message(error, byref(vector))
        self._c.wasmtime_error_delete(error)
        return self._taken(vector).decode("utf-8", "replace")

    def _taken(self, vector: capi.Bytes) -> bytes:
        """The bytes of a vector that the library made, which is freed."""
        data = ctypes.string_at(vector.data, vector.size) if vector.data else b""
        self._c.wasm_byte_vec_delete(byref(vector))
        return data


def _deaf(_request: bytes) -> bytes | None:
    return None


def _text(vector: int) -> bytes:
    name = capi.Bytes.from_address(vector)
    return ctypes.string_at(name.data, name.size) if name.data else b""
