"""One person who is known by ids on two platforms, and people who are let in by their ids."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from typer.testing import CliRunner

from functions.agent.access.members import LINKS_MOST
from functions.cli.app import cli
from functions.personal_data import PersonalData
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel
from tests.fakes.model import say as model_says
from tests.functions.agent.access.people import OWNER, code_of, say
from tests.functions.agent.talk import event
from tests.machine import within

BOB, NEW, OTHER = "telegram:66", "slack:T1.U1", "feishu:ou_1"


@pytest.fixture
def home(runtime: Callable[..., AgentRuntime], model: ScriptedModel) -> AgentRuntime:
    return runtime(llm_url=model.url, owners=(OWNER,))


def role_of(home: AgentRuntime, who: str) -> str:
    return home.app.people.find_role(event("hi", session=who, sender=who))


def let_in(home: AgentRuntime, who: str) -> None:
    say(home, OWNER, f"/pair {code_of(home, who)}")
    assert role_of(home, who) == "member"


def test_a_stranger_is_linked_to_whoever_sends_their_code_as_me(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    for first, new, role in ((OWNER, NEW, "owner"), (BOB, OTHER, "member")):
        if first == BOB:
            let_in(home, BOB)
        told, welcome = sorted(say(home, first, f"/pair {code_of(home, new)} ME"), reverse=True)

        assert told.startswith(f"{first} `{new}` (`Ada`) is you now")
        assert welcome.startswith(f"{new} You are the same person as `{first}`")
        assert role_of(home, new) == role
        assert f"You are `{new}`: {role}" in say(home, new, "/whoami")[0]
    listed = say(home, OWNER, "/pair")[0]
    assert f"- `{NEW}` (`Ada`), the same as `{OWNER}`, owner since" in listed
    assert f"- `{OTHER}` (`Ada`), the same as `{BOB}`, member since" in listed
    # what they say on one platform, they have not said on the other
    model.then(model_says("noted"), model_says("which word?"))
    say(home, BOB, "the word is ferret")
    say(home, OTHER, "what is the word?")
    assert "ferret" not in str(model.chats[1]["messages"])


def test_the_second_id_has_no_more_rights_than_the_first_has_now(home: AgentRuntime) -> None:
    let_in(home, BOB)
    say(home, BOB, f"/pair {code_of(home, NEW)} me")
    assert role_of(home, NEW) == "member"
    # whoever sends a code from the second id is the first one: there are no chains
    say(home, NEW, f"/pair {code_of(home, OTHER)} me")
    people = {person.id: person.same for person in home.app.people.list_members()}
    assert people == {BOB: "", NEW: BOB, OTHER: BOB}

    removed = say(home, OWNER, f"/pair remove {BOB}")

    assert "is a guest again" in removed[0]
    assert [role_of(home, who) for who in (BOB, NEW, OTHER)] == ["guest"] * 3
    # the ids do not come back with the first one
    let_in(home, BOB)
    assert [role_of(home, who) for who in (NEW, OTHER)] == ["guest"] * 2


def test_a_link_to_somebody_who_is_no_longer_in_gives_nothing(home: AgentRuntime) -> None:
    say(home, OWNER, f"/pair {code_of(home, NEW)} me")
    people = home.app.people
    assert people.is_owner(NEW)
    # an earlier version, which knows of no link, reads a guest's record
    item = home.app.kv.get(keys.person("main", NEW))
    assert item is not None
    assert b'"role":"guest"' in item.value
    people.link(BOB, "Bob", NEW, OWNER)
    assert role_of(home, BOB) == "guest"
    people.link(NEW, "Ada", BOB, OWNER)
    assert [role_of(home, who) for who in (NEW, BOB)] == ["guest", "guest"]


def test_guests_link_nobody_and_a_code_is_used_once(home: AgentRuntime) -> None:
    code = code_of(home, NEW)
    let_in(home, BOB)
    say(home, OTHER, f"/pair {code} me")
    assert role_of(home, NEW) == "guest"
    say(home, OWNER, f"/pair {code} me")
    again = say(home, BOB, f"/pair {code} me")
    assert "that code was used" in again[0].lower()
    assert home.app.people.find_member(NEW).same == OWNER  # type: ignore[union-attr]


def test_a_person_has_so_many_further_ids_and_no_more(home: AgentRuntime) -> None:
    for number in range(LINKS_MOST):
        say(home, OWNER, f"/pair {code_of(home, f'slack:T1.U{number}')} me")
    full = say(home, OWNER, f"/pair {code_of(home, OTHER)} me")
    assert f"has {LINKS_MOST} further ids" in full[0]
    assert role_of(home, OTHER) == "guest"
    say(home, OWNER, "/pair remove slack:T1.U0")
    assert role_of(home, "slack:T1.U0") == "guest"


def test_an_owner_lets_somebody_in_by_their_id(home: AgentRuntime) -> None:
    assert say(home, OWNER, "/pair discord:80351110224678912 member") == [
        f"{OWNER} `discord:80351110224678912` may talk to me now."
    ]
    assert role_of(home, "discord:80351110224678912") == "member"
    let_in(home, BOB)
    for wrong in ("slack:U1", "nowhere:1", "telegram:ada"):
        assert "nobody's id" in say(home, OWNER, f"/pair {wrong} member")[0]
        assert home.app.people.find_member(wrong) is None
    assert say(home, BOB, "/pair discord:1 member") == [f"{BOB} Only my owner can do that."]


def test_the_machines_command_links_and_lets_in_by_id(
    home: AgentRuntime, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))
    monkeypatch.setenv("UNCAGED_LIBRARY", "none")
    monkeypatch.setenv("UNCAGED_OWNERS", OWNER)

    def pair(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(cli, ["channel", "pair", *words])
        return done.exit_code, done.output + str(done.exception or "")

    code = code_of(home, NEW)
    assert "is a guest" in pair(code, "--same-as", BOB)[1]
    assert pair(code, "--same-as", OWNER)[0] == 0
    assert pair("--id", "discord:7") == (0, "discord:7 may talk to it now\n")
    assert "nobody's id" in pair("--id", "slack:U7")[1]
    assert pair("--same-as", OWNER)[0] != 0
    shown = pair("--list")[1]

    assert role_of(home, NEW) == "owner"
    assert f"owner, as {OWNER}" in shown
    assert '"same":"telegram:1"' in pair("--list", "--json")[1]


ANSWER = "it is four"


def limited(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, **limits: int
) -> AgentRuntime:
    """An agent whose member Bob writes from two platforms."""
    home = runtime(llm_url=model.url, owners=(OWNER,), **limits)
    let_in(home, BOB)
    say(home, BOB, f"/pair {code_of(home, NEW)} me")
    assert role_of(home, NEW) == "member"
    return home


def test_one_person_has_one_allowance_whichever_id_they_write_with(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = limited(runtime, model, member_turns=3)
    model.then(*[model_says(ANSWER)] * 3)
    assert [ANSWER in say(home, who, "2+2?")[-1] for who in (BOB, NEW, NEW)] == [True] * 3
    assert "3 turns" in say(home, BOB, "and now?")[-1]
    # the reason is told once a day, to the person
    assert say(home, NEW, "and now?") == []
    assert len(model.chats) == 3
    shown = [say(home, who, "/whoami")[-1].splitlines()[-1] for who in (BOB, NEW)]
    assert shown[0] == shown[1]
    assert "3 of 3 turns" in shown[0]
    # an id of nobody else pays
    let_in(home, OTHER)
    model.then(model_says(ANSWER))
    assert ANSWER in say(home, OTHER, "2+2?")[-1]


def test_the_tokens_of_both_ids_are_one_sum(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = limited(runtime, model, member_tokens=100_000)
    model.then(model_says(ANSWER), model_says(ANSWER))
    used = []
    for who in (NEW, BOB):
        say(home, who, "2+2?")
        used.append(say(home, NEW, "/whoami")[-1].splitlines()[-1])
    assert used[0] != used[1]
    assert say(home, BOB, "/whoami")[-1].splitlines()[-1] == used[1]


def test_of_two_turns_at_once_the_last_one_of_the_allowance_is_one(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = limited(runtime, model, member_turns=1)
    both = Barrier(2)
    model.then(model_says(ANSWER))

    def write(who: str) -> list[str]:
        both.wait(within(20))
        return say(home, who, "2+2?")

    with ThreadPoolExecutor(2) as threads:
        answers = [text for texts in threads.map(write, (BOB, NEW)) for text in texts]
    assert sorted(ANSWER in text for text in answers) == [False, True]


def test_what_an_id_used_stays_right_when_either_leaves(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = limited(runtime, model, member_turns=2, guest_turns=1)
    allowances = home.app.make_allowances("UTC")
    model.then(*[model_says(ANSWER)] * 3)
    say(home, NEW, "2+2?")
    say(home, OWNER, f"/pair remove {NEW}")
    # a guest begins with an allowance of their own, and the first id keeps what both have used
    assert "0 of 1 turn" in allowances.describe_usage(NEW, "guest")
    assert "1 of 2 turns" in say(home, BOB, "/whoami")[-1]

    say(home, BOB, f"/pair {code_of(home, NEW)} me")
    say(home, NEW, "2+2?")
    personal = PersonalData(home.app, home.stores.artifacts)
    personal.erase(personal.find(NEW))
    assert role_of(home, NEW) == "guest"
    assert "2 of 2 turns" in say(home, BOB, "/whoami")[-1]

    say(home, BOB, f"/pair {code_of(home, OTHER)} me")
    personal.erase(personal.find(BOB))
    assert [role_of(home, who) for who in (BOB, OTHER)] == ["guest", "guest"]
    assert "0 of 2 turns" in allowances.describe_usage(BOB, "member")
