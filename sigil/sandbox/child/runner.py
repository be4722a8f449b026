"""The child process that runs guests: it takes an order, answers it, and forgets everything but the
programs.
"""

from __future__ import annotations

import _socket
import os
import sys
from time import monotonic

from sigil.sandbox.child import lockdown, module_importer, seccomp
from sigil.sandbox.child.guest_requests import GuestRequests
from sigil.sandbox.child.watchdog import Watchdog
from sigil.sandbox.protocol import (
    ENGINE,
    POOLED,
    SEALS,
    FrameChannel,
    FrameKind,
    ProtocolBreach,
    RunOrder,
    pack_answer,
    pack_ask,
    unpack_code,
    unpack_run,
    unpack_size,
)
from sigil.sandbox.runtime.driver import Driver, InvalidModule, LoadedModule
from sigil.sandbox.runtime.faults import GuestStopped
from sigil.sandbox.runtime.memory_images import LoadedSource, MemoryImages

_DESCRIPTORS = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
# wasmtime writes a module's first memory, up to 16 MiB of it, into an anonymous file.
_WRITTEN_BYTES = 20 << 20
_ORDERS = frozenset((FrameKind.RUN,))

TYPE_CHECKING = False
if TYPE_CHECKING:
    _Held = LoadedModule | LoadedSource | bytes
    """A module, a loaded source, or a source that was not loaded yet."""


class Runner:
    """Serves one order after the other until the server is gone. `sealing`: a filter of system
    calls is installed before the first guest runs.
    """

    def __init__(
        self, channel: FrameChannel, driver: Driver, server: int, *, sealing: bool = False
    ) -> None:
        self._channel = channel
        self._driver = driver
        self._watchdog = Watchdog(driver.bump, server)
        self._held: dict[str, _Held] = {}
        self._images: MemoryImages | None = None
        self._sealing = sealing
        self._sealed = False
        self._deadline = 0.0

    def serve(self, abilities: int) -> None:
        """Serve orders. `abilities`: the bits by which this runner describes itself in READY."""
        self._channel.send(FrameKind.READY, bytes((abilities,)))
        while True:
            _, payload = self._channel.receive(_ORDERS)
            self._channel.send(*self._execute(unpack_run(payload)))

    def _execute(self, run: RunOrder) -> tuple[int, bytes]:
        """Execute an order; return the kind and the payload of the answer."""
        host = GuestRequests(run, self._ask_server)
        try:
            for name in (ENGINE, run.digest) if run.linked else (run.digest,):
                if name not in self._held:
                    self._held[name] = self._fetch(name)
            self._seal()
            self._deadline = monotonic() + run.timeout_ms / 1000
            self._watchdog.arm(run.timeout_ms / 1000)
            try:
                succeeded, output = self._call_guest(run, host)
            finally:
                self._watchdog.disarm()
        except GuestStopped as stopped:
            reason = f"{stopped.code} {stopped.message}".encode("ascii")
            return FrameKind.FAILED, pack_answer(reason, host.lines)
        except InvalidModule:
            return FrameKind.FAILED, b"EMODULE the module is not valid"
        return FrameKind.DONE if succeeded else FrameKind.GUEST, pack_answer(output, host.lines)

    def _call_guest(self, run: RunOrder, host: GuestRequests) -> tuple[bool, bytes]:
        """Run the program; return whether it succeeded, and its output."""
        held = self._held[run.digest]
        limits = (run.memory_bytes, run.output_bytes)
        engine = self._held[ENGINE] if run.linked else None
        if isinstance(held, LoadedModule):
            linked = engine if isinstance(engine, LoadedModule) else None
            return self._driver.call(held, linked, run.data, limits, host)
        if self._images is None:
            if not isinstance(engine, LoadedModule):
                raise GuestStopped("EMODULE", "the JavaScript engine is no module")
            self._images = MemoryImages(self._driver, engine)
        if isinstance(held, bytes):
            held = self._held[run.digest] = self._images.take(held, run.memory_bytes)
        return self._images.call(held, run.data, limits, host)

    def _ask_server(self, operation: str, argument: bytes) -> bytes:
        """Return the server's answer to a request. The deadline stays: after an answer that comes
        too late, the guest ends as soon as it runs again.
        """
        left = max(0, int((self._deadline - monotonic()) * 1000))
        try:
            self._channel.send(FrameKind.ASK, pack_ask(operation, left, argument))
            return self._channel.receive(frozenset((FrameKind.ANSWER,)))[1]
        except ProtocolBreach:  # the driver would treat it as an invalid request
            os._exit(0)

    def _seal(self, *, executable: bool = False) -> None:
        """Install the filter of system calls, once, before this process touches a foreign byte. It
        takes no new code afterwards, unless `executable`.
        """
        if self._sealing and not self._sealed:
            self._sealed = True
            module_importer.import_from_memory_only()
            seccomp.lock(executable=executable)

    def _fetch(self, name: str) -> _Held:
        """Get a program, or the engine, from the server; forget the programs that it names."""
        self._channel.send(FrameKind.NEED, name.encode("ascii"))
        kind, payload, descriptor = self._channel.receive_code()
        gone, body = unpack_code(payload)
        for old in gone:
            held = self._held.pop(old, None)
            if isinstance(held, LoadedModule):
                self._driver.unload(held)
        if kind == FrameKind.SOURCE:
            return body
        if name != ENGINE:
            self._seal(executable=True)
        if descriptor is None:
            module = self._driver.compile(body)
        else:
            size = unpack_size(body)
            try:
                # A file shares the code with other runners; a sealed process can open none.
                if self._sealed:
                    module = self._driver.load_copy(descriptor, size)
                else:
                    module = self._driver.load_file(f"{_DESCRIPTORS}/{descriptor}")
            finally:
                os.close(descriptor)
        return self._driver.prepare(module)


def main(server: str, library: str, descriptor: str, sealing: str, pooling: str) -> None:
    """Serve on the socket `descriptor`. `sealing` is `1` when system calls shall be filtered,
    `pooling` when the address space allows a pool of memories.
    """
    _load_what_needs_files()
    seals = sealing == "1" and seccomp.is_available()
    driver = Driver(library, pooling=pooling == "1")
    runner = Runner(
        FrameChannel(_socket.socket(fileno=int(descriptor))), driver, int(server), sealing=seals
    )
    lockdown.lock(int(server), data=256 << 20, files=160, written=_WRITTEN_BYTES)
    try:
        runner.serve((SEALS if seals else 0) | (POOLED if pooling == "1" else 0))
    except ProtocolBreach:
        os._exit(0)


def _load_what_needs_files() -> None:
    """Import what cannot be imported any more when no file can be opened.

    `json`, which takes 8 ms, is left to the first request of a guest: its code is in memory. Only
    its part in C is a file, where it is not a part of the interpreter.
    """
    with_json = sys.version_info >= (3, 14)  # nobody has looked what it imports there
    if with_json:
        import json  # noqa: F401

        import sigil.errors  # noqa: F401
    else:
        import _json  # noqa: F401
