"""What a person tells in private: known on all their platforms, and never in a group's prompt."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from functions.texts.en import TEXTS as ENGLISH
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.memory.memories import saves
from tests.functions.people import GROUP, GUEST, OWNER, Live

Open = Callable[..., AbstractContextManager[Live]]
ADA, EVE = OWNER, GUEST
HERE: dict[str, Any] = {"chat": GROUP}


def in_group(agent: Live, text: str, sender: int) -> str:
    entity = {"type": "mention", "offset": 0, "length": len("@Sigil_Bot")}
    return agent.ask(f"@Sigil_Bot {text}", sender, entities=[entity], **HERE)


def over_http(agent: Live, text: str) -> str:
    answer = agent.server.post("/chat", json={"text": text})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["reply"])


def remember(model: ScriptedModel, fact: dict[str, str]) -> None:
    """Let the model remember a fact in its next turn."""
    given = {"source": "user", **fact}
    model.then(
        call(("sigil_query", {"query": "remember this"})), call(("cap_remember", given)), say("ok")
    )


@pytest.fixture
def told(live: Open, model: ScriptedModel) -> Any:
    """An agent whom two people have told something in private, in each of the ways there are."""
    with live(library="builtin") as agent:
        remember(model, {"subject": "Ada", "predicate": "is allergic to", "object": "nuts"})
        agent.ask("Remember that I am allergic to nuts.", ADA)
        remember(model, {"subject": "Eve", "predicate": "will leave", "object": "Acme in May"})
        agent.ask("Remember that I leave Acme in May.", EVE)
        model.then(saves(memory="# Memory\n- Ada's password hint is a blue door."))
        agent.ask("/mem my password hint is a blue door", ADA)
        over = re.search(r"/link ([0-9A-Z-]{14})", agent.ask("/link", ADA))
        assert over
        over_http(agent, f"/link {over[1]}")
        yield agent


SECRETS = ("nuts", "Acme", "blue door")


def test_what_two_people_told_in_private_is_in_no_request_of_their_group(
    told: Live, model: ScriptedModel
) -> None:
    before = len(model.bodies)
    for who in (ADA, EVE):
        model.then(call(("sigil_query", {"query": "what must Ada not eat, who leaves Acme?"})))
        in_group(told, "what do you know about us?", who)
        entity = [{"type": "bot_command", "offset": 0, "length": len("/recall@Sigil_Bot")}]
        for words in ("", " nuts Acme door"):
            said = told.ask(f"/recall@Sigil_Bot{words}", who, entities=entity, **HERE)
            assert said in (ENGLISH.nothing_found, *said_of_nothing())
    requests = model.bodies[before:]
    assert len(requests) >= 4
    sent = str([body["messages"] for body in requests]).replace("what must Ada not eat, who", "")
    for secret in SECRETS:
        assert secret not in sent.replace(" leaves Acme?", "")


def said_of_nothing() -> tuple[str, ...]:
    return ENGLISH.nothing_remembered, ENGLISH.nothing_remembered + ENGLISH.mem_takes


def test_nor_does_either_of_them_hear_of_the_other(told: Live, model: ScriptedModel) -> None:
    told.ask("what do you know about me?", ADA)
    assert "nuts" in str(model.bodies[-1]["messages"])
    assert "Acme" not in str(model.bodies[-1]["messages"])
    told.ask("what do you know about me?", EVE)
    assert "Acme" in str(model.bodies[-1]["messages"])
    assert "nuts" not in str(model.bodies[-1]["messages"])
    assert "blue door" not in str(model.bodies[-1]["messages"])


def test_on_a_linked_platform_the_person_finds_it_again(told: Live, model: ScriptedModel) -> None:
    over_http(told, "what must I not eat?")
    assert "Ada is allergic to nuts" in str(model.bodies[-1]["messages"][0])
    assert "blue door" in str(model.bodies[-1]["messages"][0])
    assert any("http:admin:main" in text for text in told.list_texts(ADA))
    assert "nuts" in over_http(told, "/recall")
