"""The server's side of one runner process: it sends an order, trusts nothing that comes back, and
ends the process when it is late or breaks the protocol.
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

from sigil.errors import BackendError, UsageError
from sigil.sandbox import spawn
from sigil.sandbox.program import LoadedProgram, LoadedPrograms
from sigil.sandbox.protocol import (
    ASKS,
    ENGINE,
    POOLED,
    SEALS,
    DeadlinePassed,
    FrameChannel,
    FrameKind,
    GrantViolation,
    PeerGone,
    ProtocolBreach,
    RunOrder,
    pack_code,
    pack_run,
    pack_size,
    service_of,
    unpack_ask,
)
from sigil.sandbox.sealed_memory import SealedCode

MODES = ("auto", "fast", "plain")
"""The values of `SIGIL_SANDBOX`."""


class Isolation(NamedTuple):
    """The means that a runner uses: a pool of memories, a filter of system calls, memory images of
    loaded sources.
    """

    pooling: bool
    sealing: bool
    images: bool


PLAIN = Isolation(pooling=False, sealing=False, images=False)
FAST = Isolation(pooling=True, sealing=True, images=True)


def choose_isolation(mode: str) -> Isolation:
    """Return the means that `SIGIL_SANDBOX` asks for; `UsageError` ESETTING for an unknown mode."""
    if mode not in MODES:
        raise UsageError(
            "ESETTING",
            f"SIGIL_SANDBOX={mode!r} is none of {', '.join(MODES)}",
            suggestion="use auto",
        )
    return PLAIN if mode == "plain" else FAST


def describe_isolation(mode: str, isolation: Isolation) -> str:
    """Describe for a person, in one line, the means that are used and why others are not."""
    if mode == "plain":
        return "plain, as SIGIL_SANDBOX says: no pooled memory, no seccomp, no memory images"
    used = [name for has, name in zip(isolation, _NAMES, strict=True) if has]
    missing = [reason for has, reason in zip(isolation, _MISSING, strict=True) if not has]
    return "; ".join([f"fast: {', '.join(used)}", *missing])


_NAMES = ("pooled memory", "seccomp", "memory images")
_MISSING = (
    "no pooled memory: the address space is too small for it",
    "no seccomp: this kernel or processor has no filter for it",
    "no memory images",
)


START_SECONDS = 10.0
LOAD_SECONDS = 2.0
GRACE_SECONDS = 0.1

_FROM_RUNNER = frozenset(
    (FrameKind.NEED, FrameKind.ASK, FrameKind.DONE, FrameKind.GUEST, FrameKind.FAILED)
)


class LoadableCode(NamedTuple):
    """Code for a runner: a JavaScript source (`str`), wasm that it may compile by itself, or native
    code.

    `held`: its weight there, and how long it stays.
    """

    code: str | bytes | SealedCode
    held: LoadedProgram


class CodeRefused(Exception):
    """The runner began with a JavaScript source and takes no code any more: it has to be replaced
    by a fresh one.
    """


Fetch = Callable[[str], LoadableCode]
"""Returns the code that a runner asks for by its name."""

Serve = Callable[[str, bytes, float], bytes]
"""Answers a guest's request: the operation, its argument as JSON and the seconds that are left →
the answer as JSON.
"""


class RunnerProcess:
    """A runner process and the socket to it. One order at a time.

    `cold`: how many programs it had to load, `evicted`: how many left it for that.
    """

    isolation = PLAIN
    cold = 0
    evicted = 0
    _source_only: bool | None = None  # None as long as it has run nothing

    def __init__(
        self, isolation: Isolation = PLAIN, clock: Callable[[], float] = time.time
    ) -> None:
        """Start the process without waiting for it; `BackendError` when that fails.

        `clock`: the seconds since 1970, by which the programs in it expire.
        """
        self._images = isolation.images
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
                    str(int(isolation.sealing)),
                    str(int(isolation.pooling)),
                    passing=(end,),
                )
            except BaseException:
                ours.close()
                raise
        self._channel = FrameChannel(ours)
        self.programs = LoadedPrograms(clock=clock)
        self._poll = select.poll()
        self._poll.register(ours, select.POLLIN)

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until_ready(self) -> None:
        """Wait until it is ready; end it and raise `BackendError` when it does not come up."""
        try:
            _, payload = self._channel.receive(
                frozenset((FrameKind.READY,)), deadline=monotonic() + START_SECONDS
            )
            self.isolation = Isolation(
                pooling=bool(payload[0] & POOLED),
                sealing=bool(payload[0] & SEALS),
                images=self._images,
            )
        except (ProtocolBreach, DeadlinePassed, IndexError):
            self.kill()
            raise BackendError(
                "EUNAVAILABLE", "the sandbox process did not start in time", source="sandbox"
            ) from None

    @property
    def refuses_code(self) -> bool:
        """Return whether it takes no code any more, because it began with a JavaScript source."""
        return bool(self._source_only)

    def is_idle(self) -> bool:
        """Return whether it waits for an order: it is alive and has sent nothing unasked."""
        return not self._poll.poll(0)

    def run(self, run: RunOrder, fetch: Fetch, serve: Serve) -> tuple[int, bytes, bool]:
        """Return the runner's answer to `run`, and whether it had to load something for it.

        `DeadlinePassed` when it is late, `ProtocolBreach` when it is gone or odd, `CodeRefused`
        when it cannot load its code; errors of `fetch` and `serve` pass through. After each of
        them it must be killed.
        """
        needs = {run.digest, ENGINE} if run.linked else {run.digest}
        allowed = run.timeout_ms / 1000 + GRACE_SECONDS
        deadline = monotonic() + allowed
        self._channel.send(FrameKind.RUN, pack_run(run), deadline=deadline)
        self.programs.use(run.digest)
        asks = 0
        cold = False
        while True:
            if asks:
                with _died_at_work():
                    kind, payload = self._channel.receive(_FROM_RUNNER, deadline=deadline)
            else:
                kind, payload = self._channel.receive(_FROM_RUNNER, deadline=deadline)
            if kind == FrameKind.ASK:
                asks += 1
                operation, milliseconds, argument = unpack_ask(payload)
                if asks > ASKS or service_of(operation) not in run.grants:
                    raise GrantViolation("asks for what it was not granted")
                # Only the runner knows when the guest began, and it may lie: it gains no more than
                # what loading is allowed.
                left = min(milliseconds / 1000, deadline - GRACE_SECONDS - monotonic())
                answer = serve(operation, argument, left)
                with _died_at_work():
                    self._channel.send(FrameKind.ANSWER, answer, deadline=deadline)
            elif kind == FrameKind.NEED:
                name = payload.decode("ascii", "replace")
                if name not in needs or asks:
                    raise ProtocolBreach("asks for what it has no need of")
                needs.remove(name)
                cold = True
                supply = fetch(name)
                deadline = monotonic() + allowed + LOAD_SECONDS
                self._send_code(name, supply, deadline)
            else:
                return kind, payload, cold

    def _send_code(self, name: str, supply: LoadableCode, deadline: float) -> None:
        """Send the code of `name`, and the names of the programs that the runner forgets for it."""
        if name != ENGINE and self._source_only is None:
            self._source_only = self.isolation.sealing and isinstance(supply.code, str)
        elif self._source_only and not isinstance(supply.code, str):
            raise CodeRefused
        gone = () if name == ENGINE else self.programs.add(name, supply.held)
        self.cold += name != ENGINE
        self.evicted += len(gone)
        if isinstance(supply.code, SealedCode):
            self._channel.send(
                FrameKind.CODE,
                pack_code(gone, pack_size(supply.code.size)),
                deadline=deadline,
                descriptor=supply.code.descriptor,
            )
        elif isinstance(supply.code, str):
            self._channel.send(
                FrameKind.SOURCE, pack_code(gone, supply.code.encode()), deadline=deadline
            )
        else:
            self._channel.send(FrameKind.MODULE, pack_code(gone, supply.code), deadline=deadline)

    def interrupt(self) -> None:
        """Make the call in progress, which another thread waits for, end in a `ProtocolBreach`."""
        self._channel.hang_up()

    def kill(self) -> None:
        """End it and all that it may have started; does nothing when it is gone already."""
        self._channel.close()
        spawn.kill(self._process)


@contextmanager
def _died_at_work() -> Iterator[None]:
    """Turn `PeerGone` into a breach of the protocol: a runner that dies after it asked for a
    service must not be taken for an idle one that did nothing, or the call would run a second time.
    """
    try:
        yield
    except PeerGone as gone:
        raise ProtocolBreach(str(gone)) from None
