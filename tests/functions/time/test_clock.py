"""A wall clock that somebody sets, by a day in either direction, changes stamps and nothing
else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from functions.agent.access.roles import Rules
from functions.agent.app import App
from functions.agent.model.base import ModelReply, ModelRequest
from functions.agent.model.offline import OfflineModel
from functions.agent.runs.run import load_run
from functions.agent.session.store import Sessions
from functions.agent.turn import closing
from functions.channels.base import Busy, Reply
from functions.channels.replies.http_replies import HttpReplies
from functions.events import Event, Sender, order_of
from functions.queues.store_queue import StoreQueue
from functions.settings import Settings
from functions.texts.en import TEXTS as ENGLISH
from functions.time.clock import Clock
from functions.wiring import AgentRuntime
from functions.worker import process
from sigil.errors import BackendError
from sigil.protocol import Caller, Found
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv import keys
from sigil.storage.kv.memory import MemoryKV
from sigil.wiring import Stores

DAY = 86_400.0
LEASE = 180.0
START = 1_800_000_000.0
SESSION = keys.session_of("main", "telegram:7")
jumps = pytest.mark.parametrize("jump", [-DAY, DAY], ids=["a day back", "a day forward"])


@dataclass
class TwoClocks:
    """Wall time and monotonic time, which a test sets one by one."""

    wall: float = START
    steady: float = 1_000.0

    def pass_(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds

    def jump(self, seconds: float) -> None:
        self.wall += seconds

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.wall, lambda: self.steady, self.pass_)


class Interrupted:
    """The offline model; something happens while it answers."""

    name, window = "interrupted", 32_000

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        self._model, self._meanwhile = OfflineModel(), meanwhile

    def chat(self, request: ModelRequest) -> ModelReply:
        self._meanwhile()
        return self._model.chat(request)


class Nothing:
    """A registry in which nothing is found."""

    def query(self, text: str, caller: Caller, *, limit: int = 3) -> Found:
        return Found()


@dataclass
class Chat:
    """A platform that answers as `moods` say and well afterwards."""

    moods: list[Exception] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)

    def accept(self, event: Event) -> Event:
        return event

    def show_waiting(self, event: Event) -> float:
        return 0.0

    def end_waiting(self, event: Event) -> None: ...

    def send(self, reply: Reply, sent: Callable[[int], None]) -> None:
        if self.moods:
            raise self.moods.pop(0)
        self.sent.append(reply.to)


@pytest.fixture
def clocks() -> TwoClocks:
    return TwoClocks()


@pytest.fixture
def chat() -> Chat:
    return Chat()


@pytest.fixture
def home(clocks: TwoClocks, chat: Chat) -> AgentRuntime:
    return opened(MemoryKV(lambda: clocks.wall), clocks, chat)


def opened(kv: MemoryKV, clocks: TwoClocks, chat: Chat) -> AgentRuntime:
    """A process over a store."""
    app = App(
        "main", kv, Sessions(kv), OfflineModel(), Nothing(), Rules(access="open"), clocks.clock
    )  # type: ignore[arg-type]
    inbox = StoreQueue(kv, clock=clocks.clock, lease=LEASE)
    return AgentRuntime(
        Settings(),
        Stores(kv, MemoryArtifacts()),
        inbox,
        inbox,
        {"telegram": chat},
        HttpReplies(kv),
        app,
    )  # type: ignore[dict-item]


def thinking(home: AgentRuntime, meanwhile: Callable[[], None]) -> AgentRuntime:
    """The runtime with something that happens in the middle of every request."""
    return replace(home, app=replace(home.app, model=Interrupted(meanwhile)))


def event(number: int) -> Event:
    at, name = START + number, f"m{number}"
    order = order_of(at, number)
    return Event(
        name,
        "message",
        "main",
        "telegram:7",
        Sender("telegram:1"),
        "is there tea?",  # small talk needs no second request
        at,
        order,
        reply_to=name,
        private=True,
    )


def work(home: AgentRuntime) -> None:
    """Handle all that can be had now."""
    while delivery := home.queue.take(0):
        process(delivery, home)


def said(home: AgentRuntime) -> list[str]:
    return [
        message.content
        for message in home.app.sessions.open(SESSION).document.messages
        if message.role == "assistant"
    ]


@jumps
def test_a_turns_deadline_does_not_move(
    home: AgentRuntime, clocks: TwoClocks, chat: Chat, jump: float
) -> None:
    for number in (1, 2):
        home.queue.put(event(number))
        work(thinking(home, lambda: clocks.jump(jump)))

    assert chat.sent == ["m1", "m2"]
    assert ENGLISH.out_of_time not in said(home)


@jumps
def test_a_turn_ends_in_time_by_the_clock_that_nobody_sets(
    home: AgentRuntime, clocks: TwoClocks, jump: float
) -> None:
    def think() -> None:
        clocks.pass_(home.app.turn_seconds)
        clocks.jump(jump)

    home.queue.put(event(1))
    work(thinking(home, think))

    assert said(home)[-1] == ENGLISH.out_of_time


@jumps
def test_a_dead_workers_session_is_free_after_the_lease_and_not_after_a_day(
    home: AgentRuntime, clocks: TwoClocks, chat: Chat, jump: float
) -> None:
    other = opened(home.stores.kv, clocks, chat)  # type: ignore[arg-type]
    home.queue.put(event(1))
    assert home.queue.take(0)
    clocks.jump(jump)

    work(other)
    clocks.pass_(LEASE)
    work(other)

    assert chat.sent == ["m1"]


@jumps
def test_a_retry_comes_when_its_delay_is_over(
    home: AgentRuntime, clocks: TwoClocks, chat: Chat, jump: float
) -> None:
    chat.moods = [Busy("slow down", retry_after=30.0)]
    home.queue.put(event(1))
    work(home)
    clocks.jump(jump)
    clocks.pass_(30.0)
    work(home)

    assert chat.sent == ["m1"]


@jumps
def test_a_reply_is_not_too_old_because_the_clock_was_set(
    home: AgentRuntime, clocks: TwoClocks, chat: Chat, jump: float
) -> None:
    chat.moods = [BackendError("EUNAVAILABLE", "no answer")] * 2
    home.queue.put(event(1))
    work(home)
    clocks.jump(jump)
    clocks.pass_(10.0)
    work(home)
    clocks.pass_(10.0)
    work(home)

    assert chat.sent == ["m1"]


def test_a_reply_that_waited_for_its_worker_for_hours_is_sent(
    home: AgentRuntime, clocks: TwoClocks, chat: Chat
) -> None:
    chat.moods = [BackendError("EUNAVAILABLE", "no answer")]
    home.queue.put(event(1))
    work(home)
    clocks.pass_(5 * 3600.0)
    work(home)

    assert chat.sent == ["m1"]


@jumps
def test_a_reply_that_nobody_takes_leaves_after_an_hour_and_not_after_a_day(
    home: AgentRuntime, clocks: TwoClocks, chat: Chat, jump: float
) -> None:
    chat.moods = [BackendError("EUNAVAILABLE", "no answer")] * 10_000
    home.queue.put(event(1))
    work(home)
    clocks.jump(jump)
    for _ in range(130):
        clocks.pass_(60.0)
        work(home)

    assert home.app.sessions.open(SESSION).document.outbox == ()
    assert home.queue.take(0) is None


@jumps
def test_a_handled_event_stays_handled(
    home: AgentRuntime, clocks: TwoClocks, chat: Chat, jump: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closing, "SEEN_MOST", 2)
    for number in range(1, 6):
        home.queue.put(event(number))
        work(home)
    assert "m1" not in home.app.sessions.open(SESSION).document.seen
    clocks.jump(jump)
    home.queue.put(event(1))
    work(home)

    assert chat.sent == ["m1", "m2", "m3", "m4", "m5"]


@jumps
def test_a_trace_tells_no_nonsense(home: AgentRuntime, clocks: TwoClocks, jump: float) -> None:
    home.queue.put(event(1))
    work(thinking(home, lambda: clocks.jump(jump)))

    run = load_run(home.stores.kv, "main", "m1")
    assert run
    assert run.seconds >= 0
    assert all(step.get("ms", 0.0) < 60_000 for step in run.steps)
    assert all(step.get("at", 0) >= 0 for step in run.steps)
