"""The C library of the wasmtime wheel as the driver needs it: declarations only.

The wheel's own Python package is not imported: it declares two thousand functions (30 ms and 6 MB
in every runner). Sources:
`wasmtime/{config,engine,store,module,linker,instance,func,memory,trap,error}.h` and `wasm.h` of the
C API. A test compares every signature and structure here with the wheel's generated bindings.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_bool, c_char_p, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p

from sigil.sandbox.runtime import config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LETTERS: dict[str, type[ctypes._SimpleCData] | None] = {  # type: ignore[type-arg]
    "v": None,
    "p": c_void_p,
    "s": c_char_p,
    "b": c_bool,
    "c": c_uint8,
    "u": c_uint32,
    "q": c_uint64,
    "i": c_int64,
    "z": c_size_t,
}
_KINDS = {"i": 0, "I": 1}  # wasm_valkind_t
_POOL = {
    "total_memories": ("u", 1),
    "total_tables": ("u", config.TABLES),
    "total_core_instances": ("u", 2),
    "total_stacks": ("u", 0),
    "total_gc_heaps": ("u", 0),
    "total_component_instances": ("u", 0),
    "max_memory_size": ("z", config.MEMORY_BYTES),
    "max_tables_per_module": ("u", config.TABLES),
    "table_elements": ("z", config.TABLE_ELEMENTS),
    "max_core_instance_size": ("z", 16 << 20),
    "linear_memory_keep_resident": ("z", 4 << 20),
    "table_keep_resident": ("z", 64 << 10),
}
"""The pool of one call at a time: a slot for a memory, two instances. The bytes that stay resident
cover the JavaScript engine's first memory.
"""

SIGNATURES = {
    "wasm_config_new": "p",
    "wasmtime_config_max_wasm_stack_set": "v pz",
    "wasmtime_config_target_set": "p ps",
    "wasm_engine_new_with_config": "p p",
    "wasmtime_engine_increment_epoch": "v p",
    "wasmtime_pooling_allocation_config_new": "p",
    "wasmtime_pooling_allocation_config_delete": "v p",
    "wasmtime_pooling_allocation_strategy_set": "v pp",
    "wasmtime_module_new": "p pszp",
    "wasmtime_module_delete": "v p",
    "wasmtime_module_serialize": "p pp",
    "wasmtime_module_deserialize": "p ppzp",
    "wasmtime_module_deserialize_file": "p psp",
    "wasmtime_module_imports": "v pp",
    "wasm_importtype_module": "p p",
    "wasm_importtype_name": "p p",
    "wasm_importtype_vec_delete": "v p",
    "wasm_byte_vec_delete": "v p",
    "wasm_valtype_new": "p c",
    "wasm_valtype_vec_new": "v pzp",
    "wasm_functype_new": "p pp",
    "wasm_functype_delete": "v p",
    "wasmtime_linker_new": "p p",
    "wasmtime_linker_define_func_unchecked": "p pszszpppp",
    "wasmtime_linker_instantiate_pre": "p ppp",
    "wasmtime_instance_pre_delete": "v p",
    "wasmtime_instance_pre_instantiate": "p pppp",
    "wasmtime_instance_new": "p pppzpp",
    "wasmtime_instance_export_get": "b ppszp",
    "wasmtime_store_new": "p ppp",
    "wasmtime_store_context": "p p",
    "wasmtime_store_limiter": "v piiiii",
    "wasmtime_store_delete": "v p",
    "wasmtime_context_set_epoch_deadline": "v pq",
    "wasmtime_func_call": "p pppzpzp",
    "wasmtime_memory_data": "p pp",
    "wasmtime_memory_grow": "p ppqp",
    "wasmtime_memory_data_size": "z pp",
    "wasmtime_wat2wasm": "p szp",
    "wasmtime_trap_new_code": "p c",
    "wasmtime_trap_code": "b pp",
    "wasm_trap_delete": "v p",
    "wasmtime_error_message": "v pp",
    "wasmtime_error_delete": "v p",
}
SIGNATURES |= {f"wasmtime_config_{name}_set": "v pb" for name in config.OFF + config.ON}
SIGNATURES |= {
    f"wasmtime_pooling_allocation_config_{name}_set": f"v p{letter}"
    for name, (letter, _) in _POOL.items()
}

EXTERN_FUNC, EXTERN_MEMORY = 0, 3
TRAP_STACK_OVERFLOW, TRAP_MEMORY_OUT_OF_BOUNDS, TRAP_UNREACHABLE, TRAP_INTERRUPT = 0, 1, 9, 10

HostFunction = ctypes.CFUNCTYPE(c_size_t, c_void_p, c_void_p, c_void_p, c_size_t)
"""`wasmtime_func_unchecked_callback_t`: environment, caller, arguments and results (16 bytes each),
their number → trap or 0.
"""
SLOT = 16


class Bytes(ctypes.Structure):
    """`wasm_byte_vec_t`, and by its layout every other vector of the C API."""

    _fields_ = (("size", c_size_t), ("data", c_void_p))
    size: int
    data: int | None


class Extern(ctypes.Structure):
    """`wasmtime_extern_t`; `of` is the union, whose first bytes are a `wasmtime_func_t` or a
    `wasmtime_memory_t`.
    """

    _fields_ = (("kind", c_uint8), ("of", c_uint64 * 3))
    kind: int


class Value(ctypes.Structure):
    """`wasmtime_val_t`; of the union only the 32-bit integer is used."""

    _fields_ = (
        ("kind", c_uint8),
        ("_gap", c_uint8 * 7),
        ("i32", c_uint32),
        ("_rest", c_uint64 * 2),
    )
    kind: int
    i32: int


class Instance(ctypes.Structure):
    """`wasmtime_instance_t`."""

    _fields_ = (("store", c_uint64), ("private", c_size_t))


def load(path: str) -> ctypes.CDLL:
    """Load the library at `path` and declare its functions. Each of them releases the interpreter's
    lock while it runs.
    """
    library = ctypes.CDLL(path)
    for name, signature in SIGNATURES.items():
        result, _, parameters = signature.partition(" ")
        function = getattr(library, name)
        function.restype = _LETTERS[result]
        function.argtypes = [_LETTERS[letter] for letter in parameters]
    return library


def new_engine(c: ctypes.CDLL, pooling: bool, target: str) -> int:
    """Return a new engine, set up as `config` says; an empty `target` is this processor. A pool
    that does not fit into the address space ends the process.
    """
    settings: int = c.wasm_config_new()
    for names, enabled in ((config.OFF, False), (config.ON, True)):
        for name in names:
            getattr(c, f"wasmtime_config_{name}_set")(settings, enabled)
    c.wasmtime_config_max_wasm_stack_set(settings, config.STACK_BYTES)
    if target and c.wasmtime_config_target_set(settings, target.encode()):
        raise ValueError(f"no such target: {target}")
    if pooling:
        pool = c.wasmtime_pooling_allocation_config_new()
        for name, (_, size) in _POOL.items():
            getattr(c, f"wasmtime_pooling_allocation_config_{name}_set")(pool, size)
        c.wasmtime_pooling_allocation_strategy_set(settings, pool)
        c.wasmtime_pooling_allocation_config_delete(pool)
    engine: int = c.wasm_engine_new_with_config(settings)
    return engine


def new_linker(c: ctypes.CDLL, engine: int, functions: tuple[Any, Any]) -> int:
    """Return a linker that has `sigil.call` and `sigil.take`: the two `functions`, which the caller
    has to keep alive.
    """
    linker: int = c.wasmtime_linker_new(engine)
    for name, function, (parameters, results) in zip(
        (b"call", b"take"), functions, ((2, 1), (1, 0)), strict=True
    ):
        kind = c.wasm_functype_new(
            byref(value_types(c, "i" * parameters)), byref(value_types(c, "i" * results))
        )
        entry = ctypes.cast(function, c_void_p)
        if c.wasmtime_linker_define_func_unchecked(
            linker, b"sigil", 5, name, len(name), kind, entry, None, None
        ):
            raise ValueError("a host function cannot be defined")
        c.wasm_functype_delete(kind)
    return linker


def value_types(c: ctypes.CDLL, letters: str) -> Bytes:
    """Return a vector of value types, which its user takes over and frees: `i` is a 32-bit integer,
    `I` one of 64 bits.
    """
    kinds = (c_void_p * len(letters))(*(c.wasm_valtype_new(_KINDS[letter]) for letter in letters))
    vector = Bytes()
    c.wasm_valtype_vec_new(byref(vector), len(letters), kinds)
    return vector


def read_imports(c: ctypes.CDLL, module: int) -> list[tuple[bytes, bytes]]:
    """Return (owner, name) of everything that `module` imports."""
    vector = Bytes()
    c.wasmtime_module_imports(module, byref(vector))
    kinds = (c_void_p * vector.size).from_address(vector.data) if vector.data else ()
    names = [
        (_read_name(c.wasm_importtype_module(kind)), _read_name(c.wasm_importtype_name(kind)))
        for kind in kinds
    ]
    c.wasm_importtype_vec_delete(byref(vector))
    return names


def _read_name(vector: int) -> bytes:
    name = Bytes.from_address(vector)
    return ctypes.string_at(name.data, name.size) if name.data else b""
