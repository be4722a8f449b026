"""The child process that runs guests: takes an order, answers it, forgets everything but the
programs.
"""

from __future__ import annotations

import os
import socket
import sys
from time import monotonic

from sigil.sandbox import lockdown, seccomp
from sigil.sandbox.driver import Driver, Invalid, Loaded
from sigil.sandbox.faults import Stopped
from sigil.sandbox.guest_requests import GuestRequests
from sigil.sandbox.memory_images import MemoryImages, Script
from sigil.sandbox.protocol import (
    ENGINE,
    POOLED,
    SEALS,
    Channel,
    FrameKind,
    ProtocolBreach,
    RunOrder,
    pack_answer,
    pack_ask,
    unpack_code,
    unpack_run,
    unpack_size,
)
from sigil.sandbox.watchdog import Watchdog

_DESCRIPTORS = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
# wasmtime writes a module's first memory, up to 16 MiB of it, into an anonymous file.
_BOUNDS = lockdown.Bounds(data=256 << 20, files=160, written=20 << 20)
_ORDERS = frozenset((FrameKind.RUN,))

_Held = Loaded | Script | bytes
"""A module, a loaded source, or a source that was never loaded yet."""


class Runner:
    """Serves orders one after the other until the server is gone. `sealing`: under a filter of
    system calls from the first guest on.
    """

    def __init__(
        self, channel: Channel, driver: Driver, server: int, *, sealing: bool = False
    ) -> None:
        self._channel = channel
        self._driver = driver
        self._watchdog = Watchdog(driver.bump, server)
        self._held: dict[str, _Held] = {}
        self._images: MemoryImages | None = None
        self._sealing = sealing
        self._sealed = False
        self._deadline = 0.0

    def serve(self, means: int) -> None:
        """`means`: what the server is told of this runner."""
        self._channel.send(FrameKind.READY, bytes((means,)))
        while True:
            _, payload = self._channel.receive(_ORDERS)
            self._channel.send(*self._obey(unpack_run(payload)))

    def _obey(self, run: RunOrder) -> tuple[FrameKind, bytes]:
        host = GuestRequests(run, self._ask)
        try:
            self._load(run)
            self._seal()
            succeeded, output = self._timed(run, host)
        except Stopped as stopped:
            return FrameKind.FAILED, pack_answer(
                f"{stopped.code} {stopped.message}".encode("ascii"), host.lines
            )
        except Invalid:
            return FrameKind.FAILED, b"EMODULE the module is not valid"
        return FrameKind.DONE if succeeded else FrameKind.GUEST, pack_answer(output, host.lines)

    def _timed(self, run: RunOrder, host: GuestRequests) -> tuple[bool, bytes]:
        self._deadline = monotonic() + run.timeout_ms / 1000
        self._watchdog.arm(run.timeout_ms / 1000)
        try:
            return self._call(run, host)
        finally:
            self._watchdog.disarm()

    def _call(self, run: RunOrder, host: GuestRequests) -> tuple[bool, bytes]:
        held = self._held[run.digest]
        limits = (run.memory_bytes, run.output_bytes)
        if isinstance(held, Loaded):
            engine = self._held[ENGINE] if run.linked else None
            return self._driver.call(
                held, engine if isinstance(engine, Loaded) else None, run.data, limits, host
            )
        images = self._imaged()
        if isinstance(held, bytes):
            held = self._held[run.digest] = images.take(held, run.memory_bytes)
        return images.call(held, run.data, limits, host)

    def _imaged(self) -> MemoryImages:
        if self._images is None:
            engine = self._held[ENGINE]
            if not isinstance(engine, Loaded):
                raise Stopped("EMODULE", "the JavaScript engine is no module")
            self._images = MemoryImages(self._driver, engine)
        return self._images

    def _ask(self, operation: str, argument: bytes) -> bytes:
        """The server's answer. Time goes on: if it comes too late, the guest ends as soon as it
        goes on.
        """
        left = max(0, int((self._deadline - monotonic()) * 1000))
        try:
            self._channel.send(FrameKind.ASK, pack_ask(operation, left, argument))
            return self._channel.receive(frozenset((FrameKind.ANSWER,)))[1]
        except ProtocolBreach:  # the driver would take it for a request that is none
            os._exit(0)

    def _load(self, run: RunOrder) -> None:
        for name in (ENGINE, run.digest) if run.linked else (run.digest,):
            if name not in self._held:
                self._held[name] = self._fetch(name)

    def _seal(self, *, executable: bool = False) -> None:
        """Lock this process, once, before it touches a foreign byte: for good without new code,
        unless it begins with a foreign module.
        """
        if self._sealing and not self._sealed:
            self._sealed = True
            seccomp.lock(executable=executable)

    def _fetch(self, name: str) -> _Held:
        self._channel.send(FrameKind.NEED, name.encode("ascii"))
        kind, payload, descriptor = self._channel.receive_code()
        gone, body = unpack_code(payload)
        for old in gone:
            self._forget(old)
        if kind is FrameKind.SOURCE:
            return body
        if name != ENGINE:
            self._seal(executable=True)
        return self._driver.prepare(
            self._driver.compile(body)
            if descriptor is None
            else self._restored(descriptor, unpack_size(body))
        )

    def _restored(self, descriptor: int, size: int) -> int:
        """A module from native code, shared with other runners as long as files can be opened."""
        try:
            return (
                self._driver.copied(descriptor, size)
                if self._sealed
                else self._driver.restore(f"{_DESCRIPTORS}/{descriptor}")
            )
        finally:
            os.close(descriptor)

    def _forget(self, name: str) -> None:
        held = self._held.pop(name, None)
        if isinstance(held, Loaded):
            self._driver.unload(held)


def main(server: str, library: str, descriptor: str, sealing: str, pooling: str) -> None:
    """Serve on the socket `descriptor`; `pooling` is `1` when the address space allows a pool,
    `sealing` when calls shall be filtered.
    """
    seals = sealing == "1" and seccomp.available()
    driver = Driver(library, pooling=pooling == "1")
    runner = Runner(
        Channel(socket.socket(fileno=int(descriptor))), driver, int(server), sealing=seals
    )
    lockdown.lock(int(server), _BOUNDS)
    try:
        runner.serve((SEALS if seals else 0) | (POOLED if pooling == "1" else 0))
    except ProtocolBreach:
        os._exit(0)
