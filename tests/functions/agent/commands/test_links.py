"""/link and /unlink, as a person meets them in two private chats."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from functions.agent.access.links import CHATS_MOST, SECONDS, TRIES, LinkOffer, Links
from functions.agent.memory.thing import Thing
from functions.agent.memory.things import Things
from functions.agent.session.store import SessionHandle
from functions.agent.turn.turn import run_turn
from functions.events import Event
from functions.personal_data import PersonalData
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from sigil.storage.kv.base import list_partitions
from sigil.storage.kv.update import scan_all
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.memory.memories import saves
from tests.functions.agent.talk import event, tell
from tests.selection import in_full

PHONE: dict[str, Any] = {"session": "telegram:42", "sender": "telegram:42"}
DESK: dict[str, Any] = {"session": "terminal:main", "sender": "terminal:local"}
EVE: dict[str, Any] = {"session": "telegram:43", "sender": "telegram:43"}
WEB: dict[str, Any] = {"session": "http:admin:main", "sender": "http:admin"}
_CODE = re.compile(r"`/link ([0-9A-Z-]{14})`")
Open = Callable[..., AgentRuntime]


@pytest.fixture
def home(runtime: Open, model: ScriptedModel) -> AgentRuntime:
    return runtime(llm_url=model.url, owners=("telegram:42",), access="open")


def key(chat: dict[str, Any]) -> str:
    return keys.session_of("main", chat["session"])


def things(home: AgentRuntime, chat: dict[str, Any]) -> Things:
    memory = home.app.sessions.open(key(chat)).memory
    return Things(home.app.kv, memory, home.app.helpers.terms)


def learn(home: AgentRuntime, chat: dict[str, Any], *texts: str, at: float = 1.0) -> Thing:
    kind = {2: "kv", 3: "fact"}[len(texts)]
    return things(home, chat).save(Thing(kind, texts, "user", 1.0, at, chat["sender"])).thing  # type: ignore[arg-type]


def known(home: AgentRuntime, chat: dict[str, Any]) -> set[str]:
    return {thing.in_words for thing in things(home, chat).scan()}


def offer(home: AgentRuntime, chat: dict[str, Any]) -> str:
    (said,) = tell(home, "/link", **chat)
    found = _CODE.search(said)
    assert found, said
    return found[1]


def link(home: AgentRuntime, first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """Link the second chat with the first; return what leaves: for the other chat, and here."""
    return tell(home, f"/link {offer(home, first)}", **second)


def read_memory(home: AgentRuntime, chat: dict[str, Any]) -> str:
    memory = home.app.sessions.open(key(chat)).memory
    return home.app.documents.read(memory, "memory").text


def write_memory(home: AgentRuntime, chat: dict[str, Any], text: str) -> None:
    memory = home.app.sessions.open(key(chat)).memory
    home.app.documents.write(memory, "memory", text, by="test")


def find_words(home: AgentRuntime, words: str) -> set[str]:
    """Return the partitions of the store in which the words occur."""
    kv = home.app.kv
    return {
        partition
        for partition in list_partitions(kv)
        for _, item in scan_all(kv, partition)
        if words.encode() in item.value
    }


def prompt(model: ScriptedModel) -> str:
    return str(model.bodies[-1]["messages"][0]["content"])


@pytest.mark.parametrize(
    ("first", "second"), [(PHONE, DESK), (DESK, PHONE), (PHONE, WEB), (WEB, DESK)]
)
def test_two_private_chats_of_any_platforms_share_one_memory(
    home: AgentRuntime, model: ScriptedModel, first: dict[str, Any], second: dict[str, Any]
) -> None:
    learn(home, first, "Ada", "is allergic to", "nuts")
    learn(home, second, "Ada", "lives in", "Berlin")
    *told, here = link(home, first, second)
    assert first["session"] in here
    assert "1 thing of this chat came along" in here
    # the terminal and an HTTP client cannot be written to
    assert [second["session"] in text for text in told] == ([True] if first is PHONE else [])
    assert (
        known(home, first)
        == known(home, second)
        == {
            "Ada is allergic to nuts",
            "Ada lives in Berlin",
        }
    )
    for chat in (first, second):
        tell(home, "what do you know?", **chat)
        assert "allergic to nuts" in prompt(model)
        assert "lives in Berlin" in prompt(model)
    learn(home, first, "birthday", "3 May")
    tell(home, "and now?", **second)
    assert "birthday: 3 May" in prompt(model)
    assert "birthday" in tell(home, "/recall birthday", **second)[0]


def test_what_is_said_stays_in_its_chat(home: AgentRuntime, model: ScriptedModel) -> None:
    model.then(say("I see."))
    tell(home, "the roses need water", **PHONE)
    link(home, PHONE, DESK)
    tell(home, "hello", **DESK)
    assert "roses" not in str(model.bodies[-1]["messages"])
    assert tell(home, "/recall roses", **DESK) == [ENGLISH.nothing_found]


def test_what_memory_heard_in_one_chat_is_in_the_prompt_of_the_other(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    link(home, PHONE, DESK)
    model.then(saves(memory="# Memory\n- The shop is closed on Mondays."))
    tell(home, "/mem the shop is closed on Mondays", **DESK)
    tell(home, "hello", **PHONE)
    assert "The shop is closed on Mondays." in prompt(model)
    assert "closed on Mondays" in tell(home, "/recall", **PHONE)[0]
    assert "1: " in tell(home, "/mem history", **PHONE)[0]


def test_two_consolidations_at_once_lose_nothing_of_either(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    link(home, PHONE, DESK)

    def meanwhile(body: dict[str, Any]) -> dict[str, Any]:
        model.then(saves(memory="# Memory\n- The shop is closed on Mondays."))
        tell(home, "/mem the shop is closed on Mondays", **DESK)
        return saves(memory="# Memory\n- The garden has nine old roses.")

    model.then(meanwhile)
    tell(home, "/mem the garden has nine old roses", **PHONE)
    text = read_memory(home, PHONE)
    assert "closed on Mondays" in text
    assert "nine old roses" in text


def test_of_two_values_the_newer_stands_and_the_other_is_kept(home: AgentRuntime) -> None:
    for chat, city, at in ((PHONE, "Rome", 1.0), (DESK, "Oslo", 2.0)):
        learn(home, chat, "city", city, at=at)
    for chat, tea, at in ((PHONE, "green", 2.0), (DESK, "black", 1.0)):
        learn(home, chat, "tea", tea, at=at)
    link(home, PHONE, DESK)
    shared = things(home, PHONE)
    assert [thing.texts[1] for thing in shared.list_values("city")] == ["Oslo", "Rome"]
    assert [thing.texts[1] for thing in shared.list_values("tea")] == ["green", "black"]
    assert [thing.disputed for thing in shared.list_values("tea")] == [False, True]


def test_lines_of_two_memories_without_room_are_still_found(home: AgentRuntime) -> None:
    app = home.app
    long = "\n".join(f"- Invoice {number} of shop {number * 7} is paid." for number in range(330))
    app.documents.write(key(PHONE), "memory", long, by="test")
    app.documents.write(key(DESK), "memory", "- Ada sings in the choir.\n" * 1, by="test")
    app.documents.write(key(WEB), "memory", long.replace("Invoice", "Order"), by="test")
    link(home, PHONE, DESK)
    link(home, PHONE, WEB)
    text = read_memory(home, PHONE)
    assert "Ada sings in the choir." in text
    assert "Order 329 of shop 2303 is paid." not in text
    for chat in (PHONE, DESK, WEB):
        assert "Order 329 of shop 2303" in tell(home, "/recall Order 329 shop 2303", **chat)[0]


def test_after_unlink_both_keep_what_was_known_and_nothing_more_is_shared(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    learn(home, PHONE, "Ada", "is allergic to", "nuts")
    app = home.app
    app.documents.write(key(PHONE), "memory", "- Ada sings.", by="test")
    for leaver, other in ((DESK, PHONE), (PHONE, DESK)):
        link(home, PHONE, DESK)
        *told, here = tell(home, "/unlink", **leaver)
        assert other["session"] in here
        assert [leaver["session"] in text for text in told] == ([True] if other is PHONE else [])
        learn(home, leaver, "secret of", "here", leaver["session"])
        learn(home, other, "secret of", "here", other["session"])
        for chat in (leaver, other):
            assert "Ada is allergic to nuts" in known(home, chat)
            tell(home, "what do you know?", **chat)
            assert "- Ada sings." in prompt(model)
            assert chat["session"] in prompt(model).partition("MEMORY OUTLINE")[2]
        assert f"secret of here {other['session']}" not in known(home, leaver)
        assert f"secret of here {leaver['session']}" not in known(home, other)
        assert tell(home, "/unlink", **leaver) == [ENGLISH.unlink_alone]
        for chat in (leaver, other):
            for thing in things(home, chat).list_newest(1):
                things(home, chat).drop(thing.id)


@pytest.mark.parametrize("lost", ["erased", "damaged", "linked anew"])
@pytest.mark.parametrize("offering", [PHONE, EVE])
def test_who_has_left_never_gets_what_the_other_says_later(
    home: AgentRuntime, model: ScriptedModel, lost: str, offering: dict[str, Any]
) -> None:
    other = EVE if offering is PHONE else PHONE
    link(home, offering, other)
    tell(home, "/unlink", **PHONE)
    learn(home, EVE, "Eve", "has", "gout")
    write_memory(home, EVE, "- Eve is in debt.")
    personal = PersonalData(home.app, home.stores.artifacts)
    if lost == "erased":
        personal.erase(personal.find("telegram:42"))
        assert known(home, EVE) == {"Eve has gout"}
    elif lost == "damaged":
        home.app.kv.put(keys.session_head(key(PHONE)), b"{damaged")
    else:
        link(home, WEB, EVE)
        link(home, DESK, PHONE)
        tell(home, "/unlink", **PHONE)
        write_memory(home, PHONE, "- It rains.")
        versions = tell(home, "/mem history", **PHONE)[0]
        for number in range(1, versions.count("\n") + 2):
            tell(home, f"/mem rollback {number}", **PHONE)
            assert "debt" not in read_memory(home, PHONE)
    assert known(home, PHONE) == set()
    if lost != "damaged":
        later = event("what do you know of me?", **PHONE)
        run_turn(replace(later, at=later.at + 1.0), home.app)
        assert "gout" not in prompt(model)
        assert "debt" not in prompt(model)
    exported = str(personal.export(personal.find("telegram:42")))
    assert "gout" not in exported
    assert "debt" not in exported
    learn(home, PHONE, "Ada", "has", "a cat")
    assert "Ada has a cat" not in known(home, EVE)
    personal.erase(personal.find("telegram:43"))
    assert not find_words(home, "gout")
    assert not find_words(home, "in debt")


def test_a_code_makes_the_memory_sharable_and_loses_nothing_of_it(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    learn(home, PHONE, "Ada", "has", "a cat")
    write_memory(home, PHONE, "- Ada sings.")
    write_memory(home, PHONE, "- Ada dances.")
    before = tell(home, "/mem history", **PHONE)
    offer(home, PHONE)
    assert home.app.sessions.open(key(PHONE)).memory != key(PHONE)
    assert find_words(home, "Ada dances") == {f"doc#{home.app.sessions.open(key(PHONE)).memory}"}
    assert known(home, PHONE) == {"Ada has a cat"}
    assert tell(home, "/mem history", **PHONE) == before
    tell(home, "hello", **PHONE)
    assert "- Ada dances." in prompt(model)
    tell(home, "/mem rollback 1", **PHONE)
    assert read_memory(home, PHONE) == "- Ada sings."
    memory = home.app.sessions.open(key(PHONE)).memory
    home.app.kv.put(keys.session_head(key(PHONE)), b"{damaged")
    assert home.app.sessions.open(key(PHONE)).memory == memory


def test_a_code_of_another_person_asks_once_more_and_names_whose_it_is(home: AgentRuntime) -> None:
    learn(home, PHONE, "door", "1234")
    code = offer(home, EVE)
    (asked,) = tell(home, f"/link {code}", **PHONE)
    assert "`telegram:43` (`Ada`), which is another person to me" in asked
    second = _CODE.search(asked)
    assert second
    # nobody else can use it, and the first one is used up
    for chat, sent in ((DESK, second[1]), (EVE, second[1]), (PHONE, code)):
        assert tell(home, f"/link {sent}", **chat) == [ENGLISH.link_no_code]
    assert not known(home, EVE)

    told, here = tell(home, f"/link {second[1]}", **PHONE)

    assert "`telegram:42` (`Ada`)" in told
    assert "`telegram:43` (`Ada`)" in here
    assert known(home, EVE) == {"door: 1234"}


def test_the_linked_ids_of_a_person_share_a_memory_at_once(home: AgentRuntime) -> None:
    slack = {"session": "slack:T1.U1", "sender": "slack:T1.U1"}
    home.app.people.let_in("telegram:43", "member", "Eve", "telegram:42")
    home.app.people.link("slack:T1.U1", "Eve", "telegram:43", "telegram:42", "member")
    learn(home, EVE, "door", "1234")
    link(home, EVE, slack)
    assert known(home, slack) == {"door: 1234"}


def test_the_command_is_carried_to_a_platform_that_types_it_otherwise(home: AgentRuntime) -> None:
    slack = {"session": "slack:T1.U1", "sender": "slack:T1.U1"}
    home.app.people.let_in("telegram:43", "member", "Eve", "telegram:42")
    home.app.people.link("slack:T1.U1", "Eve", "telegram:43", "telegram:42", "member")
    (told,) = tell(home, "/link", **slack)
    command = told.partition("Send me `")[2].partition("`")[0]
    assert command.startswith("!link ")
    to_slack, said = tell(home, f"`{command}`.", **EVE)
    assert to_slack.endswith("and then send !unlink.")
    assert "share one memory" in said
    assert "/unlink parts them" in said


def test_who_calls_us_by_our_name_gives_no_command(home: AgentRuntime) -> None:
    for text in ("uncaged link the two lists", "Uncaged pair of gloves", "uncaged pair the socks"):
        assert tell(home, text, **PHONE) == ["done"], text
    assert tell(home, "uncaged link 0000-0000-0000", **PHONE) == [ENGLISH.link_no_code]


def test_a_chat_that_has_left_its_memory_is_joined_by_no_code_of_before(home: AgentRuntime) -> None:
    link(home, PHONE, DESK)
    code = offer(home, PHONE)
    tell(home, "/unlink", **PHONE)
    assert tell(home, f"/link {code}", **EVE) == [ENGLISH.link_no_code]
    assert not home.app.links.list_chats(key(PHONE))


def test_earlier_versions_of_a_memory_that_joins_another_stay(home: AgentRuntime) -> None:
    write_memory(home, DESK, "- Ada sings.")
    write_memory(home, DESK, "- Ada dances.")
    offer(home, DESK)
    write_memory(home, DESK, "- Ada paints.")
    link(home, PHONE, DESK)
    assert read_memory(home, PHONE) == "- Ada paints."
    tell(home, "/unlink", **DESK)
    versions = home.app.documents.list_versions(key(DESK), "memory")
    assert [doc.text for doc in versions] == ["- Ada paints.", "- Ada dances.", "- Ada sings."]


def test_a_chat_whose_memory_others_use_can_leave_and_come_back(home: AgentRuntime) -> None:
    learn(home, PHONE, "Ada", "is allergic to", "nuts")
    link(home, PHONE, DESK)
    link(home, PHONE, WEB)
    tell(home, "/unlink", **PHONE)
    learn(home, DESK, "tea", "green")
    assert "tea: green" in known(home, WEB)
    assert "tea: green" not in known(home, PHONE)
    learn(home, PHONE, "bread", "rye")
    link(home, WEB, PHONE)
    assert known(home, PHONE) == {"Ada is allergic to nuts", "tea: green", "bread: rye"}
    assert "bread: rye" in known(home, DESK)


def test_in_a_group_nobody_links(home: AgentRuntime) -> None:
    group = {"session": "telegram:-100", "private": False}
    for text in ("/link", "/unlink"):
        assert tell(home, text, sender="telegram:42", **group) == [ENGLISH.link_private]
        assert tell(home, text, sender="telegram:43", **group) == [ENGLISH.not_here]
    assert tell(home, "/link 7K2M-Q9XV-4HTB", sender="telegram:43", **group) == [
        ENGLISH.link_private
    ]


@pytest.mark.parametrize("shower", ["telegram:42", "telegram:43"])
def test_a_code_that_a_group_has_seen_is_withdrawn(home: AgentRuntime, shower: str) -> None:
    group = {"session": "telegram:-100", "sender": shower, "private": False}
    learn(home, PHONE, "Ada", "has", "gout")
    code = offer(home, PHONE)
    assert tell(home, f"/link {code.lower()}", **group) == [ENGLISH.link_withdrawn]
    assert tell(home, f"/link {code}", **EVE) == [ENGLISH.link_no_code]
    assert known(home, EVE) == set()
    taken = offer(home, PHONE)
    tell(home, f"/link {taken}", **DESK)
    assert tell(home, f"/link {taken}", **group) == [ENGLISH.link_private]
    assert known(home, DESK) == {"Ada has gout"}


def test_a_code_counts_once_for_ten_minutes_and_is_not_stored(home: AgentRuntime) -> None:
    code = offer(home, PHONE)
    stored = list(home.app.kv.scan(keys.link_code("main", "").partition))
    assert code.replace("-", "") not in str(stored)
    assert tell(home, f"/link {code}", **PHONE) == [ENGLISH.link_own_code]
    assert len(tell(home, f"/link {code.lower()}", **DESK)) == 2
    assert tell(home, f"/link {code}", **WEB) == [ENGLISH.link_no_code]

    again = offer(home, PHONE)
    third = offer(home, PHONE)
    assert tell(home, f"/link {again}", **WEB) == [ENGLISH.link_no_code]
    later = home.app.clock.now() + SECONDS + 1
    clock = replace(home.app.clock, now=lambda: later)
    late = run_turn(event(f"/link {third}", **WEB), replace(home.app, clock=clock))
    assert late.document.outbox[0].text == ENGLISH.link_no_code


def test_codes_can_be_neither_guessed_nor_asked_for_without_end(home: AgentRuntime) -> None:
    code = offer(home, PHONE)
    for number in range(TRIES):
        said = tell(home, f"/link 0000-0000-000{number}", **DESK)
        assert said == [ENGLISH.link_no_code]
    assert tell(home, f"/link {code}", **DESK) == [ENGLISH.link_too_often]
    for _ in range(TRIES - 1):
        offer(home, PHONE)
    assert tell(home, "/link", **PHONE) == [ENGLISH.link_too_often]


def test_a_linked_chat_shows_with_whom_and_brings_no_other_memory_along(home: AgentRuntime) -> None:
    link(home, PHONE, DESK)
    (said,) = tell(home, "/link", **PHONE)
    assert said.startswith("This chat shares its memory with `terminal:main`")
    assert tell(home, f"/link {offer(home, WEB)}", **DESK) == [ENGLISH.link_taken]


def test_two_chats_that_take_each_others_code_at_once_join_in_one_way(
    home: AgentRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn(home, PHONE, "Ada", "has", "a cat")
    learn(home, DESK, "Ada", "has", "a dog")
    theirs = offer(home, DESK)
    mine = offer(home, PHONE)
    take = Links.take_code
    at_once: list[str] = []

    def take_at_once(links: Links, text: str, happened: Event) -> LinkOffer:
        taken = take(links, text, happened)
        if not at_once:
            at_once.append(happened.id)
            at_once.extend(tell(home, f"/link {theirs}", **PHONE))
        return taken

    monkeypatch.setattr(Links, "take_code", take_at_once)
    (said,) = tell(home, f"/link {mine}", **DESK)
    assert said == ENGLISH.link_taken
    assert at_once[-1].startswith("From now on this chat and `terminal:main`")
    assert known(home, PHONE) == known(home, DESK) == {"Ada has a cat", "Ada has a dog"}


def test_only_so_many_chats_share_a_memory(home: AgentRuntime) -> None:
    for number in range(CHATS_MOST - 1):
        chat = {"session": f"terminal:t{number}", "sender": f"telegram:{number + 100}"}
        code = offer(home, {**PHONE, "sender": chat["sender"]})
        said = tell(home, f"/link {code}", **chat)
        assert len(said) == number + 2
    last = {"session": "terminal:last", "sender": "telegram:99"}
    (said,) = tell(home, f"/link {offer(home, {**PHONE, 'sender': 'telegram:99'})}", **last)
    assert said == ENGLISH.link_too_many.format(most=CHATS_MOST)
    learn(home, last, "tea", "green")
    assert "tea: green" not in known(home, PHONE)


def test_two_memories_that_are_too_large_together_stay_apart(
    home: AgentRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("functions.agent.memory.things.THINGS_MOST", 3)
    for number in range(2):
        learn(home, PHONE, "Ada", "has", f"cat {number}")
        learn(home, DESK, "Ada", "has", f"dog {number}")
    assert link(home, PHONE, DESK) == [ENGLISH.link_too_large]
    assert known(home, DESK) == {"Ada has dog 0", "Ada has dog 1"}
    assert tell(home, "/unlink", **PHONE) == [ENGLISH.unlink_alone]


def test_a_conversation_that_is_damaged_still_shares_its_memory(home: AgentRuntime) -> None:
    learn(home, PHONE, "Ada", "has", "a cat")
    link(home, PHONE, DESK)
    for chat in (PHONE, DESK):
        home.app.kv.put(keys.session_head(key(chat)), b"{damaged")
        assert known(home, chat) == {"Ada has a cat"}


class Crash(Exception):
    pass


def count_writes(
    home: AgentRuntime, happened: Event, most: int
) -> tuple[SessionHandle | None, int]:
    """Run an event's turn until its write number `most`, which never happens."""
    done = 0

    class Failing:
        def __getattr__(self, name: str) -> object:
            verb = getattr(home.app.kv, name)
            if name not in ("put", "delete"):
                return verb

            def write(*args: object, **named: object) -> object:
                nonlocal done
                if done >= most:
                    raise Crash
                done += 1
                return verb(*args, **named)

            return write

    kv: Any = Failing()
    sessions = type(home.app.sessions)(kv, None)
    try:
        return run_turn(happened, replace(home.app, kv=kv, sessions=sessions)), done
    except Crash:
        return None, done


STEPS = {"offer": 1, "link": 7, "unlink": 1} if in_full() else {"offer": 6, "link": 41, "unlink": 6}
"""How many writes further on each crash is."""


@pytest.mark.parametrize("command", ["offer", "link", "unlink"])
def test_a_crash_anywhere_loses_nothing_and_links_once(
    runtime: Open, model: ScriptedModel, command: str
) -> None:
    end = False
    number = 0
    while not end:
        home = runtime(llm_url=model.url, owners=("telegram:42",), store="memory://")
        learn(home, PHONE, "city", "Rome")
        learn(home, PHONE, "Ada", "has", "a cat")
        learn(home, DESK, "city", "Oslo", at=2.0)
        write_memory(home, DESK, "- Ada sings in the choir.")
        if command == "link":
            happened = event(f"/link {offer(home, PHONE)}", **DESK)
        elif command == "offer":
            happened = event("/link", **DESK)
        else:
            link(home, PHONE, DESK)
            happened = event("/unlink", **PHONE)
        closed, _ = count_writes(home, happened, number)
        end = closed is not None
        for chat in (PHONE, DESK):
            memory = home.app.sessions.open(key(chat)).memory
            users = {each.session for each in home.app.links.list_chats(memory)}
            assert memory == key(chat) or chat["session"] in users, number
        home.app.sessions.clear_outbox(run_turn(happened, home.app))
        if command == "offer":
            assert not find_words(home, "choir") & {f"doc#{key(DESK)}", f"doc-version#{key(DESK)}"}
            link(home, DESK, PHONE)
        expected = {"city: Oslo", "city: Rome", "Ada has a cat"}
        assert known(home, PHONE) == known(home, DESK) == expected, number
        assert not list(home.app.kv.scan(keys.thing(key(DESK), "").partition))
        shared = home.app.sessions.open(key(DESK)).memory
        linked = home.app.links.list_chats(shared)
        for chat in (PHONE, DESK):
            assert read_memory(home, chat) == "- Ada sings in the choir."
        assert len(linked) == (1 if command == "unlink" else 2), number
        number += STEPS[command]
    assert number > 10
