"""What a turn works with: the store, the model, the registry and the rules, put together once by
the wiring.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

from functions.agent.access.daily_limits import Allowances
from functions.agent.access.first_owner import OwnerClaim
from functions.agent.access.members import People
from functions.agent.access.pairing import Pairing
from functions.agent.access.roles import Rules
from functions.agent.context import DOCUMENTS_SHARE, Preamble, preamble
from functions.agent.helpers import Aids
from functions.agent.memory.documents import Doc, Documents
from functions.agent.model.base import Failure, Model
from functions.agent.safety.breakers import Breakers, make_breakers
from functions.agent.safety.budget import SafetyLimits
from functions.agent.safety.guides import Guide, load_guide
from functions.agent.session.store import Sessions
from functions.agent.strategies import Strategy, strategy_of
from functions.clock import SYSTEM, Clock
from sigil.protocol import Registry
from sigil.storage.kv import KV

CALLERS = 16
FAILURES_MOST = 100


@dataclass(frozen=True, slots=True)
class Step:
    """Something that a turn just did, for whoever watches: a terminal, a log. `ms` is how long it
    took.
    """

    kind: Literal["open", "request", "call", "answer", "load", "evict", "save", "note"]
    name: str = ""
    text: str = ""
    ms: float = 0.0
    error: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


Watch = Callable[[Step], None]


def unwatched(step: Step) -> None:
    """Nobody watches."""


def unchanged(text: str) -> str:
    """Return the text: there is no secret to take out of it."""
    return text


@dataclass(frozen=True, slots=True)
class App:
    """One agent. Stamps are of `clock.now`, deadlines of `clock.monotonic`.

    `failures`: what its model failed with lately, by session (S of the keys), until whoever looks
    after the agent has been told.
    """

    name: str
    kv: KV
    sessions: Sessions
    model: Model
    registry: Registry
    rules: Rules = field(default_factory=Rules)
    clock: Clock = SYSTEM
    turn_seconds: float = 120.0
    look_seconds: float = 0.25
    """For so long a turn goes by what it last read of halts, stops and the budget. It reads them
    again before it acts on what the model answered. 0: it reads them before every request and call,
    and writes down what it spent after each.
    """
    guide: Guide = field(default_factory=lambda: load_guide("default"))
    limits: SafetyLimits = SafetyLimits()
    strategy: Strategy = field(default_factory=lambda: strategy_of("window"))
    aids: Aids = field(default_factory=Aids)
    redact: Callable[[str], str] = unchanged
    """Takes the secrets of the settings out of a text that leaves."""
    failures: deque[tuple[str, Failure]] = field(
        default_factory=lambda: deque(maxlen=FAILURES_MOST)
    )
    pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(CALLERS, thread_name_prefix="call")
    )

    @property
    def documents(self) -> Documents:
        """What it and its chats keep in words."""
        return Documents(self.kv, self.name, self.clock.now)

    @property
    def people(self) -> People:
        """Who was let in."""
        return People(self.kv, self.name, self.rules, self.clock.now)

    @property
    def pairing(self) -> Pairing:
        """The codes that let people in."""
        return Pairing(self.kv, self.name, self.people, self.clock.now)

    @property
    def claim(self) -> OwnerClaim:
        """The code that makes the first owner."""
        return OwnerClaim(self.kv, self.name, self.people, self.clock.now)

    @property
    def allowances(self) -> Allowances:
        """What each person may use in a day."""
        return Allowances(self.kv, self.name, self.rules, self.clock.now)

    def preamble(self, session: str, documents: tuple[Doc, ...] | None = None) -> Preamble:
        """The system message of a session (S of the keys), its documents read anew unless they were
        just read.
        """
        if documents is None:
            documents = self.documents.list_for_prompt(session)
        return preamble(self.name, documents, self.model.window * DOCUMENTS_SHARE)

    def breakers(self, session: str) -> Breakers:
        """The breakers of a turn in a session (S of the keys)."""
        return make_breakers(
            session,
            self.kv,
            self.name,
            self.limits,
            self.clock,
            fresh_seconds=self.look_seconds,
            defers=self.look_seconds > 0,
        )
