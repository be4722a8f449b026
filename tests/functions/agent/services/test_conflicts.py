"""Two sources say different things under one key: the surer one stands, both are kept, and the
model and the people are told.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.functions.agent.services.conftest import Chat
from tests.functions.agent.talk import tell

SAID = {"key": "city", "value": "Ghent", "source": "user"}
PAGE = {"key": "city", "value": "Tartu", "source": "https://page.example/1", "confidence": 0.3}


def values(chat: Chat, **given: Any) -> list[tuple[str, bool]]:
    """Return what recall shows, in its order, and which of it is disputed."""
    return [
        (item["value"], item.get("disputed", False))
        for item in chat.gets("recall", given or {"key": "city"})["items"]
    ]


@pytest.mark.parametrize("confidence", [0.3, 0.5, 1])
def test_what_a_person_said_is_not_replaced_by_a_page(chat: Chat, confidence: float) -> None:
    chat.gets("remember", SAID)
    told = chat.gets("remember", PAGE | {"confidence": confidence})

    assert told["conflict"]["stands"]["value"] == "Ghent"
    assert "not replaced" in told["conflict"]["note"]
    assert (told["remembered"]["value"], told["remembered"]["disputed"], told["new"]) == (
        "Tartu",
        True,
        True,
    )
    assert "replaced" not in told
    for given in ({"key": "City"}, {"query": "city"}, {"query": "Tartu"}, {"subject": "city"}, {}):
        assert values(chat, **given) == [("Ghent", False), ("Tartu", True)], given
    (first, second) = chat.gets("recall", {"key": "city"})["items"]
    assert (first["source"], first["confidence"]) == ("user", 1.0)
    # a page that is sure of itself is hearsay all the same
    known = ("https://page.example/1", min(confidence, 0.5))
    assert (second["source"], second["confidence"]) == known


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SAID, SAID | {"value": "Rome"}),
        (PAGE, SAID | {"value": "Rome"}),
        (PAGE, PAGE | {"value": "Rome", "source": "https://page.example/2"}),
        (SAID | {"confidence": 0.3}, PAGE | {"value": "Rome", "confidence": 0.9}),
        (PAGE | {"confidence": 0.4}, SAID | {"value": "Rome", "confidence": 0.4}),
    ],
    ids=[
        "a person anew",
        "a person over a page",
        "a page over a page",
        "a surer page over a guess",
        "a person as sure",
    ],
)
def test_a_surer_source_or_an_equal_newer_one_replaces(
    chat: Chat, before: dict[str, Any], after: dict[str, Any]
) -> None:
    old = chat.gets("remember", before)["remembered"]
    told = chat.gets("remember", after)

    assert told["replaced"]["value"] == old["value"]
    assert "conflict" not in told
    assert values(chat) == [("Rome", False)]


def test_a_guess_of_a_persons_does_not_replace_what_a_person_was_sure_of(chat: Chat) -> None:
    chat.gets("remember", SAID)
    assert (
        chat.gets("remember", SAID | {"value": "Rome", "confidence": 0.5})["conflict"]["stands"][
            "value"
        ]
        == "Ghent"
    )
    assert values(chat) == [("Ghent", False), ("Rome", True)]


def test_each_source_has_one_say(chat: Chat) -> None:
    chat.gets("remember", SAID)
    chat.gets("remember", PAGE)
    assert chat.gets("remember", PAGE | {"value": "Narva"})["replaced"]["value"] == "Tartu"
    chat.gets("remember", PAGE | {"value": "Paide", "source": "https://page.example/2"})

    assert values(chat)[0] == ("Ghent", False)
    assert sorted(values(chat)[1:]) == [("Narva", True), ("Paide", True)]


def test_who_agrees_in_the_end_disputes_nothing(chat: Chat) -> None:
    chat.gets("remember", SAID)
    chat.gets("remember", PAGE)
    chat.gets("remember", PAGE | {"value": "Narva", "source": "https://page.example/2"})

    chat.gets("remember", SAID | {"value": "Tartu"})
    assert values(chat) == [("Tartu", False), ("Narva", True)]
    chat.gets("remember", PAGE | {"value": "tartu", "source": "https://page.example/2"})
    assert values(chat) == [("tartu", False)]
    assert chat.gets("recall", {"key": "city"})["items"][0]["source"] == "user"


def test_people_see_which_is_disputed_and_forget_both_by_the_key(chat: Chat) -> None:
    chat.gets("remember", SAID)
    chat.gets("remember", PAGE)
    (shown,) = tell(chat.home, "/recall Tartu")
    lines = shown.split("\n")
    assert "city: Ghent (" in lines[1]
    assert lines[1].endswith(", user)")
    assert "city: Tartu (" in lines[2]
    assert lines[2].endswith(", https://page.example/1, disputed)")

    assert chat.gets("forget", {"key": "CITY"}) == {"forgotten": 2, "left": 0}
    assert values(chat) == []


def test_what_disputes_is_forgotten_alone_by_its_id(chat: Chat) -> None:
    chat.gets("remember", SAID)
    id = chat.gets("remember", PAGE)["remembered"]["id"]
    assert chat.gets("forget", {"id": id}) == {"forgotten": 1, "left": 0}
    assert values(chat) == [("Ghent", False)]
