"""A corrected fact takes the place of the old one, which is told only as ended, and when."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import orjson

from functions.agent.memory.corrections import Correction, Said, save_thing
from functions.agent.memory.thing import USER, Thing
from functions.agent.memory.things import Things
from functions.agent.services.things import ENDED
from functions.personal_data import PersonalData
from functions.wiring import make_helpers
from sigil.storage.kv import keys
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.model import call, results, say
from tests.functions.agent.services.conftest import FEW, Chat
from tests.functions.agent.talk import tell
from tests.project.tree import ROOT
from tests.selection import sample
from tests.tables import each_row

ROWS: list[dict[str, Any]] = json.loads(
    (ROOT / "tests" / "data" / "corrections.json").read_text(encoding="utf-8")
)
"""What people said first and then, written by somebody who has not seen the code."""
FROM_OUTSIDE = 9
"""So many of them are played through a chat in the suite; all are in `scripts/check-all`."""


def remembers(
    chat: Chat, words: str, *given: Mapping[str, Any], query: str = "", **event: Any
) -> Any:
    """Return what the model reads when it remembers what a person says, and what it then recalls."""
    session = keys.session_of("main", event.get("session", "telegram:7"))
    known = chat.home.app.sessions.open(session).document.messages
    if not known or len(known) > FEW:
        tell(chat.home, "/new", **{**event, "sender": "terminal:local"})
        chat.model.then(
            call(("sigil_query", {"query": "remember"}), ("sigil_query", {"query": "recall"}))
        )
    calls = [("cap_remember", {"source": "user", **each}) for each in given]
    chat.model.then(call(*calls))
    if query:
        chat.model.then(call(("cap_recall", {"query": query})))
    chat.model.then(say("done"))
    assert tell(chat.home, words, **event) == ["done"]
    count = len(given) + bool(query)
    read = [orjson.loads(text.partition("\n")[0]) for text in results(chat.model.bodies[-1])]
    answers = [each["ok"] for each in read[-count:]]
    return answers if count > 1 else answers[0]


def fact(subject: str, predicate: str, object: str) -> dict[str, str]:
    return {"subject": subject, "predicate": predicate, "object": object}


def list_true(recalled: Any) -> list[str]:
    """Return what a recall shows as true."""
    return [item["object"] for item in (*recalled["items"], *recalled.get("near", []))]


def list_over(recalled: Any) -> list[str]:
    """Return what a recall shows as true once, each with when it ended."""
    rows = [*recalled.get("no_longer_true", [])]
    for item in (*recalled["items"], *recalled.get("near", [])):
        rows += item.get("no_longer_true", [])
    return [f"{row.get('was', row.get('object'))} {row['ended'][:4]}" for row in rows]


def save(things: Things, words: str, given: Mapping[str, str], at: float) -> Correction:
    """Save a fact that a person says in these words, in a turn of its own."""
    thing = Thing("fact", tuple(given.values()), USER, 1.0, at, "telegram:42")
    said = partial(Said, words, at - 1)
    return save_thing(things, thing, make_helpers().terms, replaces="", read_said=said, now=at)


def open_things() -> Things:
    return Things(MemoryKV(), "chat", make_helpers().terms)


@each_row("row", ROWS)
def test_a_correction_ends_what_was_said_before_and_an_addition_does_not(
    row: dict[str, Any],
) -> None:
    things = open_things()
    save(things, row["first"], fact(row["subject"], row["predicate"], row["old"]), 10.0)
    new = fact(row["subject"], row["predicate"], row["new"])
    ended = save(things, row["then"], new, 20.0).ended

    assert [thing.texts[-1] for thing in ended] == ([] if row.get("keeps") else [row["old"]])


def test_a_chat_recalls_what_is_true_now(chat: Chat) -> None:
    rows = sample(ROWS, FROM_OUTSIDE)
    # a dog's name is one fact in all languages, so that people of each language have their own chat
    chats = {lang: f"telegram:{lang}" for lang in ("en", "de", "zh")}
    for lang, session in chats.items():
        told = [row for row in rows if row["lang"] == lang]
        old = [fact(row["subject"], row["predicate"], row["old"]) for row in told]
        for start in range(0, len(old), 10):
            remembers(chat, "so much about me", *old[start : start + 10], session=session)
    for row in rows:
        about = f"{row['subject']} {row['predicate']}"
        new = fact(row["subject"], row["predicate"], row["new"])
        query = f"{about} {row['old']}"
        told, recalled = remembers(chat, row["then"], new, query=query, session=chats[row["lang"]])

        assert row["new"] in list_true(recalled), row
        if row.get("keeps"):
            assert row["old"] in list_true(recalled), row
            assert "ended" not in told, row
        else:
            assert row["old"] not in list_true(recalled), row
            assert f"{about} {row['old']} 20" in " ".join(list_over(recalled)), row
            assert [each["object"] for each in told["ended"]] == [row["old"]], row
            assert told["note"] == ENDED


@each_row(
    "before, after",
    [
        (("dog", "name", "Rex"), ("my dog", "is called", "Max")),
        (("user's dog", "heißt", "Rex"), ("User", "dog_name", "Max")),
        (("dog of the user", "called", "Rex"), ("我的狗", "叫", "Max")),
        (("the user", "lives in", "Rome"), ("USER", "wohnt in", "Bonn")),
        (("用户", "住在", "Rome"), ("the person", "residence", "Bonn")),
        (("user", "favorite color", "red"), ("I", "Lieblingsfarbe", "blue")),
        (("my boss", "is", "Karen"), ("user", "new boss", "Tom")),
    ],
)
def test_the_same_said_in_other_words_is_the_same(
    before: tuple[str, str, str], after: tuple[str, str, str]
) -> None:
    things = open_things()
    save(things, "so it is", fact(*before), 10.0)
    ended = save(things, "so it is", fact(*after), 20.0).ended

    assert [thing.texts[-1] for thing in ended] == [before[2]]


def test_each_way_to_look_shows_what_ended_only_as_ended(chat: Chat) -> None:
    remembers(chat, "my dog is called Rex", fact("dog", "name", "Rex"))
    remembers(chat, "no, he is called Max", fact("dog", "name", "Max"))
    remembers(chat, "sorry, Bello", fact("dog", "name", "Bello"))

    for given in ({"query": "Rex"}, {"subject": "dog"}, {"query": "what is my dog called"}, {}):
        recalled = chat.gets("recall", given)
        assert list_true(recalled) == ["Bello"], given
    assert [over[:-5] for over in list_over(chat.gets("recall", {"subject": "dog"}))] == [
        "dog name Max",
        "dog name Rex",
    ]
    (shown,) = tell(chat.home, "/recall Rex")
    first, second = shown.split("\n")[1:3]
    assert "dog name Bello (" in first
    assert "until" not in first
    assert "dog name Rex (" in second
    assert ", until 20" in second
    assert "dog name Max" not in tell(chat.home, "/recall")[0]
    assert "dog name Rex" not in str(chat.model.bodies[-1]["messages"][0])
    assert "dog name Bello" in str(chat.model.bodies[-1]["messages"][0])


def test_what_was_right_after_all_holds_again(chat: Chat) -> None:
    remembers(chat, "my dog is called Rex", fact("dog", "name", "Rex"))
    again = remembers(chat, "my dog is called rex", fact("my dog", "is called", "rex"))
    assert (again["new"], "ended" in again) == (False, False)
    remembers(chat, "no, Max", fact("dog", "name", "Max"))
    told = remembers(chat, "it was right: Rex", fact("dog", "is called", "Rex"))

    assert [each["object"] for each in told["ended"]] == ["Max"]
    recalled = chat.gets("recall", {"subject": "dog"})
    assert list_true(recalled) == ["Rex"]
    assert list_over(recalled)[0].startswith("dog name Max ")


def test_the_model_says_what_a_thing_replaces_or_that_both_hold(chat: Chat) -> None:
    old = remembers(chat, "I like tea", fact("user", "likes", "tea"))["remembered"]
    told = remembers(
        chat, "it is coffee", fact("user", "likes", "coffee") | {"replaces": old["id"]}
    )
    assert [each["object"] for each in told["ended"]] == ["tea"]
    told = remembers(chat, "milk", fact("user", "likes", "milk") | {"replaces": "coffee"})
    assert [each["object"] for each in told["ended"]] == ["coffee"]

    remembers(chat, "my car is a golf", fact("user", "car", "golf"))
    told = remembers(chat, "a zoe", fact("user", "car", "zoe") | {"replaces": "none"})
    assert "ended" not in told
    assert sorted(list_true(chat.gets("recall", {"subject": "user"}))) == ["golf", "milk", "zoe"]


def test_what_one_message_tells_together_and_what_others_of_a_group_have_stays(chat: Chat) -> None:
    both = [fact("sister", "name", "Anna"), fact("sister", "name", "Lea")]
    for told in remembers(chat, "my sisters are Anna and Lea", *both):
        assert "ended" not in told

    group = {"session": "telegram:-9", "private": False}
    remembers(
        chat, "I live in Rome", fact("user", "lives in", "Rome"), **group, sender="telegram:1"
    )
    told = remembers(
        chat, "I live in Bonn now", fact("user", "lives in", "Bonn"), **group, sender="telegram:2"
    )
    assert "ended" not in told
    assert [each["object"] for each in told["also_true"]] == ["Rome"]


def test_a_page_ends_nothing_that_a_person_said(chat: Chat) -> None:
    remembers(chat, "my dog is called Rex", fact("dog", "name", "Rex"))
    remembers(chat, "no, Max", fact("dog", "name", "Max"))
    page = {"source": "https://page.example/1"}
    for claimed in ("Rex", "Wau"):
        told = remembers(chat, "no, look", fact("dog", "name", claimed) | page)
        assert told["conflict"]["stands"]["object"] == "Max"
        assert told["remembered"]["disputed"]
        assert "ended" not in told
    recalled = chat.gets("recall", {"query": "Wau"})
    assert [(item["object"], item.get("disputed", False)) for item in recalled["items"]] == [
        ("Max", False),
        ("Wau", True),
    ]


def test_the_memory_document_does_not_say_it_any_more(chat: Chat) -> None:
    scope = keys.session_of("main", "telegram:7")
    documents = chat.home.app.documents
    lines = ["# Memory", "- Dog is called Rex.", "- The dog Rex barks at cats.", "- Rex is Latin."]
    documents.write(scope, "memory", "\n".join(lines), by="test")
    remembers(chat, "my dog is called Rex", fact("dog", "is called", "Rex"))
    remembers(chat, "no, Max", fact("dog", "is called", "Max"))

    head, marked, other = documents.read(scope, "memory").text.split("\n")
    assert (head, other) == ("# Memory", "- Rex is Latin.")
    assert marked.startswith("- The dog Rex barks at cats. (no longer true since 20")
    remembers(chat, "it was right: Rex", fact("dog", "is called", "Rex"))
    assert documents.read(scope, "memory").text.split("\n")[1] == lines[2]


def test_an_export_tells_what_ended_and_erasing_takes_it_along(chat: Chat) -> None:
    own = {"sender": "telegram:7", "session": "telegram:7"}
    remembers(chat, "my dog is called Rex", fact("dog", "name", "Rex"), **own)
    remembers(chat, "no, Max", fact("dog", "name", "Max"), **own)
    personal = PersonalData(chat.home.app, chat.home.stores.artifacts)

    exported = personal.export(personal.find("telegram:7"))["records"]
    things = [record["value"] for record in exported if record["kind"] == "things"]
    assert sorted((thing["object"], "ended" in thing) for thing in things) == [
        ("Max", False),
        ("Rex", True),
    ]
    personal.erase(personal.find("telegram:7"))
    assert list(Things(chat.home.app.kv, keys.session_of("main", "telegram:7"), set).scan()) == []
