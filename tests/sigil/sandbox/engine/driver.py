"""Drives the built engine directly: a fresh store, engine and plugin a call, and a host that
answers what the test grants.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from wasmtime import Config, Engine, Func, FuncType, Instance, Memory, Module, Store, ValType

from sigil.sandbox.engine.build import build
from sigil.sandbox.javascript_module import make_module

Grants = Mapping[str, Callable[[Any], Any]]
STACK = 512 * 1024
MEMORY = 64 << 20
_I32 = ValType.i32()


class Failed(Exception):
    """The capability failed: `code` and `message`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


@dataclass
class Host:
    """`sigil.call` and `sigil.take`. An operation that is not granted answers EPERM, as the sandbox
    does.
    """

    grants: Grants = field(default_factory=dict)
    requests: list[dict[str, Any]] = field(default_factory=list)
    waiting: bytes = b""

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(request)
        if request["op"] not in self.grants:
            return {"error": {"code": "EPERM", "message": f"{request['op']} is not granted"}}
        return {"ok": self.grants[request["op"]](request["arg"])}


@lru_cache(1)
def compiled() -> tuple[Engine, Module]:
    """The engine, compiled once for all tests of this process."""
    config = Config()
    config.epoch_interruption = True
    config.max_wasm_stack = STACK
    engine = Engine(config)
    return engine, Module(engine, build().read_bytes())


class Call:
    """One instance, with its plugin loaded when there is a source."""

    def __init__(self, source: str, host: Host | None = None) -> None:
        self.host = host or Host()
        engine, module = compiled()
        self.store = Store(engine)
        self.store.set_limits(memory_size=MEMORY)
        self.store.set_epoch_deadline(1)
        ask = Func(self.store, FuncType([_I32, _I32], [_I32]), self._ask)
        take = Func(self.store, FuncType([_I32], []), self._take)
        self.exports = Instance(self.store, module, [ask, take]).exports(self.store)
        names = (
            "memory",
            "sigil_alloc",
            "sigil_load",
            "sigil_run",
            "sigil_out_ptr",
            "sigil_out_len",
        )
        linked = Instance(
            self.store, Module(engine, make_module(source)), [self.exports[name] for name in names]
        )
        self.plugin = linked.exports(self.store)

    def _ask(self, address: int, length: int) -> int:
        request = json.loads(self.read(address, length))
        self.host.waiting = json.dumps(self.host.answer(request)).encode()
        return len(self.host.waiting)

    def _take(self, address: int) -> None:
        self.memory.write(self.store, self.host.waiting, address)

    @property
    def memory(self) -> Memory:
        memory = self.plugin["memory"]
        assert isinstance(memory, Memory)
        return memory

    def read(self, address: int, length: int) -> bytes:
        return bytes(self.memory.read(self.store, address, address + length))

    def export(self, name: str, *arguments: int) -> int:
        function = self.plugin[name]
        assert isinstance(function, Func)
        return int(function(self.store, *arguments))

    def output(self) -> bytes:
        return self.read(self.export("sigil_out_ptr"), self.export("sigil_out_len"))

    def load(self) -> None:
        if self.export("sigil_start"):
            raise Failed(**json.loads(self.output()))

    def run(self, data: bytes) -> Any:
        address = self.export("sigil_alloc", len(data))
        self.memory.write(self.store, data, address)
        if self.export("sigil_run", address, len(data)):
            raise Failed(**json.loads(self.output()))
        return json.loads(self.output())


def run(
    source: str, data: Any = None, *, host: Host | None = None, **grants: Callable[[Any], Any]
) -> Any:
    """Return the body's answer to `data`; raise `Failed` when it fails."""
    call = Call(source, host or Host(grants))
    try:
        call.load()
        return call.run(json.dumps(data).encode())
    finally:
        call.store.close()


def evaluate(expression: str, data: Any = None, **grants: Callable[[Any], Any]) -> Any:
    """The value of an expression over `input`."""
    return run(f"return {expression}", data, host=Host(grants))


def failure(source: str, data: Any = None, **grants: Callable[[Any], Any]) -> tuple[str, str]:
    """(code, message) of a body that fails."""
    try:
        result = run(source, data, host=Host(grants))
    except Failed as failed:
        return failed.code, failed.message
    raise AssertionError(f"it did not fail but gave {result!r}")
