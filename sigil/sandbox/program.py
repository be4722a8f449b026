"""What the sandbox is given and what it gives back: values without any machinery."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, NamedTuple, Protocol

from sigil.protocol import Json

PROGRAMS = 256
PROGRAM_BYTES = 64 << 20


class Rank(IntEnum):
    """How long a program is kept: the lowest goes first."""

    EXPIRED = 0
    EPHEMERAL = 1
    NORMAL = 2
    PERSISTENT = 3


class LoadedProgram(NamedTuple):
    """`weight`: bytes in the runner; `expires`: seconds since 1970, for ephemeral programs."""

    weight: int
    rank: Rank = Rank.NORMAL
    expires: float | None = None

    def standing(self, now: float) -> Rank:
        over = self.rank is Rank.EPHEMERAL and self.expires is not None and self.expires <= now
        return Rank.EXPIRED if over else self.rank


class LoadedPrograms:
    """At most so many programs and bytes; the last one that came stays even when it is too large
    alone.
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
        """`name` is run now."""
        if name in self._held:
            self._held.move_to_end(name)

    def add(self, name: str, held: LoadedProgram) -> tuple[str, ...]:
        """Put `name` there: the names of those that leave for it."""
        self._held.pop(name, None)
        over = self.weight + held.weight - self._size
        now = self._clock()
        gone = []
        for old in sorted(
            self._held, key=lambda each: self._held[each].standing(now)
        ):  # stable: oldest use first
            if over <= 0 and len(self._held) < self._programs:
                break
            over -= self._held.pop(old).weight
            gone.append(old)
        self._held[name] = held
        return tuple(gone)


Kind = Literal["js", "sigil", "wasi"]


@dataclass(frozen=True, slots=True)
class Program:
    """A module that the sandbox can run.

    `digest` names the bytes: equal digests mean equal bytes (ASCII, at most 128 characters).
    `kind`: `sigil`, a module that stands alone (ABI `sigil/1`), `wasi`, a command of WASI preview
    1, or `js`, a small module that is linked to the shared JavaScript engine. `load` gives the
    bytes; it is called only when a runner does not have the program yet. `rank` and `expires`
    (seconds since 1970) say which program a runner without room lets go of first.
    """

    digest: str
    kind: Kind
    load: Callable[[], bytes]
    rank: Rank = Rank.NORMAL
    expires: float | None = None


@dataclass(frozen=True, slots=True)
class Grants:
    """What a run may ask of its host. `services`: what the server answers for it, of `http`, `kv`,
    `call` and `mcp`.

    What is declared but waits for an owner is the services' to refuse: they know its name and what
    of it waits.
    """

    clock: bool = False
    random: bool = False
    log: bool = False
    services: frozenset[str] = frozenset()


class Services(Protocol):
    """What the server does for a guest while it waits."""

    def answer(self, operation: str, argument: Json, seconds: float) -> Json:
        """The answer to one request, at most 1 MiB as JSON. A `SigilError` reaches the guest with
        its code and message, which may catch it.

        Called in the thread that called `Sandbox.run`. `seconds` is what is left of the run's wall
        time: whoever takes longer is too late.
        """


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What a run may use: wall time in milliseconds, linear memory and output in bytes.
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
    load the program first.
    """

    output: bytes
    logs: tuple[str, ...]
    duration_ms: float
    cold: bool


NO_GRANTS = Grants()
DEFAULT_LIMITS = SandboxLimits()
