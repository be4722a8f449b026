"""The compiled engine before its first start, driven through what only building uses."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

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
class Plan:
    """The numbers of allocations, counted from 1 and in order, and the bytes that they need
    together.
    """

    numbers: tuple[int, ...]
    room: int


def _nobody(address: int, length: int) -> int:
    return -1


def _nothing(address: int) -> None:
    """What `sigil.take` copies while nobody answers."""


class Unstarted:
    """One instance. `host` stands for `sigil.call`: it sees (address, length) and gives the length
    of an answer, or -1.
    """

    def __init__(self, compiled: bytes, host: Callable[[int, int], int] = _nobody) -> None:
        config = Config()
        config.consume_fuel = True
        self._store = Store(Engine(config))
        self._store.set_fuel(_ENOUGH)
        module = Module(self._store.engine, compiled)
        i32 = ValType.i32()
        call = Func(self._store, FuncType([i32, i32], [i32]), host)
        take = Func(self._store, FuncType([i32], []), _nothing)
        imports = {"call": call, "take": take}
        self._exports = Instance(
            self._store, module, [imports[str(each.name)] for each in module.imports]
        ).exports(self._store)
        self._start = self.stack()
        self.call("_initialize")

    def compile(self, prelude: bytes) -> bytes:
        """The prelude's bytecode. ValueError when it is no JavaScript."""
        self._step("sigil_compile", *self.put(prelude))
        return self.output()

    def prepare(self, code: bytes, plan: Plan | None) -> None:
        """Starts the runtime and runs the prelude. Without a plan the host hears of each
        allocation. ValueError when the prelude throws.
        """
        numbers = struct.pack(f"<{len(plan.numbers)}I", *plan.numbers) if plan else b""
        hot = self.put(numbers)[0] if plan else 0
        self._step(
            "sigil_prepare", *self.put(code), hot, len(numbers) // 4, plan.room if plan else 0
        )

    def put(self, data: bytes) -> tuple[int, int]:
        """(address, length) of a copy of `data` in the engine."""
        address = self.call("sigil_alloc", len(data))
        self._write(data, address)
        return address, len(data)

    def output(self) -> bytes:
        """What the last step left as its output."""
        begin = self.call("sigil_out_ptr")
        return bytes(self._memory().read(self._store, begin, begin + self.call("sigil_out_len")))

    def memory(self) -> bytes:
        """A copy of all of the memory."""
        return bytes(self._memory().read(self._store))

    def stack(self) -> int:
        """Where the stack pointer is."""
        return int(self._pointer().value(self._store))

    def call(self, name: str, *arguments: int) -> int:
        """The result of an export, 0 when it has none."""
        function = self._exports[name]
        assert isinstance(function, Func)
        return function(self._store, *arguments) or 0

    def call_within(self, fuel: int, name: str, *arguments: int) -> bool:
        """Whether an export returned before `fuel` instructions were done; if not, it is left where
        it was then.
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
        """Sets the memory to what `memory` gave, and the stack pointer back."""
        self._write(memory, 0)
        self._pointer().set_value(self._store, Val.i32(self._start))

    def _step(self, name: str, *arguments: int) -> None:
        if step := self.call(name, *arguments):
            raise ValueError(
                f"{name} failed at step {step}: {self.output().decode('utf-8', 'replace')}"
            )
        if self.stack() != self._start:
            raise ValueError("the stack pointer did not return to its start")

    def _pointer(self) -> Global:
        pointer = self._exports["__stack_pointer"]
        assert isinstance(pointer, Global)
        return pointer

    def _memory(self) -> Memory:
        memory = self._exports["memory"]
        assert isinstance(memory, Memory)
        return memory

    def _write(self, data: bytes, address: int) -> None:
        self._memory().write(self._store, data, address)
