"""The child process that runs guests: takes an order, answers it, forgets everything but the modules."""

from __future__ import annotations

import os
import socket
import sys
from collections import OrderedDict
from typing import NamedTuple

from sigil.sandbox import jail
from sigil.sandbox.driver import Driver, Invalid, Loaded, Stopped
from sigil.sandbox.frames import ENGINE, Breach, Channel, Kind, Run, pack_answer, unpack_run
from sigil.sandbox.host import Host
from sigil.sandbox.ticker import Ticker

_PROGRAMS = 64
_PROGRAM_BYTES = 64 << 20
_DESCRIPTORS = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
# wasmtime writes a module's first memory, up to 16 MiB of it, into an anonymous file.
_BOUNDS = jail.Bounds(data=256 << 20, files=_PROGRAMS * 2 + 32, written=20 << 20)


class _Held(NamedTuple):
    loaded: Loaded
    weight: int


class Runner:
    """Serves orders one after the other until the server is gone."""

    def __init__(self, channel: Channel, driver: Driver, server: int) -> None:
        self._channel = channel
        self._driver = driver
        self._ticker = Ticker(driver.bump, server)
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._engine: Loaded | None = None

    def serve(self) -> None:
        self._channel.send(Kind.READY)
        while True:
            _, payload = self._channel.receive(frozenset((Kind.RUN,)))
            self._channel.send(*self._obey(unpack_run(payload)))

    def _obey(self, run: Run) -> tuple[Kind, bytes]:
        host = Host(run)
        try:
            program, engine = self._program(run), self._engine if run.linked else None
            succeeded, output = self._call(program, engine, run, host)
        except Stopped as stopped:
            return Kind.FAILED, f"{stopped.code} {stopped.message}".encode("ascii")
        except Invalid:
            return Kind.FAILED, b"EMODULE the module is not valid"
        return Kind.DONE if succeeded else Kind.GUEST, pack_answer(output, host.lines)

    def _call(self, program: Loaded, engine: Loaded | None, run: Run, host: Host) -> tuple[bool, bytes]:
        self._ticker.arm(run.timeout_ms / 1000)
        try:
            return self._driver.call(program, engine, run.data, (run.memory_bytes, run.output_bytes), host)
        finally:
            self._ticker.disarm()

    def _program(self, run: Run) -> Loaded:
        if run.linked and self._engine is None:
            self._engine = self._fetch(ENGINE).loaded
        held = self._held.get(run.digest)
        if held is None:
            held = self._held[run.digest] = self._fetch(run.digest)
            self._evict()
        self._held.move_to_end(run.digest)
        return held.loaded

    def _fetch(self, digest: str) -> _Held:
        self._channel.send(Kind.NEED, digest.encode("ascii"))
        weight, wasm, descriptor = self._channel.receive_code()
        if descriptor is None:
            return _Held(self._driver.prepare(self._driver.compile(wasm)), weight)
        try:
            return _Held(self._driver.prepare(self._driver.restore(f"{_DESCRIPTORS}/{descriptor}")), weight)
        finally:
            os.close(descriptor)

    def _evict(self) -> None:
        while len(self._held) > _PROGRAMS or (len(self._held) > 1 and sum(held.weight for held in self._held.values()) > _PROGRAM_BYTES):
            self._driver.unload(self._held.popitem(last=False)[1].loaded)


def main(server: str, library: str, descriptor: str, pooling: str) -> None:
    """Serve on the socket `descriptor`; `pooling` is `1` when the address space allows a pool."""
    driver = Driver(library, pooling=pooling == "1")
    runner = Runner(Channel(socket.socket(fileno=int(descriptor))), driver, int(server))
    jail.lock(int(server), _BOUNDS)
    try:
        runner.serve()
    except Breach:
        os._exit(0)
