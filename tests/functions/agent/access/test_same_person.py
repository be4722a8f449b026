"""One person who is known by ids on two platforms, and people who are let in by their ids."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import orjson
import pytest
from typer.testing import CliRunner

from functions.agent.access.link_requests import OPEN_SECONDS
from functions.agent.access.members import LINKS_MOST
from functions.cli.app import cli
from functions.personal_data import PersonalData
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel
from tests.fakes.model import say as model_says
from tests.functions.agent.access.people import OWNER, Wall, code_of, crash_at, say
from tests.functions.agent.talk import event, run_event
from tests.machine import within

CONFIRM = re.compile("`[/!]pair confirm ([0-9A-Z-]{9})`")
BOB, NEW, OTHER = "telegram:66", "slack:T1.U1", "feishu:ou_1"


@pytest.fixture
def home(runtime: Callable[..., AgentRuntime], model: ScriptedModel) -> AgentRuntime:
    return runtime(llm_url=model.url, owners=(OWNER,))


def role_of(home: AgentRuntime, who: str) -> str:
    return home.app.people.find_role(event("hi", session=who, sender=who))


def let_in(home: AgentRuntime, who: str) -> None:
    say(home, OWNER, f"/pair {code_of(home, who)}")
    assert role_of(home, who) == "member"


def link(home: AgentRuntime, who: str, new: str) -> list[str]:
    """Link a new id of somebody who is in, with what it takes, and return the last replies."""
    asked = say(home, who, f"/pair {code_of(home, new)} me")
    confirmation = CONFIRM.search(" ".join(asked))
    if confirmation:
        return say(home, who, f"/pair confirm {confirmation[1]}")
    first = home.app.people.find_first(who)
    return say(home, OWNER, f"/pair accept {new} as {first}")


def test_a_members_other_id_waits_for_an_owner_who_is_told_what_it_would_be(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    let_in(home, BOB)
    told = say(home, BOB, f"/pair {code_of(home, NEW)} ME")

    assert role_of(home, NEW) == "guest"
    to_owner, to_bob = sorted(told)
    assert to_owner.startswith(f"{OWNER} `{BOB}` (`Ada`) says that `{NEW}` (`Ada`) is their own id")
    assert "may do what a member may" in to_owner
    assert f"`/pair accept {NEW} as {BOB}`" in to_owner
    assert to_bob.startswith(f"{BOB} `{NEW}` (`Ada`) waits for my owner")
    assert f"- `{NEW}` (`Ada`) to `{BOB}`, a member" in say(home, OWNER, "/pair")[0]

    welcome, to_owner, to_bob = sorted(say(home, OWNER, f"/pair accept {NEW} as {BOB}"))

    assert welcome.startswith(f"{NEW} You are the same person as `{BOB}`")
    assert to_owner.startswith(f"{OWNER} `{NEW}` (`Ada`) is the same as `{BOB}` to me now")
    assert to_bob.startswith(f"{BOB} `{NEW}` (`Ada`) is you now")
    assert f"You are `{NEW}`: member" in say(home, NEW, "/whoami")[0]
    listed = say(home, OWNER, "/pair")[0]
    assert f"- `{NEW}` (`Ada`), the same as `{BOB}`, member since" in listed
    assert "Waiting to be linked" not in listed
    # what they say on one platform, they have not said on the other
    model.then(model_says("noted"), model_says("which word?"))
    say(home, BOB, "the word is ferret")
    say(home, NEW, "what is the word?")
    assert "ferret" not in str(model.chats[1]["messages"])


def test_an_owner_refuses_a_members_link_and_is_not_asked_for_it_again(home: AgentRuntime) -> None:
    let_in(home, BOB)
    say(home, BOB, f"/pair {code_of(home, NEW)} me")
    second = f"/pair {code_of(home, NEW)} me"
    (again,) = say(home, BOB, second)
    assert again.startswith(f"{BOB} An owner was asked about {NEW} within the day")

    to_owner, to_bob = sorted(say(home, OWNER, f"/pair refuse {NEW} as {BOB}"))

    assert to_bob.startswith(f"{BOB} My owner does not link `{NEW}`")
    assert "stays a stranger" in to_owner
    assert "decided before" in say(home, OWNER, f"/pair accept {NEW} as {BOB}")[0]
    assert f"was asked about {NEW} within the day" in say(home, BOB, second)[0]
    assert role_of(home, NEW) == "guest"


def test_nobody_but_an_owner_accepts_a_link(home: AgentRuntime) -> None:
    let_in(home, BOB)
    say(home, BOB, f"/pair {code_of(home, NEW)} me")
    for who in (BOB, NEW, "telegram:77"):
        said = say(home, who, f"/pair accept {NEW} as {BOB}")
        assert not any("may do" in each for each in said)
    assert role_of(home, NEW) == "guest"
    assert "nobody asks that" in say(home, OWNER, f"/pair accept {NEW} as {OWNER}")[0].lower()


def test_a_members_link_that_nobody_answers_is_over_after_a_day(home: AgentRuntime) -> None:
    wall = Wall()
    home = wall.on(home)
    let_in(home, BOB)
    say(home, BOB, f"/pair {code_of(home, NEW)} me")
    wall.now += OPEN_SECONDS + 1
    assert "Waiting to be linked" not in say(home, OWNER, "/pair")[0]
    assert "nobody asks that" in say(home, OWNER, f"/pair accept {NEW} as {BOB}")[0].lower()
    assert role_of(home, NEW) == "guest"


def test_an_owners_other_id_takes_a_second_code_that_only_the_owner_was_told(
    home: AgentRuntime,
) -> None:
    (asked,) = say(home, OWNER, f"/pair {code_of(home, NEW)} me")

    assert f"`{NEW}` (`Ada`) would be you, and so **my owner**" in asked
    for pasted in (f"accept {NEW} as {OWNER}", "confirm", f"confirm {NEW}", "confirm 0000-0000"):
        say(home, OWNER, f"/pair {pasted}")
        assert role_of(home, NEW) == "guest"
    code = CONFIRM.search(asked)
    assert code
    let_in(home, BOB)
    say(home, BOB, f"/pair confirm {code[1]}")
    assert role_of(home, NEW) == "guest"

    said = say(home, OWNER, f"/pair confirm {code[1]}", session="telegram:-100", private=False)
    assert "private chat" in said[0]
    welcome, told = sorted(say(home, OWNER, f"/pair confirm {code[1]}"))

    assert welcome.startswith(f"{NEW} You are the same person as `{OWNER}`")
    assert told.startswith(f"{OWNER} `{NEW}` (`Ada`) is you now")
    assert role_of(home, NEW) == "owner"


def test_a_second_account_of_the_same_platform_is_somebody_else(home: AgentRuntime) -> None:
    let_in(home, BOB)
    link(home, BOB, NEW)
    for who, new in (
        (OWNER, "telegram:67"),
        (OWNER, "telegram-shop:67"),
        (BOB, "telegram:67"),
        (BOB, "slack:T1.U2"),
        (BOB, "slack-work:T1.U2"),
        (NEW, "telegram:67"),
    ):
        code = code_of(home, new)
        said = say(home, who, f"/pair {code} me")
        assert "their platform is the same; an owner lets them in" in said[0]
        assert f" {new} and " in said[0], "an id keeps its letters"
        assert role_of(home, new) == "guest"
        # the code was not used, and lets them in as somebody of their own
        assert say(home, OWNER, f"/pair {code}")[-1].endswith("may talk to me now.")
        say(home, OWNER, f"/pair remove {new}")


def test_another_workspace_or_bot_of_an_organization_counts_as_another_platform(
    home: AgentRuntime,
) -> None:
    let_in(home, BOB)
    for new in (NEW, "slack:T2.U9", "dingtalk:a", "dingtalk-two:a"):
        link(home, BOB, new)
        assert role_of(home, new) == "member"


def test_the_same_account_that_another_bot_knows_is_the_same_person(home: AgentRuntime) -> None:
    let_in(home, BOB)
    link(home, BOB, "telegram-shop:66")
    assert role_of(home, "telegram-shop:66") == "member"


def test_the_second_id_has_no_more_rights_than_the_first_has_now(home: AgentRuntime) -> None:
    let_in(home, BOB)
    link(home, BOB, NEW)
    assert role_of(home, NEW) == "member"
    # whoever sends a code from the second id is the first one: there are no chains
    link(home, NEW, OTHER)
    people = {person.id: person.same for person in home.app.people.list_members()}
    assert people == {BOB: "", NEW: BOB, OTHER: BOB}

    removed = say(home, OWNER, f"/pair remove {BOB}")

    assert "is a guest again" in removed[0]
    assert [role_of(home, who) for who in (BOB, NEW, OTHER)] == ["guest"] * 3
    # the ids do not come back with the first one
    let_in(home, BOB)
    assert [role_of(home, who) for who in (NEW, OTHER)] == ["guest"] * 2


def test_what_was_accepted_as_a_members_id_does_not_become_an_owners(
    runtime: Callable[..., AgentRuntime], home: AgentRuntime
) -> None:
    let_in(home, BOB)
    link(home, BOB, NEW)
    promoted = runtime(owners=(OWNER, BOB))
    assert [role_of(promoted, who) for who in (BOB, NEW)] == ["owner", "member"]
    assert not promoted.app.people.is_owner(NEW)


def test_a_link_of_an_older_version_is_still_read(home: AgentRuntime) -> None:
    record = {"id": NEW, "role": "guest", "name": "Ada", "at": 1.0, "by": OWNER, "same": OWNER}
    home.app.kv.put(keys.person("main", NEW), orjson.dumps(record))
    assert role_of(home, NEW) == "owner"


def test_a_link_that_a_crash_interrupts_is_asked_and_accepted_once(
    home: AgentRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_in(home, BOB)
    asked = event(f"/pair {code_of(home, NEW)} me", session=BOB, sender=BOB)
    accepted = event(f"/pair accept {NEW} as {BOB}", session=OWNER, sender=OWNER)
    for happened, said in ((asked, "waits for my owner"), (accepted, "is the same as")):
        crash_at("close_turn", home, happened, monkeypatch)
        replies = [reply.text for reply in run_event(home, happened).document.outbox]
        assert sum(said in text for text in replies) == 1
    assert role_of(home, NEW) == "member"


def test_a_request_is_erased_with_either_of_the_two_ids(home: AgentRuntime) -> None:
    for who in (BOB, NEW):
        home.app.people.let_in(BOB, "member", "Bob", OWNER)
        say(home, BOB, f"/pair {code_of(home, NEW)} me")
        key = keys.link_request("main", BOB, NEW)
        assert home.app.kv.get(key)
        personal = PersonalData(home.app, home.stores.artifacts)
        personal.erase(personal.find(who))
        assert home.app.kv.get(key) is None


def test_whoever_asked_and_was_taken_out_is_linked_no_more(home: AgentRuntime) -> None:
    let_in(home, BOB)
    say(home, BOB, f"/pair {code_of(home, NEW)} me")
    say(home, OWNER, f"/pair remove {BOB}")
    assert "is a guest" in say(home, OWNER, f"/pair accept {NEW} as {BOB}")[0]
    assert role_of(home, NEW) == "guest"


def test_a_link_to_somebody_who_is_no_longer_in_gives_nothing(home: AgentRuntime) -> None:
    link(home, OWNER, NEW)
    people = home.app.people
    assert people.is_owner(NEW)
    # an earlier version, which knows of no link, reads a guest's record
    item = home.app.kv.get(keys.person("main", NEW))
    assert item is not None
    assert b'"role":"guest"' in item.value
    people.link(BOB, "Bob", NEW, OWNER, "owner")
    assert role_of(home, BOB) == "guest"
    people.link(NEW, "Ada", BOB, OWNER, "owner")
    assert [role_of(home, who) for who in (NEW, BOB)] == ["guest", "guest"]


def test_guests_link_nobody_and_a_code_is_used_once(home: AgentRuntime) -> None:
    code = code_of(home, NEW)
    let_in(home, BOB)
    say(home, OTHER, f"/pair {code} me")
    assert role_of(home, NEW) == "guest"
    say(home, OWNER, f"/pair {code} me")
    again = say(home, BOB, f"/pair {code} me")
    assert "that code was used" in again[0].lower()


def test_a_person_has_so_many_further_ids_and_no_more(home: AgentRuntime) -> None:
    for number in range(LINKS_MOST):
        link(home, OWNER, f"slack:T{number}.U1")
    full = say(home, OWNER, f"/pair {code_of(home, OTHER)} me")
    assert f"has {LINKS_MOST} further ids" in full[0]
    assert role_of(home, OTHER) == "guest"
    say(home, OWNER, "/pair remove slack:T0.U1")
    assert role_of(home, "slack:T0.U1") == "guest"


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
    assert "is an owner, and so would be" in pair(code, "--same-as", OWNER)[1]
    assert "their platform is the same" in pair(code_of(home), "--same-as", OWNER, "--yes")[1]
    assert role_of(home, NEW) == "guest"
    assert pair(code, "--same-as", OWNER, "--yes")[0] == 0
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
    link(home, BOB, NEW)
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

    link(home, BOB, NEW)
    say(home, NEW, "2+2?")
    personal = PersonalData(home.app, home.stores.artifacts)
    personal.erase(personal.find(NEW))
    assert role_of(home, NEW) == "guest"
    assert "2 of 2 turns" in say(home, BOB, "/whoami")[-1]

    link(home, BOB, OTHER)
    personal.erase(personal.find(BOB))
    assert [role_of(home, who) for who in (BOB, OTHER)] == ["guest", "guest"]
    assert "0 of 2 turns" in allowances.describe_usage(BOB, "member")
