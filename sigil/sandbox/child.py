"""The server's side of one runner: give it an order, believe nothing that it says, end it when it is late or odd."""

from __future__ import annotations

import select
import socket
import subprocess
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from sigil.errors import BackendError
from sigil.sandbox import spawn
from sigil.sandbox.frames import ENGINE, Breach, Channel, Kind, Late, Run, pack_code, pack_run
from sigil.sandbox.sealed import Code

START_SECONDS = 10.0
LOAD_SECONDS = 2.0
GRACE_SECONDS = 0.1

_NEWS = frozenset((Kind.NEED, Kind.DONE, Kind.GUEST, Kind.FAILED))


class Supply(NamedTuple):
    """What a runner is given: wasm that it may compile by itself, or native code. `weight`: the bytes that it will hold."""

    code: bytes | Code
    weight: int


Fetch = Callable[[str], Supply]
"""Gives what a runner asks for by its name."""


class Child:
    """A runner process and the socket to it. One order at a time."""

    def __init__(self, *, pooling: bool = True) -> None:
        """Start it, without waiting; `BackendError` when that fails."""
        try:
            ours, theirs = socket.socketpair()
        except OSError as problem:
            raise BackendError("EUNAVAILABLE", f"no sandbox process can be started: {problem.strerror}", source="sandbox") from None
        end = theirs.fileno()
        with theirs:
            try:
                self._process: subprocess.Popen[bytes] = spawn.start("runner", str(end), str(int(pooling)), passing=(end,))
            except BaseException:
                ours.close()
                raise
        self._channel = Channel(ours)
        self._poll = select.poll()
        self._poll.register(ours, select.POLLIN)

    @property
    def pid(self) -> int:
        return self._process.pid

    def greet(self) -> None:
        """Wait until it is ready; `BackendError` (and its end) when it does not come up."""
        try:
            self._channel.receive(frozenset((Kind.READY,)), deadline=monotonic() + START_SECONDS)
        except (Breach, Late):
            self.kill()
            raise BackendError("EUNAVAILABLE", "no sandbox process comes up", source="sandbox") from None

    def quiet(self) -> bool:
        """Whether it waits for an order: alive, and has said nothing unasked."""
        return not self._poll.poll(0)

    def obey(self, run: Run, fetch: Fetch) -> tuple[Kind, bytes, bool]:
        """The runner's answer to `run`, and whether it had to load something for it.

        `Late` when it is late, `Breach` when it is gone or odd; what `fetch` raises. After each of them it must be killed.
        """
        needs = {run.digest, ENGINE} if run.linked else {run.digest}
        allowed = run.timeout_ms / 1000 + GRACE_SECONDS
        deadline = monotonic() + allowed
        self._channel.send(Kind.RUN, pack_run(run), deadline=deadline)
        cold = False
        while True:
            kind, payload = self._channel.receive(_NEWS, deadline=deadline)
            if kind is not Kind.NEED:
                return kind, payload, cold
            name = payload.decode("ascii", "replace")
            if name not in needs:
                raise Breach("asks for what it has no need of")
            needs.remove(name)
            cold = True
            deadline = self._supply(fetch(name), allowed + LOAD_SECONDS)

    def _supply(self, supply: Supply, seconds: float) -> float:
        deadline = monotonic() + seconds
        if isinstance(supply.code, Code):
            self._channel.send(Kind.CODE, pack_code(supply.weight), deadline=deadline, descriptor=supply.code.descriptor)
        else:
            self._channel.send(Kind.MODULE, pack_code(supply.weight, supply.code), deadline=deadline)
        return deadline

    def interrupt(self) -> None:
        """Make the call in progress, which another thread waits for, end in a `Breach`."""
        self._channel.hang_up()

    def kill(self) -> None:
        """End it and all that it may have started; harmless when it is gone already."""
        self._channel.close()
        spawn.kill(self._process)
