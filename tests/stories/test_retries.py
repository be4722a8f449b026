"""What passes by itself, from outside: a model and a registry that are away for a moment or for
longer, and what is never repeated.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from email.utils import formatdate
from itertools import pairwise
from typing import Any

import pytest

from functions import worker
from functions.agent.model import outage
from functions.agent.safety import retry
from functions.agent.safety.status import REASONS
from functions.agent.turn import turn
from functions.agent.turn.turn import run_turn
from functions.agent.turn.turn_context import WorkerBudget
from functions.events import Event
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.http import app
from sigil.registry import LocalRegistry
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, call, results, say
from tests.fakes.server import Answer, Recorded, json_answer
from tests.functions.agent.talk import event, tell
from tests.functions.people import GUEST, OWNER, Live, platform, reason
from tests.functions.serving import serving
from tests.machine import until
from tests.servers.proxy import DROP_REPLY, REFUSE, Proxy
from tests.sigil.conftest import Scripted
from tests.sigil.serving import served

Lives = Callable[..., AbstractContextManager[Live]]
TOKEN = "a-token-of-this-test"
AWAY = Answer(503, b'{"error":{"message":"overloaded"}}', {"retry-after": "0"})
BUSY = Answer(429, b'{"error":{"message":"slow down"}}')


class Moody(ScriptedModel):
    """A model that repeats what it is told, and is away for whoever says `away` while it is in that
    mood.
    """

    away = False

    def answer(self, request: Recorded) -> Answer:
        said = request.json()["messages"][-1]["content"].rpartition("\n")[2]
        return (
            AWAY
            if self.away and said.startswith("away")
            else json_answer({"usage": {"prompt_tokens": 1}, **say(said)})
        )


@pytest.fixture
def moody() -> Iterator[Moody]:
    with Moody() as server:
        yield server


@pytest.fixture
def server() -> Iterator[Scripted]:
    with Scripted() as made:
        yield made


@pytest.mark.parametrize(
    ("troubles", "least"),
    [
        ([BUSY, BUSY], (0.37, 0.75)),
        ([Answer(503, b"", {"retry-after": "1"})], (1.0,)),
        ([Answer(cut=True), BUSY], (0.37, 0.75)),
    ],
    ids=["429 twice", "503 that says when", "hangs up, then 429"],
)
def test_a_model_that_is_away_for_a_moment_is_asked_again(
    live: Lives, model: ScriptedModel, troubles: list[Answer], least: tuple[float, ...]
) -> None:
    times: list[float] = []

    def timed(reply: Any) -> Callable[[dict[str, Any]], Any]:
        return lambda body: (times.append(time.monotonic()), reply)[1]

    model.then(*map(timed, [*troubles, say("here I am")]))
    with live() as agent:
        assert agent.ask("hello") == "here I am"
        assert agent.list_texts(OWNER) == ["here I am"]
        assert agent.status()["failures"] == []
    assert len({json.dumps(body) for body in model.bodies}) == 1
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert all(gap >= at_least for gap, at_least in zip(gaps, least, strict=True)), gaps


def test_while_the_model_is_away_for_one_chat_the_others_go_on_and_it_is_answered_in_order(
    live: Lives, moody: Moody, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "WAIT_SECONDS", 2.0)
    moody.away = True
    with live(llm_url=moody.url, workers=1) as agent:
        agent.write("away one", GUEST)
        moody.wait_for(1)  # what comes before a turn begins is answered with it
        agent.write("away two", GUEST)
        moody.wait_for(3)
        assert agent.ask("hello") == "hello"
        assert agent.list_texts(GUEST) == []
        assert agent.state(GUEST) == "EXECUTING"
        moody.away = False
        assert agent.replies(GUEST, 2) == ["away one", "away two"]
        assert agent.ask("and now", GUEST) == "and now"
        assert agent.list_texts(GUEST) == ["away one", "away two", "and now"]


def test_a_turn_that_waits_for_the_model_outlives_the_process(
    live: Lives, moody: Moody, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "WAIT_SECONDS", 2.0)
    moody.away = True
    with live(llm_url=moody.url) as agent:
        agent.write("away for long", GUEST)
        moody.wait_for(3)
    moody.away = False
    with live(llm_url=moody.url) as agent:
        assert agent.replies(GUEST, 1) == ["away for long"]
        assert agent.ask("hello", GUEST) == "hello"
        assert agent.list_texts(GUEST) == ["away for long", "hello"]


def test_a_model_that_stays_away_is_asked_five_times_told_of_twice_and_costs_nothing(
    live: Lives, moody: Moody, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "WAIT_SECONDS", 0.01)
    moody.away = True
    with live(llm_url=moody.url) as agent:
        agent.write("away for ever", GUEST)
        waits, ends = agent.replies(GUEST, 2, 40)
        assert waits == f"{ENGLISH.model_away} {ENGLISH.try_again_in.format(time='5 seconds')}"
        assert (
            ends
            == f"I could not get an answer: {ENGLISH.model_failures['down']}. Please try again in a moment."
        )
        assert agent.status(GUEST)["spent"] == 0
        assert len(moody.requests) == outage.TRIES_MOST
        assert agent.ask("hello", GUEST) == "hello"
        assert len(agent.list_texts(GUEST)) == 3
    said = [message["content"] for message in moody.bodies[-1]["messages"]]
    assert not any(ENGLISH.model_away in text or "overloaded" in text for text in said)


def test_a_model_that_comes_back_after_the_first_wait_costs_no_word(
    live: Lives, model: ScriptedModel, monkeypatch: Any
) -> None:
    monkeypatch.setattr(turn, "WAIT_SECONDS", 0.01)
    model.then(*[AWAY] * 3, say("here I am"))
    with live() as agent:
        assert agent.ask("hello") == "here I am"
        assert agent.list_texts(OWNER) == ["here I am"]


def test_failed_tries_are_counted_over_the_rounds_of_a_message(
    live: Lives, model: ScriptedModel, monkeypatch: Any
) -> None:
    monkeypatch.setattr(turn, "WAIT_SECONDS", 0.01)
    looking = call(("sigil_query", {"query": "a clock"}))
    model.then(AWAY, AWAY, looking, AWAY, AWAY, looking, *[AWAY] * 20)
    with live() as agent:
        assert agent.ask("go").startswith("I could not get an answer")
    assert len(model.requests) == 2 + outage.TRIES_MOST


def asleep(answer: Answer, home: AgentRuntime, model: ScriptedModel) -> Event:
    """An event whose turn was tried once, with this answer of the model."""
    happened = event("hi", sender="telegram:42", session="telegram:42")
    model.then(answer)
    home.queue.put(happened)
    delivery = home.queue.take(0)
    assert delivery
    worker.process(delivery, home)
    return happened


@pytest.mark.parametrize("date", [False, True])
def test_a_retry_after_of_50_seconds_is_kept_and_told_at_once(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel, date: bool
) -> None:
    home = runtime(llm_url=model.url, **platform(bot))
    says = formatdate(time.time() + 50, usegmt=True) if date else "50"
    happened = asleep(
        Answer(429, b'{"error":{"message":"org-1 slow down"}}', {"retry-after": says}), home, model
    )

    (told,) = bot.messages
    assert told["text"].startswith(
        "The model takes no more requests for now. Your message is kept, and I try again in "
    )
    assert home.queue.take(0) is None
    for _ in range(3):
        early = run_turn(happened, home.app, worker=WorkerBudget(patient=True))
        assert 30 < early.wait <= 50
        assert early.document.turn
        assert early.document.turn.attempts == 0
        assert early.document.outbox == ()
    assert len(model.requests) == 1

    model.then(say("here I am"))
    now = home.app.clock.now()
    later = replace(home.app, clock=replace(home.app.clock, now=lambda: now + 51))
    closed = run_turn(happened, later, worker=WorkerBudget(patient=True))
    assert [reply.text for reply in closed.document.outbox] == ["here I am"]
    assert [message.role for message in closed.document.messages] == ["user", "assistant"]


@pytest.mark.parametrize("event_of", ["/remind me in 5 minutes to go", "/pair", "hello again"])
def test_a_retry_after_of_an_hour_keeps_nobody_waiting(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel, event_of: str
) -> None:
    home = runtime(llm_url=model.url, **platform(bot))
    busy = Answer(429, b"", {"retry-after": "3600"})
    asleep(busy, home, model)
    why = ENGLISH.model_failures["rate"]
    said = f"I could not get an answer: {why}. Please try again in an hour."
    assert [message["text"] for message in bot.messages] == [said]

    model.then(busy)
    home.queue.put(event(event_of, sender="telegram:42", session="telegram:42"))
    delivery = home.queue.take(0)
    assert delivery, "nothing waits before it"
    worker.process(delivery, home)

    assert len(bot.messages) == 2
    assert (bot.messages[1]["text"] == said) == (event_of == "hello again")


def test_a_turn_that_waits_for_the_model_ends_within_seconds_of_a_stop(
    live: Lives, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "STOP_SECONDS", 0.1)
    model.then(Answer(429, b"", {"retry-after": "50"}), say("never asked"))
    with live() as agent:
        agent.write("hello", GUEST)
        agent.replies(GUEST, 1)
        agent.write("/stop", GUEST)
        assert agent.replies(GUEST, 3)[1:] == [ENGLISH.stop_waits, ENGLISH.stopped]
    assert len(model.requests) == 1


def test_who_polls_for_an_answer_gets_it_and_not_that_it_is_waited_for(
    live: Lives, model: ScriptedModel, monkeypatch: Any
) -> None:
    monkeypatch.setattr(turn, "WAIT_SECONDS", 0.01)
    model.then(*[AWAY] * 4, say("here I am"))
    with live() as agent:
        assert agent.server.post("/chat", json={"text": "hello"}).json()["reply"] == "here I am"
    assert len(model.requests) == 5


def test_memory_that_finds_the_model_away_counts_its_try_for_the_message(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, llm_window=6_000)
    for number in range(3):
        model.then(say(f"answer {number} " + "word " * 900))
        tell(home, f"question {number}")
    before = len(model.requests)
    model.then(*[AWAY] * 20)

    (told,) = tell(home, "and now?")

    assert told.startswith("I could not get an answer")
    assert 2 <= len(model.requests) - before <= outage.TRIES_MOST


def test_a_turn_that_waits_for_the_model_is_halted(
    live: Lives, moody: Moody, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "WAIT_SECONDS", 2.0)
    moody.away = True
    with live(llm_url=moody.url) as agent:
        agent.write("away", GUEST)
        moody.wait_for(3)
        assert agent.ask("/halt") == ENGLISH.halted.replace("`", "")
        asked = len(moody.requests)
        assert agent.replies(GUEST, 1) == [reason("halted")]
        assert len(moody.requests) <= asked + 1  # one that had begun
        moody.away = False
        assert agent.ask("/unlock") == "Unlocked."
        assert agent.ask("hello", GUEST) == "hello"


def fetching(name: str, server: Scripted, **more: Any) -> dict[str, Any]:
    """A capability that asks the server at `/NAME`."""
    return {
        "name": name,
        "description": f"Fetch {name}.",
        "execute": f"return (await fetch('{server.url}/{name}')).status",
        "permissions": {"http": [f"GET 127.0.0.1:{server.port}/{name}"]},
        **more,
    }


def offer(agent: Live, *specs: dict[str, Any]) -> None:
    """Deploy and grant."""
    for spec in specs:
        assert agent.server.post("/_api/deploy", json=spec).status_code == 201
        assert agent.server.post("/_api/grant", json={"ref": spec["name"]}).status_code == 200


def hits(server: Scripted, name: str) -> int:
    return sum(request.path == f"/{name}" for request in server.requests)


def test_a_network_that_fails_for_a_moment_is_tried_again_only_where_that_is_safe(
    live: Lives, model: ScriptedModel, server: Scripted
) -> None:
    for name in ("order", "price"):
        server.says[f"/{name}"] = lambda request: (
            Answer(cut=True) if hits(server, request.path[1:]) == 1 else Answer(200)
        )
    model.then(
        call(("sigil_query", {"query": "order"}), ("sigil_query", {"query": "price"})),
        call(("cap_order", {}), ("cap_price", {})),
        say("What now?"),
    )
    with live(loopback=True) as agent:
        offer(agent, fetching("order", server), fetching("price", server, idempotent=True))
        assert agent.ask("go") == "What now?"
        assert agent.status()["failed"] == 1

    order, price = results(model.bodies[-1])[2:]
    assert json.loads(order.splitlines()[0])["error"]["code"] == "ENET"
    assert (hits(server, "order"), hits(server, "price")) == (1, 2)
    assert price == '{"ok":200}'


@contextmanager
def remote(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel, **settings: Any
) -> Iterator[tuple[Live, Live, Proxy]]:
    """An agent whose registry is behind an unreliable line: the agent, the registry's own server,
    the line.
    """
    local = runtime(llm_url=model.url, loopback=True)
    assert isinstance(local.app.registry, LocalRegistry)
    with (
        serving(local) as near,
        served(app.build_registry_app(local.app.registry, TOKEN)) as url,
        Proxy(url.removeprefix("http://")) as line,
    ):
        far = runtime(
            llm_url=model.url,
            **platform(bot),
            registry_url=f"http://{line.address}",
            registry_token=TOKEN,
            store="memory://",
        )
        with serving(far) as server:
            yield Live(server, bot), Live(near, bot), line


def test_a_registry_that_is_away_for_a_moment_is_asked_again_only_where_that_is_safe(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel, server: Scripted
) -> None:
    model.then(
        call(
            ("sigil_query", {"query": "order"}),
            ("sigil_query", {"query": "price"}),
            ("sigil_query", {"query": "pure"}),
        ),
        call(("cap_order", {}), ("cap_price", {}), ("cap_pure", {})),
        say("What now?"),
    )
    pure = {"name": "pure", "description": "Pure.", "execute": "return 'pure'"}
    with remote(runtime, bot, model) as (agent, registry, line):
        offer(registry, fetching("order", server), fetching("price", server, idempotent=True))
        assert registry.server.post("/_api/deploy", json=pure).status_code == 201
        for needle in (b"q=order", b"/run/order", b"/run/price", b"/run/pure"):
            line.arm(DROP_REPLY, needle)
        assert agent.ask("go") == "What now?"
        assert line.hits == 4

    *found, order, price, plain = results(model.bodies[-1])
    assert all('"ok"' in result for result in found)
    assert json.loads(order.splitlines()[0])["error"]["code"] == "EUNAVAILABLE"
    assert (hits(server, "order"), hits(server, "price")) == (1, 2)
    assert (price, plain) == ('{"ok":200}', '{"ok":"pure"}')


def test_a_registry_that_stays_away_is_a_failure_that_counts_and_ends_no_turn(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retry, "backoff_seconds", lambda number: 0.01)
    model.then(
        *[call(("sigil_query", {"query": f"any {number}"})) for number in range(5)],
        say("never said"),
    )
    with remote(runtime, bot, model) as (agent, _, line):
        line.mode = REFUSE
        assert agent.ask("go").startswith(REASONS["frustration"].why)
        report = agent.status()
        assert (report["state"], {failure["code"] for failure in report["failures"]}) == (
            "PAUSED",
            {"EUNAVAILABLE"},
        )


def test_whoever_stops_a_turn_that_waits_for_the_model_hears_when_it_ends(
    live: Lives, moody: Moody, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "WAIT_SECONDS", 1.5)
    moody.away = True
    with live(llm_url=moody.url) as agent:
        agent.write("away", GUEST)
        moody.wait_for(3)
        sessions = agent.server.runtime.app.sessions
        until(
            lambda: sessions.open(f"main#telegram:{GUEST}").document.turn.waits,  # type: ignore[union-attr]
            "the turn waits",
        )
        assert agent.ask("/stop", GUEST) == ENGLISH.stop_waits
        asked = len(moody.requests)
        assert agent.replies(GUEST, 2) == [ENGLISH.stop_waits, "Stopped."]
        assert len(moody.requests) == asked
