"""What a turn works with: the store, the model, the registry and the rules, put together once by the wiring."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

from functions.agent.model import Model
from functions.agent.roles import Rules
from functions.agent.session import Sessions
from sigil.kv import KV
from sigil.protocol import Registry

CALLERS = 16


@dataclass(frozen=True, slots=True)
class Step:
    """Something that a turn just did, for whoever watches: a terminal, a log. `ms` is how long it took."""

    kind: Literal["request", "call", "answer", "load", "evict", "note"]
    name: str = ""
    text: str = ""
    ms: float = 0.0
    error: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


Watch = Callable[[Step], None]


def unwatched(step: Step) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class App:
    """One agent. `clock` gives seconds since the epoch, for stamps; deadlines use the monotonic clock."""

    name: str
    kv: KV
    sessions: Sessions
    model: Model
    registry: Registry
    rules: Rules = field(default_factory=Rules)
    clock: Callable[[], float] = time.time
    turn_seconds: float = 120.0
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(CALLERS, thread_name_prefix="call"))
