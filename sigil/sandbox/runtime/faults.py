"""Turns the runtime's errors and traps into our own words: their text stays here, because it may be
the guest's.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_uint8, c_void_p

from sigil.sandbox.runtime import capi


class GuestStopped(Exception):
    """The call was stopped. `code` and `message` are our own words."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message


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


class InvalidModule(Exception):
    """The module is not valid; the text is the compiler's and may quote the module."""


class Faults:
    """Reads and frees the errors, traps and vectors that the library `c` returns."""

    def __init__(self, c: ctypes.CDLL) -> None:
        self._c = c

    def check_loaded(self, error: int | None) -> None:
        """Raise `InvalidModule` when loading ended in an error."""
        if error:
            raise InvalidModule(self._read_message(error))

    def check(self, error: int | None, trap: c_void_p) -> None:
        """Raise `GuestStopped` when a call ended in an error or a trap; `trap` is empty
        afterwards.
        """
        if error:
            text = self._read_message(error)
            if "exceeds" in text and "limit" in text:
                raise GuestStopped(
                    "ENOMEM", "the module starts with more memory or tables than it may have"
                )
            if "(os error " in text:
                raise GuestStopped("EUNAVAILABLE", "there is no address space for a guest's memory")
            raise GuestStopped("EMODULE", "the module does not keep to the ABI")
        if trap:
            code = c_uint8()
            known = self._c.wasmtime_trap_code(trap, byref(code))
            self._c.wasm_trap_delete(trap)
            trap.value = None
            raise GuestStopped(
                *_TRAPS.get(code.value if known else -1, ("ETRAP", "the module failed"))
            )

    def take_bytes(self, vector: capi.Bytes) -> bytes:
        """Return the bytes of a vector that the library made, and free it."""
        data = ctypes.string_at(vector.data, vector.size) if vector.data else b""
        self._c.wasm_byte_vec_delete(byref(vector))
        return data

    def _read_message(self, error: int) -> str:
        vector = capi.Bytes()
        self._c.wasmtime_error_message(error, byref(vector))
        self._c.wasmtime_error_delete(error)
        return self.take_bytes(vector).decode("utf-8", "replace")
