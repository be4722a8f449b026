"""Pairing from outside: a stranger writes and is told a code, an owner sends it, and the stranger
is a member.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from functions.agent.access import members, pairing, pairing_code
from functions.agent.commands.pairing import SHOWN
from functions.agent.turn.turn import run_turn
from functions.events import Sender
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from sigil.storage.kv.update import PAGE
from tests.fakes.model import ScriptedModel
from tests.functions.agent.access.people import CODE, OWNER, Wall, code_of, crash_at, say
from tests.functions.agent.talk import event, run_event

Open = Callable[..., AgentRuntime]
STRANGER = "telegram:66"


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def home(runtime: Open, model: ScriptedModel, wall: Wall) -> AgentRuntime:
    return wall.on(runtime(llm_url=model.url, owners=(OWNER,)))


def test_a_stranger_is_told_a_code_and_with_it_an_owner_lets_them_in(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    (offer,) = say(home, STRANGER, "hi")
    found = CODE.search(offer)
    assert found
    assert "10 minutes" in offer
    assert f"`{STRANGER}`" in offer
    assert not model.bodies

    assert say(home, OWNER, f"/pair {found[1]}") == [
        f"{STRANGER} {ENGLISH.let_in}",
        f"{OWNER} `{STRANGER}` (`Ada`) may talk to me now.",
    ]
    assert say(home, STRANGER, "hi") == [f"{STRANGER} done"]
    assert len(model.bodies) == 1
    assert "You are `telegram:66`: member, let in on " in say(home, STRANGER, "/whoami")[0]


@pytest.mark.parametrize("written", ["{}", " {} ", "{}\n"])
@pytest.mark.parametrize(
    "form",
    [
        str,
        str.lower,
        lambda text: text.replace("-", ""),
        lambda text: text.replace("1", "I").replace("0", "o"),
    ],
)
def test_a_code_is_known_however_it_is_typed(
    home: AgentRuntime, written: str, form: Callable[[str], str]
) -> None:
    told_code = code_of(home)
    assert (
        "may talk to me now"
        in say(home, OWNER, f"/PAIR@some_bot {written.format(form(told_code))}")[-1]
    )


def test_an_owner_may_accept_in_any_chat_of_theirs(home: AgentRuntime) -> None:
    code = code_of(home)
    said = say(home, OWNER, f"/pair {code}", session="telegram:-100", private=False)
    assert [line.partition(" ")[0] for line in said] == [STRANGER, "telegram:-100"]


def test_a_flood_is_answered_once_until_the_code_is_over(home: AgentRuntime, wall: Wall) -> None:
    first = code_of(home)
    assert [
        say(home, STRANGER, text) for text in ("hello?", "/pair", f"/pair {first}", "/stop")
    ] == [[]] * 4
    wall.now += pairing.SECONDS + 1
    assert code_of(home) != first
    assert say(home, STRANGER, "hello?") == []


@pytest.mark.parametrize("access", ["members", "owners"])
def test_a_stranger_reads_who_they_are_and_what_to_do(
    runtime: Callable[..., AgentRuntime], access: str
) -> None:
    home = runtime(owners=(OWNER,), access=access)
    first, second = (say(home, STRANGER, text)[0] for text in ("/whoami", "/WhoAmI@Sigil_Bot"))
    for said in (first, second):
        assert f"You are `{STRANGER}` on telegram, and not paired with me. " in said
    assert ("Your code is `" in first) is (access == "members")
    assert ("still valid" in second) is (access == "members")
    group = {"session": "telegram:-100", "private": False}
    assert say(home, "telegram:68", "/whoami", **group) == []


def test_an_owner_who_paired_is_not_listed_among_those_whom_they_let_in(
    home: AgentRuntime,
) -> None:
    home.app.people.let_in("telegram:6", "owner", "Ada", "test")
    (listed,) = say(home, "telegram:6", "/pair")
    assert "`telegram:6`" not in listed
    assert "- `telegram:6` (`Ada`), owner" in say(home, OWNER, "/pair")[0]


def test_an_old_code_a_used_one_and_a_wrong_one_are_told_apart(
    home: AgentRuntime, wall: Wall
) -> None:
    code = code_of(home)
    say(home, OWNER, f"/pair {code}")
    assert "That code was used: it let telegram:66 in; " in say(home, OWNER, f"/pair {code}")[0]
    old = code_of(home, "telegram:67")
    wall.now += pairing.SECONDS + 1
    assert "That code is over: it was valid for 10 minutes; " in say(home, OWNER, f"/pair {old}")[0]
    assert "No such code is open; " in say(home, OWNER, "/pair 0000-0000")[0]
    for odd in ("hello", "UUUU-UUUU", "ABCD-EFG", "ＡＢＣＤ-ＥＦＧＨ", "x" * 5_000, "A" * 12):
        assert (
            "That is no code; a code has 8 letters and digits"
            in say(home, OWNER, f"/pair {odd}")[0]
        )
    assert home.app.people.find_member("telegram:67") is None


def test_a_clock_that_was_set_back_keeps_no_code_open(home: AgentRuntime, wall: Wall) -> None:
    code = code_of(home)
    wall.now -= pairing.SECONDS + 1
    assert "That code is over" in say(home, OWNER, f"/pair {code}")[0]


def test_whoever_was_let_in_is_told_in_the_chat_where_they_asked(home: AgentRuntime) -> None:
    code = code_of(home, session="telegram:900")
    assert f"telegram:900 {ENGLISH.let_in}" in say(home, OWNER, f"/pair {code}")


def test_a_note_to_a_newcomer_takes_no_reply_away(home: AgentRuntime) -> None:
    code = code_of(home)
    run_turn(event("hi", session=OWNER, sender=OWNER), home.app)  # which has not left yet
    replies = run_event(home, event(f"/pair {code}", session=OWNER, sender=OWNER)).document.outbox
    assert [reply.text for reply in replies] == [
        "done",
        ENGLISH.let_in,
        f"`{STRANGER}` (`Ada`) may talk to me now.",
    ]
    assert len({reply.event for reply in replies}) == 3


def test_so_many_people_are_let_in_and_no_more_and_a_chat_is_shown_some(
    home: AgentRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(PAGE + 5):
        home.app.people.let_in(f"telegram:{1_000 + number}", "member", "", OWNER)
    shown = say(home, OWNER, "/pair")[0]
    assert shown.count(", member since ") == SHOWN
    assert "- and 175 more: `uncaged channel pair --list`" in shown

    monkeypatch.setattr(members, "MOST", PAGE + 5)
    assert say(home, OWNER, f"/pair {code_of(home)}") == [
        f"{OWNER} 205 people were let in, and no more may be; take somebody out first."
    ]
    assert home.app.people.find_member(STRANGER) is None


def test_only_owners_let_people_in(home: AgentRuntime, model: ScriptedModel) -> None:
    say(home, OWNER, f"/pair {code_of(home)}")
    other = code_of(home, "telegram:67")

    assert say(home, STRANGER, f"/pair {other}") == [f"{STRANGER} Only my owner can do that."]
    assert say(home, STRANGER, "/pair") == [f"{STRANGER} Only my owner can do that."]
    assert say(home, STRANGER, "/pair remove telegram:66") == [
        f"{STRANGER} Only my owner can do that."
    ]
    assert say(home, "telegram:67", f"/pair {other}") == []
    assert say(home, "telegram:67", "hi") == []
    assert not model.bodies


def test_in_a_group_strangers_meet_silence(home: AgentRuntime, model: ScriptedModel) -> None:
    assert [
        say(home, STRANGER, text, session="telegram:-100", private=False)
        for text in ("hi", "/pair", "/help")
    ] == [[]] * 3
    assert not home.app.pairing.list_waiting()
    say(home, OWNER, f"/pair {code_of(home)}")
    assert say(home, STRANGER, "hi", session="telegram:-100", private=False) == [
        "telegram:-100 done"
    ]


@pytest.mark.parametrize(
    "who",
    [
        "slack:1",
        "telegram:66\nx",
        "telegram:",
        "TELEGRAM:1",
        "66",
        "telegram:" + "9" * 256,
        "http:admin2",
        "telegram:\u0661",
    ],
)
def test_an_id_that_is_none_of_its_platform_is_nobody(
    runtime: Open, model: ScriptedModel, who: str
) -> None:
    home = runtime(llm_url=model.url, owners=("slack:1", "http:admin2"))
    home.app.people.let_in(who, "member", "Ada", OWNER)
    assert say(home, STRANGER, "hi", sender=who) == []
    assert say(home, STRANGER, "/pair 0000-0000", sender=who) == []
    assert not home.app.pairing.list_waiting()
    assert not model.bodies


def test_removing_takes_effect_at_the_next_message(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    code = code_of(home)
    say(home, OWNER, f"/pair {code}")
    say(home, STRANGER, "hi")

    assert say(home, OWNER, f"/pair remove {STRANGER}") == [
        f"{OWNER} `{STRANGER}` (`Ada`) is a guest again."
    ]
    assert code_of(home) != code
    assert len(model.bodies) == 1
    assert f"The id {STRANGER} was not let in" in say(home, OWNER, f"/pair remove {STRANGER}")[0]
    assert f"The settings make {OWNER} an owner" in say(home, OWNER, f"/pair remove {OWNER}")[0]
    assert "UNCAGED_OWNERS" in say(home, OWNER, f"/pair remove {OWNER}")[0]
    for words in ("remove", "remove everybody", f"remove {STRANGER} {STRANGER}"):
        assert "nobody's id" in say(home, OWNER, f"/pair {words}")[0]
    assert say(home, OWNER, "hi") == [f"{OWNER} done"]


def test_an_owner_sees_who_waits_and_who_is_in_but_no_code(home: AgentRuntime) -> None:
    assert say(home, OWNER, "/pair")[0].startswith(f"{OWNER} Owners by the settings: `{OWNER}`\n")
    say(home, OWNER, f"/pair {code_of(home, 'telegram:67')}")
    code = code_of(home)

    shown = say(home, OWNER, "/pair")[0]
    assert "Waiting:\n- `telegram:66` (`Ada`), 10 minutes left\n" in shown
    assert re.search(
        r"Let in:\n- `telegram:67` \(`Ada`\), member since \d{4}-\d\d-\d\d, by `telegram:1`\n",
        shown,
    )
    assert code not in shown
    assert say(home, OWNER, "/pair", session="telegram:-100", private=False) == [
        f"telegram:-100 {ENGLISH.ask_privately}"
    ]


def test_a_name_says_nothing_that_it_should_not(home: AgentRuntime) -> None:
    evil = "Mum\n- `telegram:1` (owner)\u202e\x1b[31m [x](http://x)" + "y" * 500
    code = code_of(home, name=evil)

    for shown in (
        say(home, OWNER, "/pair")[0],
        say(home, OWNER, f"/pair {code}")[-1],
        say(home, OWNER, "/pair")[0],
    ):
        assert "(`Mum - 'telegram:1' (owner) [x](http://x)" in shown
        assert not {"\u202e", "\x1b"} & set(shown)
        assert "y" * 60 not in shown


def test_a_code_lets_one_in_however_many_send_it_at_once(
    runtime: Open, model: ScriptedModel
) -> None:
    owners = tuple(f"telegram:{number}" for number in range(1, 9))
    home = runtime(llm_url=model.url, owners=owners)
    code = code_of(home)
    with ThreadPoolExecutor(8) as pool:
        said = [
            line
            for lines in pool.map(lambda owner: say(home, owner, f"/pair {code}"), owners)
            for line in lines
        ]

    assert sum("may talk to me now" in line for line in said) == 1
    assert sum("That code was used" in line for line in said) == 7
    assert said.count(f"{STRANGER} {ENGLISH.let_in}") == 1


def test_however_many_strangers_wait_the_next_one_is_let_in_and_who_waits_keeps_theirs(
    runtime: Open, wall: Wall
) -> None:
    home = wall.on(runtime(owners=(OWNER,)))
    first = code_of(home)
    with ThreadPoolExecutor(4) as pool:
        answers = list(
            pool.map(lambda number: say(home, f"telegram:{number}", "hi"), range(1_000, 1_250))
        )

    assert all(answers)
    last = code_of(home, "telegram:2000")
    assert len(home.app.pairing.list_waiting()) == 252
    assert "`telegram:2000` (`Ada`) may talk to me now" in say(home, OWNER, f"/pair {last}")[-1]
    assert "`telegram:66` (`Ada`) may talk to me now" in say(home, OWNER, f"/pair {first}")[-1]
    assert "- and 220 more: " in say(home, OWNER, "/pair")[0]
    wall.now += pairing.SECONDS + 1
    assert home.app.pairing.list_waiting() == []


def test_a_chat_has_three_open_codes_at_most(home: AgentRuntime) -> None:
    said = [say(home, STRANGER, "hi", sender=f"telegram:{number}") for number in range(70, 75)]
    assert [bool(lines) for lines in said] == [True] * 3 + [False] * 2


def test_a_replayed_update_makes_no_second_code_and_no_second_acceptance(
    home: AgentRuntime,
) -> None:
    happened = replace(
        event("hi", session=STRANGER, sender=STRANGER), sender=Sender(STRANGER, "Ada")
    )
    (offer,) = run_event(home, happened).document.outbox
    assert not run_event(home, happened).document.outbox
    found = CODE.search(offer.text)
    assert found
    accepting = event(f"/pair {found[1]}", session=OWNER, sender=OWNER)
    assert len(run_event(home, accepting).document.outbox) == 2
    assert not run_event(home, accepting).document.outbox
    say(home, OWNER, f"/pair remove {STRANGER}")
    assert not run_event(home, accepting).document.outbox
    assert home.app.people.find_member(STRANGER) is None


def test_a_crash_before_the_answer_was_kept_repeats_it(
    home: AgentRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    hello = event("hi", session=STRANGER, sender=STRANGER)
    crash_at("close_turn", home, hello, monkeypatch)
    (offer,) = run_event(home, hello).document.outbox
    found = CODE.search(offer.text)
    assert found
    accepting = event(f"/pair {found[1]}", session=OWNER, sender=OWNER)
    crash_at("close_turn", home, accepting, monkeypatch)

    assert [reply.session for reply in run_event(home, accepting).document.outbox] == [
        STRANGER,
        OWNER,
    ]
    assert home.app.people.find_role(hello) == "member"


def test_where_owners_alone_may_talk_there_are_no_codes(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, owners=(OWNER,), access="owners")
    assert [say(home, STRANGER, "hi"), say(home, STRANGER, "hi")] == [
        [f"{STRANGER} I only talk to my owner. Your id here is `{STRANGER}`."],
        [],
    ]
    assert not home.app.pairing.list_waiting()
    home.app.people.let_in("telegram:67", "member", "Bob", OWNER)
    assert say(home, "telegram:67", "hi")[0].startswith("telegram:67 I only talk to my owner.")
    assert not model.bodies


def test_where_everybody_may_talk_a_guest_asks_for_a_code(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, owners=(OWNER,), access="open")
    assert say(home, STRANGER, "hi") == [f"{STRANGER} done"]
    (offer,) = say(home, STRANGER, "/pair")
    assert offer.startswith(f"{STRANGER} Your code is `")  # not that nobody else may talk
    assert say(home, STRANGER, "/pair") == [
        f"{STRANGER} {ENGLISH.code_still_valid.format(minutes=10)}"
    ]
    assert say(home, STRANGER, "/pair", session="telegram:-100", private=False) == [
        "telegram:-100 Only my owner can do that."
    ]
    found = CODE.search(offer)
    assert found
    say(home, OWNER, f"/pair {found[1]}")
    assert "member" in say(home, STRANGER, "/whoami")[0]


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"{",
        b"[]",
        b'{"id":1}',
        b'{"id":"telegram:66","role":"king","name":"","at":1,"by":""}',
        b'{"id":"telegram:66","role":"member","name":"","at":1e300,"by":""}',
    ],
)
def test_a_record_that_cannot_be_read_lets_nobody_in(
    home: AgentRuntime, model: ScriptedModel, damaged: bytes
) -> None:
    home.app.kv.put(keys.person("main", STRANGER), damaged)
    home.app.kv.put(keys.pairing_request("main", STRANGER, STRANGER), damaged)
    code = code_of(home)
    say(home, OWNER, f"/pair {code}")
    assert say(home, STRANGER, "hi") == [f"{STRANGER} done"]


def test_the_store_is_asked_once_about_whoever_writes(
    home: AgentRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(home, OWNER, f"/pair {code_of(home)}")
    asked: list[str] = []
    kind: Any = type(home.app.kv)
    get, get_many = kind.get, kind.get_many

    def counted(kv: Any, key: Any) -> Any:
        asked.append(key.partition)
        return get(kv, key)

    def counted_many(kv: Any, several: Any) -> Any:
        asked.extend(key.partition for key in several)
        return get_many(kv, several)

    monkeypatch.setattr(kind, "get", counted)
    monkeypatch.setattr(kind, "get_many", counted_many)
    say(home, STRANGER, "hi")
    assert asked.count(keys.person("main", "").partition) == 1
    asked.clear()
    say(home, OWNER, "hi")
    assert keys.person("main", "").partition not in asked


def test_codes_have_forty_bits_and_no_two_letters_that_look_alike() -> None:
    assert len(set(pairing_code.ALPHABET)) == 32
    assert not set("OILU") & set(pairing_code.ALPHABET)
    assert (
        pairing_code.parse_code("4f7k 9qxz", 8)
        == pairing_code.parse_code("4F7K-9QXZ", 8)
        == "4F7K9QXZ"
    )
    assert len({pairing_code.make_code(8) for _ in range(500)}) == 500
