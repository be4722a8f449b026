"""The worker of a terminal: what it does when the store is away, in one process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from functions.agent.app import ignore_step
from functions.agent.session.store import Sessions
from functions.cli.chat.session_lock import SessionLock
from functions.cli.chat.terminal_turn import TerminalTurn, TerminalWorker
from functions.events import Event, Sender
from functions.wiring import AgentRuntime
from sigil.errors import BackendError
from sigil.protocol import Json
from sigil.storage.kv import KV, Expect, Item, Key, keys
from tests.fakes.model import ScriptedModel, say
from tests.machine import within

CHAT = "terminal:main"
S = keys.session_of("main", CHAT)


class MoodyKV:
    """A store that takes nothing while it is `away`."""

    def __init__(self, kv: KV) -> None:
        self.kv = kv
        self.away = False

    def get(self, key: Key) -> Item | None:
        return self.kv.get(key)

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        self._require_presence()
        return self.kv.put(key, value, expect=expect, ttl=ttl)

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        self._require_presence()
        self.kv.delete(key, expect=expect)

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        return self.kv.scan(partition, prefix, after, limit)

    def _require_presence(self) -> None:
        if self.away:
            raise BackendError("EUNAVAILABLE", "the store is away")


def take(worker: TerminalWorker, text: str) -> TerminalTurn:
    """Take a message to its end."""
    event = Event(
        id=f"terminal:{text}",
        kind="message",
        agent="main",
        session=CHAT,
        sender=Sender("terminal:local", "you"),
        text=text,
        at=1.0,
        order=text,
        private=True,
    )
    turn = worker.open_turn(event, lambda: None)
    turn.start()
    assert turn.over.wait(within(10)), "it waits"
    return turn


def test_a_store_that_is_away_in_the_middle_of_a_turn_costs_no_message_and_no_wait(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, tmp_path: Path
) -> None:
    agent = runtime(llm_url=model.url, store="memory://", lease=300.0)
    kv = MoodyKV(agent.stores.kv)
    app = replace(agent.app, kv=kv, sessions=Sessions(kv, agent.stores.artifacts))
    agent = replace(agent, stores=replace(agent.stores, kv=kv), app=app)
    shown: list[Json] = []
    lock = SessionLock(tmp_path, S)
    worker = TerminalWorker(
        agent, CHAT, lock, ignore_step, lambda reply: shown.append(reply["reply"])
    )

    def fail(body: object) -> dict[str, Json]:
        kv.away = True
        return say("lost")

    model.then(fail, say("first"), say("second"))
    turn = take(worker, "1")
    assert isinstance(turn.problem, BackendError)
    assert turn.is_kept
    kv.away = False
    assert take(worker, "2").problem is None
    assert shown == ["second"]
    assert [unread.text for _, unread in worker.replies.unread.list_from(S)] == ["first"]
    assert kv.scan(keys.inbox_event(S, "").partition) == []
