"""What the sandbox is given and what it gives back: values without any machinery."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from sigil.protocol import Json
from sigil.sandbox.loaded_programs import Rank

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
class Limits:
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
DEFAULT_LIMITS = Limits()
