"""Drives the compiled engine before its first start, through exports that only building uses."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from wasmtime import (
    Config,
    Engine,
    Func,
    FuncType,
    Global,
    Instance,
    Memory,
    Module,
    Store,
    Trap,
    TrapCode,
    Val,
    ValType,
)

_ENOUGH = 1 << 60


@dataclass(frozen=True, slots=True)
class LayoutPlan:
    """The allocations that lie side by side: their numbers, counted from 1 and in order, and the
    bytes that they need together.
    """

    numbers: tuple[int, ...]
    size: int


def _refuse_call(address: int, length: int) -> int:
    return -1


def _take_nothing(address: int) -> None:
    """Copy nothing: no call has an answer."""


@lru_cache(maxsize=1)
def _compile_module(compiled: bytes) -> tuple[Engine, Module]:
    """Return native code that counts its instructions, made once for all instances: a build starts
    three.
    """
    config = Config()
    config.consume_fuel = True
    engine = Engine(config)
    return engine, Module(engine, compiled)


class UnstartedEngine:
    """One instance. `host` is its `sigil.call`: it gets (address, length) and returns the length of
    an answer, or -1.
    """

    def __init__(self, compiled: bytes, host: Callable[[int, int], int] = _refuse_call) -> None:
        engine, module = _compile_module(compiled)
        self._store = Store(engine)
        self._store.set_fuel(_ENOUGH)
        i32 = ValType.i32()
        call = Func(self._store, FuncType([i32, i32], [i32]), host)
        take = Func(self._store, FuncType([i32], []), _take_nothing)
        functions = {"call": call, "take": take}
        imports = [functions[str(each.name)] for each in module.imports]
        self._exports = Instance(self._store, module, imports).exports(self._store)
        self._stack_start = self.stack_pointer()
        self.call("_initialize")

    def compile_prelude(self, prelude: bytes) -> bytes:
        """Return the prelude's bytecode. `ValueError` when it is no JavaScript."""
        self._call_step("sigil_compile", *self.copy_in(prelude))
        return self.read_output()

    def start(self, code: bytes, plan: LayoutPlan | None) -> None:
        """Start the runtime and run the prelude. Without a plan, the host gets each allocation.
        `ValueError` when the prelude throws.
        """
        hot = count = size = 0
        if plan:
            hot, _ = self.copy_in(struct.pack(f"<{len(plan.numbers)}I", *plan.numbers))
            count = len(plan.numbers)
            size = plan.size
        self._call_step("sigil_prepare", *self.copy_in(code), hot, count, size)

    def copy_in(self, data: bytes) -> tuple[int, int]:
        """Copy `data` into the engine; return the copy's address and its length."""
        address = self.call("sigil_alloc", len(data))
        self._write(data, address)
        return address, len(data)

    def read_output(self) -> bytes:
        """Return the output of the last step."""
        begin = self.call("sigil_out_ptr")
        return bytes(self._memory().read(self._store, begin, begin + self.call("sigil_out_len")))

    def read_memory(self) -> bytes:
        """Return a copy of all of the memory."""
        return bytes(self._memory().read(self._store))

    def stack_pointer(self) -> int:
        """Return the value of the stack pointer."""
        return int(self._stack_global().value(self._store))

    def call(self, name: str, *arguments: int) -> int:
        """Call an export; return its result, 0 when it has none."""
        function = self._exports[name]
        assert isinstance(function, Func)
        return function(self._store, *arguments) or 0

    def call_within(self, fuel: int, name: str, *arguments: int) -> bool:
        """Call an export; return whether it returned before `fuel` instructions were done. If not,
        it is left where it was then.
        """
        self._store.set_fuel(fuel)
        try:
            self.call(name, *arguments)
        except Trap as trap:
            if trap.trap_code != TrapCode.OUT_OF_FUEL:
                raise
            return False
        finally:
            self._store.set_fuel(_ENOUGH)
        return True

    def restore(self, memory: bytes) -> None:
        """Restore the memory to a copy that `read_memory` returned, and reset the stack pointer."""
        self._write(memory, 0)
        self._stack_global().set_value(self._store, Val.i32(self._stack_start))

    def _call_step(self, name: str, *arguments: int) -> None:
        """Call an export that returns 0, or the number of the step that failed."""
        if step := self.call(name, *arguments):
            message = self.read_output().decode("utf-8", "replace")
            raise ValueError(f"{name} failed at step {step}: {message}")
        if self.stack_pointer() != self._stack_start:
            raise ValueError("the stack pointer did not return to its start")

    def _stack_global(self) -> Global:
        pointer = self._exports["__stack_pointer"]
        assert isinstance(pointer, Global)
        return pointer

    def _memory(self) -> Memory:
        memory = self._exports["memory"]
        assert isinstance(memory, Memory)
        return memory

    def _write(self, data: bytes, address: int) -> None:
        self._memory().write(self._store, data, address)
