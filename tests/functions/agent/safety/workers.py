"""The workers: each is a process that handles one thing and is gone, watched while it does. Nothing
of it lasts but bytes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import orjson

from functions.agent.access.roles import Role, Rules
from functions.agent.app import App
from functions.agent.commands import control, status
from functions.agent.conversation.messages import ToolCall, Usage
from functions.agent.model.base import ModelReply, ModelRequest
from functions.agent.safety.budget import SafetyLimits
from functions.agent.safety.session_usage import read_usage
from functions.agent.session.store import Sessions
from functions.agent.turn.turn import run_turn
from functions.events import Event
from functions.time.clock import Clock
from sigil.errors import Conflict, Refused, UsageError
from sigil.protocol import Caller, Deployed, Found, Hit, Json, Offer, Ran
from sigil.storage.kv import Expect, Item, Key, keys
from tests.functions.agent.safety.account import NEW, Account
from tests.functions.agent.safety.rules import STATES
from tests.functions.agent.safety.world import (
    DAY,
    NAME,
    OPERATIONS,
    World,
    parsed,
    session_of,
    spelled,
    trouble,
)
from tests.simulation.world import InTurn

POOL = InTurn()
ACT = Offer("act", 1, "sha256:1", "It acts.", {"type": "object"})


class Killed(BaseException):
    """The worker's process ends here."""


@dataclass(frozen=True)
class Twist:
    """Something that happens in the middle of a turn, before the `number`th step of a kind: `ask`,
    `run`, `save`; `saved` is right after one.
    """

    where: str
    number: int
    what: str


class People(Rules):
    """Owners, members and guests, as their ids say."""

    def find_named_role(self, event: Event) -> Role | None:
        roles: dict[str, Role] = {"owner": "owner", "member": "member"}
        return roles.get(event.sender.id, "guest")


def deliver(world: World, event: Event, twist: Twist | None = None) -> None:
    """The platform delivers an event, perhaps not for the first time."""
    worker = Worker(world, event.session, twist)
    if event.is_control:
        worker.control(event)
    else:
        worker.handle(event)


def outside(world: World, word: str, chat: str) -> None:
    """An owner says it in the shell, of one chat or of all (none)."""
    world.rule(word, chat, everywhere=not chat)
    act = {"/halt": control.halt, "/unlock": control.unlock}[word]
    act(session_of(chat) if chat else "", Worker(world, chat).app, "terminal:local")


def look(world: World, chat: str) -> None:
    """Somebody asks how the chat stands."""
    app = Worker(world, chat).app
    document = Sessions(world.kv).open(session_of(chat)).document
    found, ruled = (
        status.make_report(session_of(chat), document, app),
        world.agent.heard(chat, world.agent.chat(chat), person=False),
    )
    reason = ruled.closed or world.agent.bars(chat, replace(ruled, ticks=0))
    wanted = "EXECUTING" if document.turn and not reason else STATES[reason]
    world.demand(
        found.state == wanted,
        f"/status says {found.state} ({found.reason}), by the rules it is {wanted} ({reason})",
    )
    counted = (found.consecutive, found.failed, found.operations, found.spent, found.own)
    rows = (
        ruled.row,
        sum(bool(call.code) for call in ruled.window),
        len(ruled.window),
        world.agent.counted(),
        world.agent.own(chat),
    )
    world.demand(counted == rows, f"/status counts {counted}, by the rules {rows}")


class Worker:
    """A process: the store, the model and the registry that the product is given, and the account
    of what it does with them.
    """

    name = "plan"
    window = 1_000_000

    def __init__(self, world: World, chat: str, twist: Twist | None = None) -> None:
        self._world, self._kv, self._twist = world, world.kv, twist
        self._steps: Counter[str] = Counter()
        self._head = keys.session_head(session_of(chat))
        self._version, self._overtaken, self._owing = -1, False, 0
        self.account = Account(chat, world.agent, world.events, world.seen, world.demand)
        limits = SafetyLimits(
            world.agent.tokens, int(DAY), world.agent.chat_tokens, world.agent.ticks
        )
        clock = Clock(lambda: world.now, lambda: 0.0, lambda seconds: None)
        self.app = App(
            NAME, self, Sessions(self), self, self, People(access="open"), clock, limits=limits, pool=POOL, turn_seconds=1e9, look_seconds=0.0
        )  # fmt: skip

    def handle(self, event: Event) -> None:
        """Take an event to its end, unless something ends this worker first."""
        try:
            opened = run_turn(event, self.app)
            opened = self.app.sessions.clear_outbox(opened)
        except Killed:
            self._world.seen["killed"] += 1
        except Conflict:
            self._world.demand(self._overtaken, "a conflict, and nobody else had written")
            self._world.seen["overtaken"] += 1
        else:
            kept = Sessions(self._kv).open(opened.key).document
            alone = self._version == self._world.versions[event.session]
            self._world.demand(
                not alone or kept == opened.document,
                "what comes back from the store is not what was known",
            )

    def control(self, event: Event) -> None:
        """Do what a control event says."""
        fresh = (
            self._kv.get(keys.seen_event(keys.control_of(session_of(event.session)), event.id))
            is None
        )
        word, _, rest = event.text.replace("admin:unlock", "/unlock").partition(" ")
        if fresh and event.sender.id == "owner" and word != "/stop":
            self._world.rule(word, event.session, everywhere=word == "/halt" and not rest)
        control.handle_control(event, self.app)

    def get(self, key: Key) -> Item | None:
        item = self._kv.get(key)
        if key == self._head:
            self._version = self._world.versions[self.account.name]
            self.account.read(parsed(item.value) if item else NEW)
        return item

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        if key == self._head:
            return self._save(value, expect)
        if key.partition == f"usage#{NAME}" and not key.sort.endswith("#"):
            written = read_usage(Item(value, ""))
            assert written
            self._pay(key.sort, written.tokens)
        return self._kv.put(key, value, expect=expect, ttl=ttl)

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        self._kv.delete(key, expect=expect)

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        return self._kv.scan(partition, prefix, after, limit)

    def sweep(self) -> int:
        return self._kv.sweep()

    def _save(self, value: bytes, expect: Expect) -> str:
        chat, document = self.account.name, parsed(value)
        stale = self._version != self._world.versions[chat]
        if not stale:
            self.account.follow(document, self._told_to_stop())
        self._step("save")
        self._overtaken = self._version != self._world.versions[chat]
        version = self._kv.put(self._head, value, expect=expect)
        self._world.demand(not self._overtaken, "a worker that lost its place has saved")
        self._world.agent.chats[chat] = self.account.chat
        self._world.versions[chat] += 1
        self._version = self._world.versions[chat]
        self._step("saved")
        return version

    def _pay(self, sort: str, total: int) -> None:
        tokens, self._owing = self._owing, 0
        agent, name = self._world.agent, self.account.name
        if not tokens and total == agent.own(name):
            return  # a request beside the chat, which cost nothing here
        self.account.paid(tokens)
        self._world.demand(sort.startswith(agent.day), f"it is {agent.day}, and {sort} is written")
        self._world.demand(
            tokens and total == agent.own(name),
            f"{total} tokens are written down, {agent.own(name)} were spent",
        )

    def chat(self, request: ModelRequest) -> ModelReply:
        if request.tool_choice not in (None, "none"):
            return ModelReply("memory has to wait", finish="error")
        account, demand = self.account, self._world.demand
        account.said = None
        demand(not account.bars(), f"a request is sent, and the chat is closed by {account.bars()}")
        self._step("ask")
        if request.stopped():
            return ModelReply(finish="stopped")
        plan, rest = self._world.plans[account.turn], self._world.rests[account.turn]
        self._owing = plan.tokens
        if request.tool_choice == "none" or not rest:
            account.said = plan.last
            return ModelReply(plan.last, usage=Usage(plan.tokens))
        return ModelReply(
            calls=tuple(map(self._call, rest.pop(0))), usage=Usage(plan.tokens), finish="tool_calls"
        )

    def _call(self, name: str) -> ToolCall:
        self._world.number += 1
        tool, arguments = OPERATIONS[name]
        return ToolCall(
            f"c{self._world.number}",
            tool,
            arguments if isinstance(arguments, str) else spelled(arguments, self._world.number),
        )

    def query(self, text: str, caller: Caller, *, limit: int = 3) -> Found:
        self._begin()
        self._world.number += 1
        if text.startswith("E") or (text == "moody" and self._world.number % 3):
            raise trouble(text.partition(" ")[0] if text != "moody" else "ETRAP")
        return Found(
            (Hit(ACT, 1.0),) if text == "load" else (),
            self._world.number if text == "news" else len(text),
        )

    def inspect(self, ref: str, caller: Caller) -> dict[str, Json]:
        if ref not in ("absent", "act"):
            raise UsageError("ENOENT", "no such capability")
        return {"name": ref}

    def run(self, ref: str, arguments: dict[str, Json], caller: Caller) -> Ran:
        self._begin()
        if arguments["what"]:
            raise trouble(str(arguments["what"]))
        return Ran(b"1", 1, "")

    def deploy(self, spec: Any, caller: Caller) -> Deployed:
        raise Refused("EPERM", "nobody deploys here")

    def _begin(self) -> None:
        closed = self.account.chat.closed or (
            "halted" if self._world.agent.stops(self.account.name) else ""
        )
        self._world.demand(not closed, f"a call begins, and the chat is closed by {closed}")
        self._step("run")

    def _step(self, where: str) -> None:
        self._steps[where] += 1
        twist = self._twist
        if twist and (twist.where, twist.number) == (where, self._steps[where]):
            self._twist = None
            self._world.seen[f"in between: {twist.what}"] += 1
            self._between(*twist.what.split())

    def _between(self, word: str, where: str = "") -> None:
        world, chat = self._world, self.account.name
        if word == "crash":
            raise Killed
        if word in ("/halt", "/unlock"):
            outside(world, word, chat if where else "")
        elif word == "/stop":
            deliver(world, world.event(chat, "guest", "/stop"))
        elif word == "overtake" and self.account.turn:
            Worker(world, chat).handle(world.events[self.account.turn])
        elif word == "damage":
            world.damage(chat, "0")
        elif word == "jump":
            world.jump(float(where))

    def _told_to_stop(self) -> bool:
        item = self._kv.get(keys.control_mark(session_of(self.account.name)))
        return item is not None and orjson.loads(item.value)["stop"] == self.account.turn
