"""Our declarations of the C library against the bindings that the wheel generates from its
headers.
"""

from __future__ import annotations

import ctypes

import wasmtime._bindings as bindings

from sigil.sandbox.runtime import capi
from sigil.sandbox.runtime.config import OFF, ON
from tests.tables import each_row

POINTERS = (ctypes.c_void_p, ctypes.c_char_p)


def same(ours: type | None, theirs: type | None) -> bool:
    """Return whether two ctypes types are passed alike."""
    if ours is None or theirs is None:
        return ours is theirs
    pointing = issubclass(theirs, (ctypes._Pointer, ctypes._CFuncPtr, *POINTERS))
    return (
        pointing
        if ours in POINTERS
        else ctypes.sizeof(ours) == ctypes.sizeof(theirs) and not pointing
    )


@each_row("name", capi.SIGNATURES)
def test_a_function_is_declared_as_in_the_headers(name: str) -> None:
    theirs = getattr(bindings, f"_{name}")
    result, _, parameters = capi.SIGNATURES[name].partition(" ")
    assert same(capi._LETTERS[result], theirs.restype)
    assert len(parameters) == len(theirs.argtypes)
    assert all(
        same(capi._LETTERS[letter], each)
        for letter, each in zip(parameters, theirs.argtypes, strict=True)
    )


@each_row(
    ("ours", "theirs", "offsets"),
    [
        (capi.Bytes, bindings.wasm_byte_vec_t, {"size": "size", "data": "data"}),
        (capi.Bytes, bindings.wasm_importtype_vec_t, {"size": "size", "data": "data"}),
        (capi.Bytes, bindings.wasm_valtype_vec_t, {"size": "size", "data": "data"}),
        (capi.Extern, bindings.wasmtime_extern_t, {"kind": "kind", "of": "of"}),
        (capi.Value, bindings.wasmtime_val_t, {"kind": "kind", "i32": "of"}),
        (capi.Instance, bindings.wasmtime_instance_t, {"store": "store_id"}),
    ],
)
def test_a_structure_is_laid_out_as_in_the_headers(
    ours: type[ctypes.Structure], theirs: type[ctypes.Structure], offsets: dict[str, str]
) -> None:
    assert ctypes.sizeof(ours) == ctypes.sizeof(theirs)
    assert ctypes.alignment(ours) == ctypes.alignment(theirs)
    assert all(
        getattr(ours, mine).offset == getattr(theirs, yours).offset
        for mine, yours in offsets.items()
    )


def test_constants_are_those_of_the_headers() -> None:
    codes = bindings.wasmtime_trap_code_enum
    assert codes.WASMTIME_TRAP_CODE_STACK_OVERFLOW.value == capi.TRAP_STACK_OVERFLOW
    assert codes.WASMTIME_TRAP_CODE_MEMORY_OUT_OF_BOUNDS.value == capi.TRAP_MEMORY_OUT_OF_BOUNDS
    assert codes.WASMTIME_TRAP_CODE_UNREACHABLE_CODE_REACHED.value == capi.TRAP_UNREACHABLE
    assert codes.WASMTIME_TRAP_CODE_INTERRUPT.value == capi.TRAP_INTERRUPT
    assert ctypes.sizeof(bindings.wasmtime_val_raw_t) == capi.SLOT


def test_every_proposal_that_the_runtime_can_switch_is_decided() -> None:
    prefix, suffix = "wasmtime_config_wasm_", "_set"
    known = {
        name.removeprefix("wasmtime_config_").removesuffix(suffix)
        for name in dir(bindings)
        if name.startswith(prefix)
    }
    part_of_wasm_2 = {"wasm_bulk_memory", "wasm_multi_value", "wasm_reference_types", "wasm_simd"}
    harmless = {"wasm_relaxed_simd_deterministic"}
    components = {name for name in known if name.startswith("wasm_component_model_")}
    assert known - part_of_wasm_2 - harmless - components <= {*OFF, *ON}
