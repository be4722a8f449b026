"""What passes by itself, from outside: a model and a registry that are away for a moment or for longer, and what is never repeated."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from typing import Any

import pytest

from functions.agent import patience, turn
from functions.agent.control import HALTED, WAITS
from functions.agent.safety.standing import REASONS
from functions.wiring import House
from sigil import http
from sigil.registry import LocalRegistry
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, call, results, say
from tests.fakes.server import Answer, Recorded, json_answer
from tests.functions.people import GUEST, OWNER, Live, platform, reason
from tests.functions.serving import serving
from tests.servers.proxy import DROP_REPLY, REFUSE, Proxy
from tests.sigil.services.conftest import Scripted
from tests.sigil.serving import served

Lives = Callable[..., AbstractContextManager[Live]]
TOKEN = "a-token-of-this-test"
AWAY = Answer(503, b'{"error":{"message":"overloaded"}}', {"retry-after": "0"})
BUSY = Answer(429, b'{"error":{"message":"slow down"}}')


class Moody(ScriptedModel):
    """A model that repeats what it is told, and is away for whoever says `away` while it is in that mood."""

    away = False

    def answer(self, request: Recorded) -> Answer:
        said = request.json()["messages"][-1]["content"].rpartition("\n")[2]
        return AWAY if self.away and said.startswith("away") else json_answer({"usage": {"prompt_tokens": 1}, **say(said)})


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
    [([BUSY, BUSY], (0.37, 0.75)), ([Answer(503, b"", {"retry-after": "1"})], (1.0,)), ([Answer(cut=True), BUSY], (0.37, 0.75))],
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
        assert agent.heard(OWNER) == ["here I am"]
        assert agent.status()["failures"] == []
    assert len({json.dumps(body) for body in model.bodies}) == 1
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert all(gap >= at_least for gap, at_least in zip(gaps, least, strict=True)), gaps


def test_while_the_model_is_away_for_one_chat_the_others_go_on_and_it_is_answered_in_order(
    live: Lives, moody: Moody, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "WAIT_SECONDS", 0.3)
    moody.away = True
    with live(llm_url=moody.url, workers=1) as agent:
        agent.write("away one", GUEST)
        agent.write("away two", GUEST)
        moody.wait_for(3)
        assert agent.ask("hello") == "hello"
        assert agent.heard(GUEST) == []
        assert agent.state(GUEST) == "EXECUTING"
        moody.away = False
        assert agent.replies(GUEST, 2) == ["away one", "away two"]
        assert agent.ask("and now", GUEST) == "and now"
        assert agent.heard(GUEST) == ["away one", "away two", "and now"]


def test_a_turn_that_waits_for_the_model_outlives_the_process(live: Lives, moody: Moody, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "WAIT_SECONDS", 0.3)
    moody.away = True
    with live(llm_url=moody.url) as agent:
        agent.write("away for long", GUEST)
        moody.wait_for(3)
    moody.away = False
    with live(llm_url=moody.url) as agent:
        assert agent.replies(GUEST, 1) == ["away for long"]
        assert agent.ask("hello", GUEST) == "hello"
        assert agent.heard(GUEST) == ["away for long", "hello"]


def test_a_model_that_stays_away_is_told_once_and_costs_nothing(
    live: Lives, moody: Moody, bot: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "WAIT_SECONDS", 0.01)
    moody.away = True
    with live(llm_url=moody.url) as agent:
        assert "the model answered 503: overloaded" in agent.ask("away for ever", GUEST, 40)
        assert agent.status(GUEST)["spent"] == 0
        assert agent.ask("hello", GUEST) == "hello"
        assert len(agent.heard(GUEST)) == 2
    assert len(moody.requests) == 3 * (turn.WAITS + 1) + 1


def test_a_turn_that_waits_for_the_model_is_halted(live: Lives, moody: Moody, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "WAIT_SECONDS", 0.5)
    moody.away = True
    with live(llm_url=moody.url) as agent:
        agent.write("away", GUEST)
        moody.wait_for(3)
        assert agent.ask("/halt") == HALTED.replace("`", "")
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
        server.says[f"/{name}"] = lambda request: Answer(cut=True) if hits(server, request.path[1:]) == 1 else Answer(200)
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
def remote(house: Callable[..., House], bot: BotApi, model: ScriptedModel, **settings: Any) -> Iterator[tuple[Live, Live, Proxy]]:
    """An agent whose registry is behind an unreliable line: the agent, the registry's own server, the line."""
    local = house(llm_url=model.url, loopback=True)
    assert isinstance(local.app.registry, LocalRegistry)
    with serving(local) as near, served(http.app(local.app.registry, TOKEN)) as url, Proxy(url.removeprefix("http://")) as line:
        far = house(llm_url=model.url, **platform(bot), registry_url=f"http://{line.address}", registry_token=TOKEN, store="memory://")
        with serving(far) as server:
            yield Live(server, bot), Live(near, bot), line


def test_a_registry_that_is_away_for_a_moment_is_asked_again_only_where_that_is_safe(
    house: Callable[..., House], bot: BotApi, model: ScriptedModel, server: Scripted
) -> None:
    model.then(
        call(("sigil_query", {"query": "order"}), ("sigil_query", {"query": "price"}), ("sigil_query", {"query": "pure"})),
        call(("cap_order", {}), ("cap_price", {}), ("cap_pure", {})),
        say("What now?"),
    )
    pure = {"name": "pure", "description": "Pure.", "execute": "return 'pure'"}
    with remote(house, bot, model) as (agent, registry, line):
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
    house: Callable[..., House], bot: BotApi, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "pause", lambda number: 0.01)
    model.then(*[call(("sigil_query", {"query": f"any {number}"})) for number in range(5)], say("never said"))
    with remote(house, bot, model) as (agent, _, line):
        line.mode = REFUSE
        assert agent.ask("go") == REASONS["frustration"].text
        report = agent.status()
        assert (report["state"], {failure["code"] for failure in report["failures"]}) == ("PAUSED", {"EUNAVAILABLE"})


def test_whoever_stops_a_turn_that_waits_for_the_model_hears_when_it_ends(
    live: Lives, moody: Moody, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "WAIT_SECONDS", 1.5)
    moody.away = True
    with live(llm_url=moody.url) as agent:
        agent.write("away", GUEST)
        moody.wait_for(3)
        agent.until(lambda: True)
        while agent.server.house.app.sessions.open(f"main#telegram:{GUEST}").document.turn.waits == 0:  # type: ignore[union-attr]
            time.sleep(0.02)
        assert agent.ask("/stop", GUEST) == WAITS
        asked = len(moody.requests)
        assert agent.replies(GUEST, 2) == [WAITS, "Stopped."]
        assert len(moody.requests) == asked
