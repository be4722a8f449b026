"""Links commands (WASI preview 1) to their world: one callback for all functions, defined when the
first command comes.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from ctypes import byref, c_int32, c_uint32, c_uint64, c_void_p
from typing import Any

from sigil.sandbox import capi, wasi_functions
from sigil.sandbox.call_end import Stopped
from sigil.sandbox.wasi import Exit, World

_KINDS = {"i": 0, "I": 1}  # wasm_valkind_t
_READ: dict[str, Any] = {"i": c_uint32.from_address, "I": c_uint64.from_address}
_BLANK = b" \t\r\n"


class Commands:
    """What commands are linked to in one runner. `place(pointer, length)`: where the guest's bytes
    lie; it raises when outside.
    """

    def __init__(self, c: ctypes.CDLL, place: Callable[[int, int], int]) -> None:
        self._c = c
        self._place = place
        self._callback = capi.HostFunction(
            self._on_call
        )  # made now: later, nothing executable may be made any more
        self._names = tuple(wasi_functions.FUNCTIONS)
        self._served = tuple(getattr(World, name.decode(), None) for name in self._names)
        self._linked = False
        self._world: World | None = None
        self._end: Exception | None = None

    def link(self, linker: int) -> None:
        """Define every function of preview 1 in `linker`, once."""
        if self._linked:
            return
        entry = ctypes.cast(self._callback, c_void_p)
        for number, (name, kinds) in enumerate(wasi_functions.FUNCTIONS.items(), 1):
            parameters, _, results = kinds.partition(" ")
            kind = self._c.wasm_functype_new(
                byref(self._types(parameters)), byref(self._types(results))
            )
            where = (wasi_functions.MODULE, len(wasi_functions.MODULE), name, len(name))
            if self._c.wasmtime_linker_define_func_unchecked(
                linker, *where, kind, entry, number, None
            ):
                raise ValueError("a function of a command cannot be defined")
            self._c.wasm_functype_delete(kind)
        self._linked = True

    def run(
        self,
        start: Callable[[], None],
        data: bytes,
        limit: int,
        host: Callable[[bytes], bytes | None],
    ) -> tuple[bool, bytes]:
        """Run a command whose `_start` is `start`: whether it succeeded, and its answer without the
        white space around it.

        An exit code other than 0, or a trap after words on stderr, is a failure: the object on
        stdout, or the last words. `Stopped` when something else ended it.
        """
        self._world, self._end = World(self, data, limit, host), None
        try:
            return self._finished(self._world, start)
        finally:
            self._world, self._end = None, None

    def read(self, at: int, size: int) -> bytes:
        return ctypes.string_at(self._place(at, size), size)

    def write(self, at: int, data: bytes) -> None:
        ctypes.memmove(self._place(at, len(data)), data, len(data))

    def _finished(self, world: World, start: Callable[[], None]) -> tuple[bool, bytes]:
        end: Exception | None = None
        try:
            start()
        except Stopped as stopped:
            end = self._end or stopped
        world.close()
        if isinstance(end, Stopped):
            if end.code == "ETRAP" and world.last:  # a runtime that panics says why, then traps
                return False, _said("ETRAP", f"{end.message}: {_text(world.last)}")
            raise end
        status, refusal = (end.status, end.refusal) if isinstance(end, Exit) else (0, None)
        if refusal:
            return False, json.dumps(refusal).encode("ascii")
        answer = bytes(world.stdout).strip(_BLANK)
        return (True, answer) if status == 0 else (False, _failure(answer, world.last, status))

    def _on_call(self, number: int, _caller: int, slots: int, _count: int) -> int:
        name = self._names[number - 1]
        kinds = wasi_functions.FUNCTIONS[name].partition(" ")[0]
        arguments = tuple(
            _READ[kind](slots + capi.SLOT * at).value for at, kind in enumerate(kinds)
        )
        served, world = self._served[number - 1], self._world
        try:
            if world is None:
                raise Stopped("EMODULE", "a command calls its host before it starts")
            c_int32.from_address(slots).value = (
                served(world, *arguments) if served else world.refuse(name, arguments)
            )
        except (Exit, Stopped) as end:
            self._end = end
        except Exception:  # noqa: BLE001 (a door: nothing may leave through C)
            self._end = Stopped("ETRAP", "the host failed")
        return int(self._c.wasmtime_trap_new_code(capi.TRAP_UNREACHABLE)) if self._end else 0

    def _types(self, letters: str) -> capi.Bytes:
        """A vector of value types that its user takes over."""
        kinds = (c_void_p * len(letters))(
            *(self._c.wasm_valtype_new(_KINDS[letter]) for letter in letters)
        )
        vector = capi.Bytes()
        self._c.wasm_valtype_vec_new(byref(vector), len(letters), kinds)
        return vector


def _failure(answer: bytes, last: bytes, status: int) -> bytes:
    """What a failed command says of its failure: `{"code", "message"}` on stdout, the same on
    stderr's last line, or that line.
    """
    for text in (answer, last):
        try:
            said = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(said, dict) and "code" in said:
            return text
    return _said("EGUEST", _text(last) or f"the program ended with exit code {status}")


def _said(code: str, message: str) -> bytes:
    return json.dumps({"code": code, "message": message}).encode("ascii")


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").strip()
