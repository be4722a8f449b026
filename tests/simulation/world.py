"""The world around the workers, without the workers: store, platform, registry and model, every
verb of theirs a step on the scheduler.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from typing import Any

from functions.agent.conversation.messages import ToolCall, Usage
from functions.agent.model.base import ModelReply, ModelRequest
from functions.channels.base import Busy, PlatformRequest, Received, Reply
from functions.events import Event
from sigil.errors import BackendError, Conflict, Refused, UsageError
from sigil.protocol import Caller, Deployed, Found, Hit, Json, Offer, Ran
from sigil.storage.kv import Expect, Item, Key
from sigil.storage.kv.memory import MemoryKV
from tests.simulation.promises import Promises
from tests.simulation.scheduler import Scheduler

PARTS = 3
"""Parts of a long reply."""
LOOK_SECONDS = 1.0
PURE = {"alpha", "gamma"}
START = ("alpha", "beta")
"""Capabilities that are there from the beginning; `beta` has effects."""


class Store:
    """A `KV` over memory: each verb a step, each write shown to the promises."""

    def __init__(self, scheduler: Scheduler, kv: MemoryKV, promises: Promises) -> None:
        self._scheduler, self._kv, self._promises = scheduler, kv, promises

    def get(self, key: Key) -> Item | None:
        def act() -> Item | None:
            item = self._kv.get(key)
            self._promises.read(key, item)
            return item

        return self._scheduler.step(f"get {key.partition}/{key.sort}", act)

    def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
        def act() -> list[Item | None]:
            items = self._kv.get_many(keys)
            for key, item in zip(keys, items, strict=True):
                self._promises.read(key, item)
            return items

        return self._scheduler.step(f"get {len(keys)} items", act)

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        def act() -> str:
            before = self._kv.get(key)
            try:
                version = self._kv.put(key, value, expect=expect, ttl=ttl)
            except Conflict:
                self._scheduler.record(f"conflict at {key.partition}/{key.sort}")
                self._promises.disturbed(self._scheduler.moving)
                raise
            self._promises.wrote(key, before, Item(value, version))
            return version

        return self._scheduler.step(f"put {key.partition}/{key.sort}", act)

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        self._scheduler.step(
            f"delete {key.partition}/{key.sort}", lambda: self._kv.delete(key, expect=expect)
        )

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        return self._scheduler.step(
            f"scan {partition}", lambda: self._kv.scan(partition, prefix, after, limit)
        )

    def sweep(self) -> int:
        return self._kv.sweep()


class Platform:
    """A chat platform. `moods`: what the next sends to a session meet."""

    def __init__(self, scheduler: Scheduler, promises: Promises) -> None:
        self._scheduler, self._promises = scheduler, promises
        self.moods: dict[str, list[str]] = {}

    body_most = 1 << 20

    def verify_head(self, request: PlatformRequest) -> bool:
        return True

    def receive(self, request: PlatformRequest) -> Received:
        return Received()

    def accept(self, event: Event) -> Event:
        return event

    def show_waiting(self, event: Event) -> float:
        return 0.0

    def end_waiting(self, event: Event) -> None: ...

    def send(self, reply: Reply, sent: Callable[[int], None]) -> None:
        parts = PARTS if "long" in reply.text else 1
        for part in range(reply.start, parts):
            self._scheduler.step(
                f"send part {part} of the answer to {reply.to}",
                partial(self._one, reply.session, reply.to, part, reply.text),
            )
            if part + 1 < parts:
                sent(part + 1)

    def _one(self, session: str, event: str, part: int, text: str) -> None:
        mood = self.moods[session].pop(0) if self.moods.get(session) else "well"
        if mood == "well":
            self._promises.sent(session, self._promises.teller(event), part, text)
            return
        self._scheduler.record(f"the platform is {mood}")
        event = self._promises.teller(event)
        self._promises.refused[event] += 1
        if mood == "busy":
            raise Busy("slow down", retry_after=30.0)
        if mood == "away":
            raise BackendError("EUNAVAILABLE", "no answer")
        self._promises.blocked.add(event)
        raise Refused("EBLOCKED", "blocked")


class ScriptedRegistry:
    """A registry in memory, seen by all processes. `beta` and `delta` have effects."""

    def __init__(self, scheduler: Scheduler, promises: Promises) -> None:
        self._scheduler, self._promises = scheduler, promises
        self.offers: dict[str, Offer] = {}
        for name in START:
            self._add(name, "1")

    def vanish(self, name: str) -> None:
        self.offers.pop(name, None)

    def query(self, text: str, caller: Caller, *, limit: int = 3) -> Found:
        return self._scheduler.step(f"query {text}", lambda: self._found(text, limit))

    def inspect(self, ref: str, caller: Caller) -> dict[str, Json]:
        if ref not in self.offers:
            raise UsageError("ENOENT", "no such capability")
        return {"name": ref}

    def deploy(self, spec: Mapping[str, Json], caller: Caller) -> Deployed:
        self._promises.acted("sigil_deploy")
        return self._scheduler.step(
            f"deploy {spec['name']}", lambda: self._add(spec["name"], spec["execute"])
        )

    def run(self, ref: str, arguments: Mapping[str, Json], caller: Caller) -> Ran:
        return self._scheduler.step(
            f"run {ref[:24]} for {arguments['token']}", lambda: self._ran(ref, arguments["token"])
        )

    def _found(self, text: str, limit: int) -> Found:
        self._promises.acted("sigil_query")
        hits = tuple(
            Hit(offer, 0.9) for name, offer in sorted(self.offers.items()) if name in text
        )[:limit]
        return Found(hits, len(hits))

    def _add(self, name: str, code: str) -> Deployed:
        digest = "sha256:" + sha256(f"{name} {code}".encode()).hexdigest()
        known = self.offers.get(name)
        if known and known.digest == digest:
            return Deployed(known, False)
        schema = {"type": "object", "properties": {"token": {"type": "string"}}}
        self.offers[name] = Offer(
            name, known.version + 1 if known else 1, digest, f"does {name}", schema, name in PURE
        )
        return Deployed(self.offers[name], True)

    def _ran(self, ref: str, token: str) -> Ran:
        name, _, digest = ref.partition("@")
        self._promises.ran(name, digest, token, name in PURE)
        if name not in self.offers:
            raise UsageError("ENOENT", "no such capability")
        return Ran(json.dumps({"ran": token, "filler": "x" * 300}).encode(), 1, digest)


class PlanningModel:
    """A model that follows the plan in the newest user message: a list of rounds, each a list of
    acts. Afterwards it answers.
    """

    name = "plan"

    def __init__(self, scheduler: Scheduler, promises: Promises, window: int) -> None:
        self._scheduler, self._promises = scheduler, promises
        self._ids = 0
        self.window = window
        self.awake = False  # it always answers

    def chat(self, request: ModelRequest) -> ModelReply:
        aside = "<<IDENTITY>>" not in request.messages[0]["content"]
        if not aside:
            self._promises.asked(request)
        while self._scheduler.await_fate("ask the model") == "slow":
            self._scheduler.time.forward(LOOK_SECONDS)
            if request.stopped():
                return ModelReply(finish="stopped")
        return (
            self._remembered(str(request.messages[1]["content"])) if aside else self._reply(request)
        )

    def _remembered(self, said: str) -> ModelReply:
        """The memory with one more line, which the entry has too; every fourth time nothing of
        use.
        """
        self._ids += 1
        if self._ids % 4 == 0:
            return ModelReply("no", usage=Usage(estimated=True))
        memory, line = (
            said.partition("<<MEMORY>>\n")[2].partition("\n<</MEMORY>>")[0],
            f"- entry {self._ids}",
        )
        update = {"history_entry": line, "memory_update": f"{memory}\n{line}"}
        return ModelReply(
            calls=(ToolCall("call", "save_memory", json.dumps(update)),),
            usage=Usage(estimated=True),
            finish="tool_calls",
        )

    def _reply(self, request: ModelRequest) -> ModelReply:
        newest = max(
            at
            for at, message in enumerate(request.messages)
            if "plan=" in message["content"] and message["role"] == "user"
        )
        row = _last_row([str(message["content"]) for message in request.messages[: newest + 1]])
        found = [re.search(r"plan=(.*)#(\S+)", content) for content in row]
        plan = json.loads(found[-1][1] if found[-1] else "")
        event = " ".join(each[2] if each else "" for each in found)
        said = sum(message["role"] == "assistant" for message in request.messages[newest + 1 :])
        is_last = said >= len(plan) or request.tool_choice == "none"
        if is_last or (self.awake and "fall silent" in plan[said]):
            return ModelReply(
                f"re {event} {'long' if 'long' in str(plan) else 'short'}",
                usage=Usage(estimated=True),
            )
        if "fall silent" in plan[said]:
            return ModelReply(
                "it does not answer", finish="error", usage=Usage(estimated=True), transient=True
            )
        return ModelReply(
            calls=tuple(map(self._call, plan[said])),
            usage=Usage(estimated=True),
            finish="tool_calls",
        )

    def _call(self, act: str) -> ToolCall:
        self._ids += 1
        identity, (verb, _, name) = f"call-{self._ids}", act.partition(" ")
        given: dict[str, tuple[str, Any]] = {
            "find": ("sigil_query", {"query": name}),
            "make": (
                "sigil_deploy",
                {"name": name[:-1], "description": name, "schema": {}, "execute": name[-1:]},
            ),
            "use": (f"cap_{name}", {"token": identity}),
            "long": ("cap_nothing", {}),
        }
        tool, arguments = given[verb]
        return ToolCall(identity, tool, json.dumps(arguments))


def _last_row(contents: list[str]) -> list[str]:
    """The last message, with those that its turn answers as well."""
    row: list[str] = []
    for content in reversed(contents):
        if "Before you could answer this" in content:
            return [contents[len(contents) - len(row) - 2], *row]
        if "plan=" not in content:
            break
        row.insert(0, content)
    return contents[-1:]


class InTurn(ThreadPoolExecutor):
    """A pool whose work is done at once by whoever hands it in: the baton stays in one hand."""

    def submit(self, work: Any, /, *given: Any, **more: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*given, **more))
        return done
