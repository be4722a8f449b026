"""The server's side of one runner: give it an order, believe nothing that it says, end it when it
is late or odd.
"""

from __future__ import annotations

import select
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import NamedTuple

from sigil.errors import BackendError
from sigil.sandbox import spawn
from sigil.sandbox.isolation import PLAIN, Means
from sigil.sandbox.loaded_programs import Held, Shelf
from sigil.sandbox.protocol import (
    ASKS,
    ENGINE,
    POOLED,
    SEALS,
    Breach,
    Channel,
    Escape,
    Kind,
    Late,
    Run,
    Unheard,
    pack_code,
    pack_run,
    pack_size,
    service_of,
    unpack_ask,
)
from sigil.sandbox.sealed_memory import Code

START_SECONDS = 10.0
LOAD_SECONDS = 2.0
GRACE_SECONDS = 0.1

_NEWS = frozenset((Kind.NEED, Kind.ASK, Kind.DONE, Kind.GUEST, Kind.FAILED))


class Supply(NamedTuple):
    """What a runner is given: a JavaScript source (`str`), wasm that it may compile by itself, or
    native code.

    `held`: what it weighs there, and for how long it is kept.
    """

    code: str | bytes | Code
    held: Held


class Sealed(Exception):
    """The runner began with a JavaScript source and takes no code any more: it has to be replaced
    by a fresh one.
    """


Fetch = Callable[[str], Supply]
"""Gives what a runner asks for by its name."""

Serve = Callable[[str, bytes, float], bytes]
"""Answers a guest: operation, its argument as JSON, the seconds that are left → the answer as JSON.
"""


class Child:
    """A runner process and the socket to it. One order at a time.

    `cold`: how many programs it had to load, `evicted`: how many left it for that.
    """

    means = PLAIN
    cold = 0
    evicted = 0
    _strict: bool | None = None  # as long as it has run nothing

    def __init__(self, wanted: Means = PLAIN, clock: Callable[[], float] = time.time) -> None:
        """Start it, without waiting; `BackendError` when that fails. `clock`: by which programs
        that it holds expire.
        """
        self._images = wanted.images
        try:
            ours, theirs = socket.socketpair()
        except OSError as problem:
            raise BackendError(
                "EUNAVAILABLE",
                f"no sandbox process can be started: {problem.strerror}",
                source="sandbox",
            ) from None
        end = theirs.fileno()
        with theirs:
            try:
                self._process: subprocess.Popen[bytes] = spawn.start(
                    "runner",
                    str(end),
                    str(int(wanted.sealing)),
                    str(int(wanted.pooling)),
                    passing=(end,),
                )
            except BaseException:
                ours.close()
                raise
        self._channel = Channel(ours)
        self.shelf = Shelf(clock=clock)
        self._poll = select.poll()
        self._poll.register(ours, select.POLLIN)

    @property
    def pid(self) -> int:
        return self._process.pid

    def greet(self) -> None:
        """Wait until it is ready; `BackendError` (and its end) when it does not come up."""
        try:
            said = self._channel.receive(
                frozenset((Kind.READY,)), deadline=monotonic() + START_SECONDS
            )[1][0]
            self.means = Means(bool(said & POOLED), bool(said & SEALS), self._images)
        except (Breach, Late, IndexError):
            self.kill()
            raise BackendError(
                "EUNAVAILABLE", "no sandbox process comes up", source="sandbox"
            ) from None

    @property
    def strict(self) -> bool:
        """Whether it takes no code any more."""
        return bool(self._strict)

    def quiet(self) -> bool:
        """Whether it waits for an order: alive, and has said nothing unasked."""
        return not self._poll.poll(0)

    def obey(self, run: Run, fetch: Fetch, serve: Serve) -> tuple[Kind, bytes, bool]:
        """The runner's answer to `run`, and whether it had to load something for it.

        `Late` when it is late, `Breach` when it is gone or odd, `Sealed` when it cannot load what
        it needs; what `fetch` and `serve` raise. After each of them it must be killed.
        """
        needs = {run.digest, ENGINE} if run.linked else {run.digest}
        allowed = run.timeout_ms / 1000 + GRACE_SECONDS
        deadline = monotonic() + allowed
        self._channel.send(Kind.RUN, pack_run(run), deadline=deadline)
        self.shelf.use(run.digest)
        asks, cold = 0, False
        while True:
            kind, payload = (
                self._hear(deadline) if asks else self._channel.receive(_NEWS, deadline=deadline)
            )
            if kind is Kind.ASK:
                asks += 1
                self._answer(run, payload, asks, serve, deadline)
            elif kind is Kind.NEED:
                name = payload.decode("ascii", "replace")
                if name not in needs or asks:
                    raise Breach("asks for what it has no need of")
                needs.remove(name)
                cold = True
                deadline = self._supply(name, fetch(name), allowed + LOAD_SECONDS)
            else:
                return kind, payload, cold

    def _answer(self, run: Run, payload: bytes, asks: int, serve: Serve, deadline: float) -> None:
        operation, milliseconds, argument = unpack_ask(payload)
        if asks > ASKS or service_of(operation) not in run.grants:
            raise Escape("asks for what it was not granted")
        # Only the runner knows when the guest began, and it may lie: it gains no more than what
        # loading is allowed.
        left = min(milliseconds / 1000, deadline - GRACE_SECONDS - monotonic())
        answer = serve(operation, argument, left)
        with _done():
            self._channel.send(Kind.ANSWER, answer, deadline=deadline)

    def _hear(self, deadline: float) -> tuple[Kind, bytes]:
        with _done():
            return self._channel.receive(_NEWS, deadline=deadline)

    def _supply(self, name: str, supply: Supply, seconds: float) -> float:
        deadline = monotonic() + seconds
        if name != ENGINE and self._strict is None:
            self._strict = self.means.sealing and isinstance(supply.code, str)
        elif self._strict and not isinstance(supply.code, str):
            raise Sealed
        gone = () if name == ENGINE else self.shelf.add(name, supply.held)
        self.cold += name != ENGINE
        self.evicted += len(gone)
        if isinstance(supply.code, Code):
            self._channel.send(
                Kind.CODE,
                pack_code(gone, pack_size(supply.code.size)),
                deadline=deadline,
                descriptor=supply.code.descriptor,
            )
        elif isinstance(supply.code, str):
            self._channel.send(
                Kind.SOURCE, pack_code(gone, supply.code.encode()), deadline=deadline
            )
        else:
            self._channel.send(Kind.MODULE, pack_code(gone, supply.code), deadline=deadline)
        return deadline

    def interrupt(self) -> None:
        """Make the call in progress, which another thread waits for, end in a `Breach`."""
        self._channel.hang_up()

    def kill(self) -> None:
        """End it and all that it may have started; harmless when it is gone already."""
        self._channel.close()
        spawn.kill(self._process)


@contextmanager
def _done() -> Iterator[None]:
    """What was asked for was done: a runner that did not hear of it must not be taken for one that
    did nothing.
    """
    try:
        yield
    except Unheard as unheard:
        raise Breach(str(unheard)) from None
