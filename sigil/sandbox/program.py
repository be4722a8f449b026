"""What the sandbox is given and what it gives back: values without any machinery."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["js", "sigil"]


@dataclass(frozen=True, slots=True)
class Program:
    """A module that the sandbox can run.

    `digest` names the bytes: equal digests mean equal bytes (ASCII, at most 128 characters). `kind`: `sigil`, a module that
    stands alone (ABI `sigil/1`), or `js`, a small module that is linked to the shared JavaScript engine. `load` gives the
    bytes; it is called only when a runner does not have the program yet.
    """

    digest: str
    kind: Kind
    load: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Grants:
    """What a run may ask of its host. `pending`: permissions (`http`, `kv`, `call`) that are declared but wait for an owner."""

    clock: bool = False
    random: bool = False
    log: bool = False
    pending: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use: wall time in milliseconds, linear memory and output in bytes."""

    timeout_ms: int = 5000
    memory_bytes: int = 64 << 20
    output_bytes: int = 256 << 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run's answer: `output` is one strict JSON value in UTF-8, `logs` at most 100 clean lines.

    `duration_ms`: wall time of the run without the time in the queue. `cold`: the runner had to load the program first.
    """

    output: bytes
    logs: tuple[str, ...]
    duration_ms: float
    cold: bool


NO_GRANTS = Grants()
DEFAULT_LIMITS = Limits()
