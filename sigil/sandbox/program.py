"""The values that go into the sandbox and come out of it: programs, grants, limits, outcomes."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, NamedTuple, Protocol

from sigil.protocol import Json, KeptFile

PROGRAMS = 256
PROGRAM_BYTES = 64 << 20


class Rank(IntEnum):
    """The rank of a program in a runner's memory: the lowest is evicted first."""

    EXPIRED = 0
    EPHEMERAL = 1
    NORMAL = 2
    PERSISTENT = 3


class LoadedProgram(NamedTuple):
    """`weight`: bytes in the runner; `expires`: seconds since 1970, for ephemeral programs."""

    weight: int
    rank: Rank = Rank.NORMAL
    expires: float | None = None

    def rank_at(self, now: float) -> Rank:
        """Return the rank at `now` (seconds since 1970), which falls when the program expires."""
        if self.rank is Rank.EPHEMERAL and self.expires is not None and self.expires <= now:
            return Rank.EXPIRED
        return self.rank


class LoadedPrograms:
    """The programs in one runner: at most so many, and at most so many bytes.

    The one that was added last stays even when it is too large by itself.
    """

    def __init__(
        self,
        programs: int = PROGRAMS,
        size: int = PROGRAM_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._programs = programs
        self._size = size
        self._clock = clock
        self._held: OrderedDict[str, LoadedProgram] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, name: str) -> bool:
        return name in self._held

    @property
    def weight(self) -> int:
        return sum(held.weight for held in self._held.values())

    def use(self, name: str) -> None:
        """Note that the program `name` runs now."""
        if name in self._held:
            self._held.move_to_end(name)

    def add(self, name: str, held: LoadedProgram) -> tuple[str, ...]:
        """Add the program `name`; return the names of those that are evicted for it."""
        self._held.pop(name, None)
        excess = self.weight + held.weight - self._size
        now = self._clock()
        evicted = []
        # The sort is stable: of equal ranks the one whose last use is the longest ago goes first.
        for candidate in sorted(self._held, key=lambda each: self._held[each].rank_at(now)):
            if excess <= 0 and len(self._held) < self._programs:
                break
            excess -= self._held.pop(candidate).weight
            evicted.append(candidate)
        self._held[name] = held
        return tuple(evicted)


Kind = Literal["js", "sigil", "wasi"]


@dataclass(frozen=True, slots=True)
class Program:
    """A module that the sandbox can run.

    `digest` names the bytes: equal digests mean equal bytes (ASCII, at most 128 characters).
    `kind`: `sigil`, a module that runs by itself (ABI `sigil/1`), `wasi`, a command of WASI preview
    1, or `js`, a small module that is linked to the shared JavaScript engine. `load` gives the
    bytes; it is called only when a runner does not have the program yet. `rank` and `expires`
    (seconds since 1970) decide which program a full runner evicts first.
    """

    digest: str
    kind: Kind
    load: Callable[[], bytes]
    rank: Rank = Rank.NORMAL
    expires: float | None = None


@dataclass(frozen=True, slots=True)
class Grants:
    """The requests that a run may make of its host. `services`: those that the server answers, of
    `http`, `kv`, `call` and `mcp`.

    What is declared but waits for an owner is the services' to refuse: they know its name and what
    of it waits.
    """

    clock: bool = False
    random: bool = False
    log: bool = False
    services: frozenset[str] = frozenset()


class Services(Protocol):
    """The server's answers to a guest, which waits for them."""

    def answer(self, operation: str, argument: Json, seconds: float) -> Json:
        """Return the answer to one request, at most 1 MiB as JSON. A `SigilError` reaches the guest
        with its code and message, and the guest may catch it.

        It is called in the thread that called `Sandbox.run`. `seconds` is what is left of the run's
        wall time: an answer that takes longer comes too late.
        """


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """The limits of a run: wall time in milliseconds, linear memory and output in bytes.
    `patience_ms`: how long it waits for a runner.
    """

    timeout_ms: int = 5000
    memory_bytes: int = 64 << 20
    output_bytes: int = 256 << 10
    patience_ms: int = 30_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run's answer: `output` is one strict JSON value in UTF-8, `logs` at most 100 clean lines.

    `duration_ms`: wall time of the run without the time in the queue. `cold`: the runner had to
    load the program first. `files` were kept beside the output.
    """

    output: bytes
    logs: tuple[str, ...]
    duration_ms: float
    cold: bool
    files: tuple[KeptFile, ...] = ()


NO_GRANTS = Grants()
DEFAULT_LIMITS = SandboxLimits()
