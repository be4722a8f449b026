"""The world outlives the workers of an agent: bytes, a clock that people set, what the platform
has sent; and what the model will do.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from functions.agent.session.document import HIDDEN
from functions.events import Event, Kind, Sender, order_of
from sigil.errors import BackendError, Refused, SigilError, ToolError
from sigil.storage.kv import keys
from sigil.storage.kv.memory import MemoryKV
from tests.functions.agent.safety.account import NEW, Stored
from tests.functions.agent.safety.damages import damaged
from tests.functions.agent.safety.rules import Agent, Chat

NAME = "main"
DAY = 86_400.0
BEGIN = 1_800_000_000.0
FARTHEST = 3 * DAY
"""How far the clock goes from where it began: what was handled is known for eight days."""
QUERY, DEEP = "sigil_query", {"y": [1, {"b": 2, "a": 1}], "x": "é"}
OPERATIONS: dict[str, tuple[str, dict[str, Any] | str]] = {
    **{
        name: (QUERY, {"query": name, "limit": 3})
        for name in ("fine a", "fine b", "news", "load", "moody")
    },
    **{
        name: (QUERY, {"query": name, "limit": 3})
        for name in (
            "EINVAL a",
            "EINVAL b",
            "EPERM",
            "EMYOWN",
            "EUNAVAILABLE",
            "ENOMEM",
            "EHOSTMEM",
        )
    },
    "garbled": (QUERY, '{"query": '),
    "listed": (QUERY, '["query"]'),
    "nobody": ("no_such_tool", {"n": 1, "deep": DEEP}),
    "absent": ("cap_absent", {"n": 1}),
    "act": ("cap_act", {"what": "", "deep": DEEP}),
    "act badly": ("cap_act", {"what": "EMYOWN", "deep": DEEP}),
}
"""What the model may call, by name. A text that begins with a code fails with it; `moody` fails two
times of three, `news` never repeats.

`act` has effects, and has to be loaded.
"""


@dataclass(frozen=True)
class Plan:
    """The acts of the model in a turn: the calls of each round, what each request costs, what it says
    at last.
    """

    rounds: Sequence[Sequence[str]] = ()
    tokens: int = 10
    last: str = "ok?"


@dataclass
class World:
    """All that there is when no worker is there; `agent` is the account by the rules, `broken` what
    does not agree with it.
    """

    agent: Agent
    seen: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    events: dict[str, Event] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)
    rests: dict[str, list[Sequence[str]]] = field(default_factory=dict)
    """Of each plan the rounds that the model has not asked for yet."""
    versions: Counter[str] = field(default_factory=Counter)
    now: float = BEGIN
    number: int = 0

    def __post_init__(self) -> None:
        self.kv = MemoryKV(lambda: self.now)
        self.jump(0.0)

    def jump(self, seconds: float) -> None:
        """Time passes, or somebody sets the clock."""
        self.now = min(max(self.now + seconds, BEGIN - FARTHEST), BEGIN + FARTHEST)
        self.agent.day = datetime.fromtimestamp(self.now, UTC).date().isoformat()

    def event(self, chat: str, who: str, text: str, kind: Kind = "message") -> Event:
        """Something that the platform sends."""
        self.number += 1
        at = BEGIN + self.number
        event = Event(
            f"e{self.number}",
            kind,
            NAME,
            chat,
            Sender(who),
            text,
            at,
            order_of(at, self.number),
            private=True,
        )
        self.events[event.id] = event
        return event

    def planned(self, chat: str, who: str, plan: Plan, kind: Kind = "message") -> Event:
        """Something that makes the model follow a plan."""
        event = self.event(chat, who, "go", kind)
        self.plans[event.id], self.rests[event.id] = plan, list(plan.rounds)
        return event

    def rule(self, word: str, chat: str, *, everywhere: bool) -> None:
        """An owner said it: so it is by the rules."""
        self.seen[f"{word}{' all' if everywhere else ''}"] += 1
        if word == "/halt":
            self.agent.halt("" if everywhere else chat)
        else:
            self.agent.unlock("" if everywhere else chat)

    def damage(self, chat: str, name: str) -> None:
        """Change what is stored of a chat's safety, as no worker does."""
        item = self.kv.get(keys.session_head(session_of(chat)))
        document = parsed(item.value) if item else NEW
        if item and self.agent.chat(chat).since is not None:
            document["safety"] = damaged(document["safety"], name)
            self.kv.put(keys.session_head(session_of(chat)), json.dumps(document).encode())
            self.versions[chat] += 1
            self.seen["damaged"] += 1
            self.agent.chats[chat] = Chat(closed="damaged", since=None)

    def demand(self, holds: object, otherwise: str) -> None:
        """Nothing is raised here: the product could catch it."""
        if not holds:
            self.broken.append(otherwise)

    def judge(self) -> None:
        """Raise what is broken."""
        if self.broken:
            raise AssertionError("\n".join(self.broken))


def session_of(chat: str) -> str:
    """The S of a chat's keys."""
    return keys.session_of(NAME, chat)


def trouble(code: str) -> SigilError:
    """A failure as the registry tells it."""
    kinds: dict[str, type[SigilError]] = {"EPERM": Refused, "EUNAVAILABLE": BackendError}
    return kinds.get(code, ToolError)(code, "it fails")


def spelled(arguments: dict[str, Any], number: int) -> str:
    """The same arguments in another spelling: order, spaces, escapes."""
    turned = {name: arguments[name] for name in sorted(arguments, reverse=number % 2 == 0)}
    return json.dumps(
        turned, ensure_ascii=number % 3 == 0, separators=None if number % 5 else (",", ":")
    )


def parsed(data: bytes) -> Stored:
    """A document's fields, read without the product."""
    found: Stored = orjson.loads(data if data.startswith(b"{") else zlib.decompress(data))
    found["seen"] = [each for each in found["seen"] if not each.startswith(HIDDEN)]
    return found
