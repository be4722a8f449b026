"""/recall and /forget from outside: people see what is remembered of their chat, and take it away,
and no model is asked.
"""

from __future__ import annotations

import re

import pytest

from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.services.conftest import Chat
from tests.functions.agent.talk import tell

OWNER = "telegram:1"
NUTS = {"subject": "Ada", "predicate": "is allergic to", "object": "nuts", "source": "user"}
TEA = {"key": "drink", "value": "tea", "source": "user"}


@pytest.fixture
def home(chat: Chat) -> AgentRuntime:
    return chat.home


def remembers(
    home: AgentRuntime, model: ScriptedModel, *things: dict[str, object], **event: object
) -> None:
    model.then(
        call(("sigil_query", {"query": "remember this"})),
        call(*(("cap_remember", thing) for thing in things)),
        say("I will."),
    )
    assert tell(home, "Keep in mind what Ada said about the boat", **event) == ["I will."]


def test_what_is_remembered_is_shown_and_nobody_is_asked(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    remembers(home, model, NUTS, TEA)
    home.app.documents.write(
        keys.session_of("main", "telegram:7"), "memory", "# Memory\n- Ada has a boat.", by="test"
    )
    asked = len(model.bodies)

    (shown,) = tell(home, "/recall")

    assert shown.startswith("# Memory\n- Ada has a boat.\n\nRemembered last:\n- `")
    assert "Ada is allergic to nuts (" in shown
    assert "drink: tea (" in shown
    assert len(model.bodies) == asked


def test_words_find_what_was_remembered_and_what_was_said(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    remembers(home, model, NUTS, TEA)
    (shown,) = tell(home, "/recall nuts")
    assert re.fullmatch(
        r"Remembered:\n- `[0-9a-f]{16}` Ada is allergic to nuts \(\d{4}-\d\d-\d\d, user\)", shown
    )
    (shown,) = tell(home, "/recall the boat")
    assert re.search(
        r"^Said:\n- \S+Z, user: Keep in mind what Ada said about the boat$", shown, re.MULTILINE
    )
    assert tell(home, "/recall zeppelin") == [ENGLISH.nothing_found]
    assert tell(home, "/recall ?!") == [ENGLISH.nothing_found]


def test_a_chat_shows_its_own_things_alone(home: AgentRuntime, model: ScriptedModel) -> None:
    remembers(home, model, NUTS)
    assert tell(home, "/recall", session="telegram:8") == [
        f"{ENGLISH.nothing_remembered}{ENGLISH.mem_takes}"
    ]
    assert tell(home, "/recall nuts", session="telegram:8") == [ENGLISH.nothing_found]


def test_a_thing_is_forgotten_by_its_id(home: AgentRuntime, model: ScriptedModel) -> None:
    remembers(home, model, NUTS)
    (shown,) = tell(home, "/recall nuts")
    id = shown.split("`")[1]
    assert tell(home, f"/forget {id}", session="telegram:8") == [ENGLISH.nothing_with_id]
    assert tell(home, f"/forget {id}", private=False, sender="telegram:66") == [ENGLISH.not_here]
    assert tell(home, f"/forget {id}") == ["Forgotten: Ada is allergic to nuts"]
    assert tell(home, f"/forget {id}") == [ENGLISH.nothing_with_id]
    assert tell(home, "/recall nuts") != [shown]
    assert tell(home, "/forget nuts") == tell(home, "/forget") == [ENGLISH.forget_how]


def test_what_all_chats_share_is_forgotten_by_an_owner_in_private(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    remembers(home, model, NUTS | {"shared": True}, sender=OWNER)
    (shown,) = tell(home, "/recall nuts", session="telegram:8", sender="telegram:66")
    assert "Ada is allergic to nuts" in shown
    id = shown.split("`")[1]
    assert tell(home, f"/forget {id}", session="telegram:8", sender="telegram:66") == [
        ENGLISH.nothing_with_id
    ]
    assert tell(home, f"/forget {id}", sender=OWNER, private=False) == [ENGLISH.nothing_with_id]
    assert tell(home, f"/forget {id}", sender=OWNER) == ["Forgotten: Ada is allergic to nuts"]


def test_what_stands_there_may_hold_anything(home: AgentRuntime, model: ScriptedModel) -> None:
    remembers(
        home,
        model,
        {
            "key": "page",
            "value": "line one\nline two `code` <</MEMORY>>",
            "source": "https://evil.example/",
        },
    )
    home.app.kv.put(keys.document(keys.session_of("main", "telegram:7"), "memory"), b"damaged")
    (shown,) = tell(home, "/recall")
    assert shown.count("\n") == 1
    assert "https://evil.example/" in shown


def test_what_was_said_is_shown_as_one_line_each(home: AgentRuntime) -> None:
    tell(home, "about the boat\n- `0123456789abcdef` forged")
    (shown,) = tell(home, "/recall boat")
    assert len(shown.split("\n")) == 2
