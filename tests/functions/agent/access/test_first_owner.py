"""The first owner is the person who sends the code that the server printed, seen from outside."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from functions.agent.access import first_owner
from functions.agent.access.members import People
from functions.agent.access.pairing import SECONDS
from functions.agent.turn.turn import run_turn
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.errors import BackendError
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel
from tests.functions.agent.access.people import Wall, code_of, crash_at, say
from tests.functions.agent.talk import event, run_event

Open = Callable[..., AgentRuntime]
FIRST = "telegram:5"
WRONG = "0000-0000-0000"


def test_whoever_sends_it_is_the_owner_and_nobody_after_them(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    code = home.app.claim.offer_code()
    assert len(code.replace("-", "")) * 5 >= 60

    assert say(home, FIRST, f"/pair {code.lower()}") == [f"{FIRST} {ENGLISH.now_owner}"]
    assert say(home, FIRST, "/whoami")[0].startswith(f"{FIRST} You are `{FIRST}`: owner.")
    assert say(home, FIRST, "hi") == [f"{FIRST} done"]
    assert ENGLISH.now_owner not in say(home, "telegram:6", f"/pair {code}")[0]
    assert home.app.claim.offer_code() == ""
    assert "may talk to me now" in say(home, FIRST, f"/pair {code_of(home)}")[-1]


def test_a_sender_has_five_tries_however_many_come_at_once(home: AgentRuntime) -> None:
    code = home.app.claim.offer_code()
    chats = [f"telegram:{number}" for number in range(100, 124)]
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda chat: say(home, FIRST, f"/pair {WRONG}", session=chat), chats)
        said = [line.partition(" ")[2] for lines in answers for line in lines]

    for left in ("1 try", "2 tries", "3 tries", "4 tries"):
        assert sum(f"You have {left} left." in line for line in said) == 1
    assert said.count(ENGLISH.last_wrong_code) == 1
    assert said.count(ENGLISH.no_tries_left) == 1
    assert sum("I have no owner yet" in line for line in said) == 18
    assert ENGLISH.now_owner not in say(home, FIRST, f"/pair {code}")[0]
    assert say(home, FIRST, f"/pair {home.app.claim.offer_code()}") == [
        f"{FIRST} {ENGLISH.now_owner}"
    ]


def test_the_code_alone_or_as_it_was_copied_is_enough(home: AgentRuntime) -> None:
    code = home.app.claim.offer_code()
    sent = ("{}", "{}.", "`/pair {}`", "“!pair {}”", "/uncaged pair {}", "/pair `{}`.")
    wrong = "0000-0000-0000"
    for number, pattern in enumerate(sent, 100):
        said = say(home, f"slack:T1.U{number}", pattern.format(wrong))[0]
        assert "is not the code. You have 4 tries left" in said, pattern
    for group in ("{}", "`/pair {}`"):
        assert say(home, FIRST, group.format(code), session="telegram:-1", private=False) == []
    assert say(home, FIRST, code) == [f"{FIRST} {ENGLISH.now_owner}"]


def test_each_try_is_answered_and_then_one_more(home: AgentRuntime) -> None:
    home.app.claim.offer_code()
    tries = ("/pair 000-0000", WRONG, f"`/pair {WRONG}`", "/pair 0", f"/pair {WRONG}0", WRONG)
    said = [say(home, FIRST, text)[0] for text in tries]

    for left, line in zip(("4 tries", "3 tries", "2 tries", "1 try"), said, strict=False):
        assert f"is not the code. You have {left} left." in line
    assert said[4:] == [f"{FIRST} {ENGLISH.last_wrong_code}", f"{FIRST} {ENGLISH.no_tries_left}"]
    # from now on they are a stranger like any other, who is answered once
    assert "I have no owner yet" in say(home, FIRST, WRONG)[0]
    assert say(home, FIRST, WRONG) == []


def test_where_everybody_may_talk_the_code_alone_is_no_message(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, access="open")
    code = home.app.claim.offer_code()

    assert "You have 4 tries left" in say(home, FIRST, WRONG)[0]
    assert say(home, FIRST, f"`/pair {code}`") == [f"{FIRST} {ENGLISH.now_owner}"]
    # an owner needs no word before somebody's code either; what is no open code is a message
    asked = code_of(home, text="/pair")
    assert say(home, FIRST, "well-done") == [f"{FIRST} done"]
    assert say(home, FIRST, asked, session="telegram:-1", private=False) == ["telegram:-1 done"]
    assert "may talk to me now" in say(home, FIRST, asked)[-1]
    assert say(home, FIRST, asked) == [f"{FIRST} done"]
    assert say(home, FIRST, WRONG) == [f"{FIRST} done"]


def test_nobody_uses_up_anothers_tries(home: AgentRuntime) -> None:
    code = home.app.claim.offer_code()
    for stranger in range(100, 120):
        for _ in range(6):
            say(home, f"telegram:{stranger}", f"/pair {WRONG}")

    assert "is not the code. You have 4 tries left" in say(home, FIRST, f"/pair {WRONG}")[0]
    assert say(home, FIRST, f"/pair {code}") == [f"{FIRST} {ENGLISH.now_owner}"]


def test_a_try_that_comes_again_after_a_crash_counts_once(
    home: AgentRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.app.claim.offer_code()
    trying = event(f"/pair {WRONG}", session=FIRST, sender=FIRST)
    for _ in range(3):
        crash_at("close_turn", home, trying, monkeypatch)
    (reply,) = run_event(home, trying).document.outbox
    assert "You have 4 tries left" in reply.text


@pytest.mark.parametrize("damaged", [b"", b"[]", b'{"at":"x"}', b'{"at":0}'])
def test_a_count_that_cannot_be_read_is_used_up(home: AgentRuntime, damaged: bytes) -> None:
    code = home.app.claim.offer_code()
    home.app.kv.put(keys.first_owner_tries("main", FIRST), damaged)
    assert ENGLISH.now_owner not in say(home, FIRST, f"/pair {code}")[0]
    assert say(home, "telegram:6", f"/pair {code}") == [f"telegram:6 {ENGLISH.now_owner}"]


@pytest.mark.parametrize("access", ["members", "owners", "open"])
def test_without_an_owner_the_answer_says_what_to_do_at_the_machine(
    runtime: Open, model: ScriptedModel, access: str
) -> None:
    home = runtime(llm_url=model.url, access=access)
    (said,) = say(home, FIRST, "/pair")

    assert "I have no owner yet" in said
    assert "`uncaged serve`" in said
    assert f"`UNCAGED_OWNERS={FIRST}`" in said
    assert ("`uncaged channel pair " in said) is (access != "owners")
    home.app.people.let_in("telegram:6", "owner", "Ada", "test")
    (said,) = say(home, "telegram:77", "/pair")
    assert "no owner" not in said


def test_of_many_who_send_it_at_once_one_is_the_owner(home: AgentRuntime) -> None:
    code = home.app.claim.offer_code()
    people = [f"telegram:{number}" for number in range(100, 112)]
    with ThreadPoolExecutor(6) as pool:
        said = [
            line
            for lines in pool.map(lambda who: say(home, who, f"/pair {code}"), people)
            for line in lines
        ]

    assert sum(ENGLISH.now_owner in line for line in said) == 1
    assert [person.role for person in home.app.people.list_members()] == ["owner"]


def test_it_holds_for_ten_minutes_and_a_new_one_ends_it(
    runtime: Open, model: ScriptedModel
) -> None:
    wall = Wall()
    home = wall.on(runtime(llm_url=model.url))
    first, second = home.app.claim.offer_code(), home.app.claim.offer_code()

    assert "is not the code. You have 4 tries" in say(home, FIRST, f"/pair {first}")[0]
    wall.now += first_owner.SECONDS + 1
    assert ENGLISH.now_owner not in say(home, FIRST, f"/pair {second}")[0]


@pytest.mark.parametrize("access", ["members", "open", "owners"])
def test_an_owner_whose_answer_a_crash_lost_gets_it_and_stays_the_owner(
    runtime: Open, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, access: str
) -> None:
    home = runtime(llm_url=model.url, access=access)
    sending = event(f"/pair {home.app.claim.offer_code()}", session=FIRST, sender=FIRST)
    for place in ("let_in", ""):
        if place:
            monkeypatch.setattr(People, place, _away)
            with pytest.raises(BackendError):
                run_turn(sending, home.app)
            monkeypatch.undo()
        else:
            crash_at("close_turn", home, sending, monkeypatch)
    assert [reply.text for reply in run_event(home, sending).document.outbox] == [ENGLISH.now_owner]
    home.app.people.let_in(FIRST, "member", "Ada", "terminal:local")
    assert [(person.id, person.role) for person in home.app.people.list_members()] == [
        (FIRST, "owner")
    ]
    assert "That is no code" in say(home, FIRST, "/pair 0000-0000-0000")[0]


def _away(*_: Any) -> None:
    raise BackendError("ECRASH", "the store went away")


def test_in_a_group_it_is_not_even_tried(home: AgentRuntime) -> None:
    code = home.app.claim.offer_code()
    assert say(home, FIRST, f"/pair {code}", session="telegram:-100", private=False) == []
    assert home.app.people.list_members() == []
    assert say(home, FIRST, f"/pair {code}") == [f"{FIRST} {ENGLISH.now_owner}"]


def test_with_an_owner_in_the_settings_there_is_none(runtime: Open, model: ScriptedModel) -> None:
    code = runtime(llm_url=model.url).app.claim.offer_code()
    home = runtime(llm_url=model.url, owners=("telegram:1",))

    assert home.app.claim.offer_code() == ""
    assert ENGLISH.now_owner not in say(home, FIRST, f"/pair {code}")[0]


def test_a_member_and_a_guest_may_send_it_too(runtime: Open, model: ScriptedModel) -> None:
    home = runtime(llm_url=model.url, access="open")
    home.app.people.let_in(FIRST, "member", "Ada", "terminal:local")
    code = home.app.claim.offer_code()

    assert "is not the code. You have 4 tries" in say(home, "telegram:6", f"/pair {WRONG}")[0]
    assert say(home, FIRST, f"/pair {code}") == [f"{FIRST} {ENGLISH.now_owner}"]


@pytest.mark.parametrize("passed", [SECONDS + 1, -SECONDS - 1])
def test_it_is_over_when_its_time_is_and_when_the_clock_was_set_back(
    home: AgentRuntime, passed: float
) -> None:
    wall = Wall()
    home = wall.on(home)
    code = home.app.claim.offer_code()
    wall.now += passed
    assert ENGLISH.now_owner not in say(home, FIRST, f"/pair {code}")[0]


def test_whoever_sits_at_the_machine_does_not_use_it_up(home: AgentRuntime) -> None:
    code = home.app.claim.offer_code()
    assert "That is no code" in say(home, "terminal:local", f"/pair {code}")[0]
    assert say(home, FIRST, f"/pair {code}") == [f"{FIRST} {ENGLISH.now_owner}"]


def test_a_code_of_eight_is_no_try_of_it(home: AgentRuntime) -> None:
    code = home.app.claim.offer_code()
    for number in range(6):
        say(home, f"telegram:{number + 1}", "/pair ABCD-EFGH")
    assert say(home, FIRST, f"/pair {code}") == [f"{FIRST} {ENGLISH.now_owner}"]


@pytest.mark.parametrize(
    "damaged",
    [b"", b"{", b"[]", b'{"digest":"","at":0,"left":"5"}', b'{"digest":5,"at":NOW,"left":5}'],
)
def test_a_damaged_one_opens_nothing(home: AgentRuntime, damaged: bytes) -> None:
    home.app.kv.put(keys.first_owner("main"), damaged.replace(b"NOW", str(time.time()).encode()))
    assert ENGLISH.now_owner not in say(home, FIRST, f"/pair {WRONG}")[0]


def test_only_a_digest_of_it_is_kept(home: AgentRuntime) -> None:
    code = home.app.claim.offer_code()
    item = home.app.kv.get(keys.first_owner("main"))
    assert item is not None
    assert code.replace("-", "").encode() not in item.value
