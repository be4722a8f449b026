"""The daily limits of a person hold, seen from outside."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from functions import worker
from functions.agent.access.roles import Rules
from functions.agent.commands.command import CommandCall, CommandResult
from functions.agent.conversation.messages import ERASED, Usage
from functions.events import Event, Sender, order_of
from functions.settings import Settings
from functions.time.time_zone import DAY_SECONDS
from functions.wiring import AgentRuntime
from sigil.errors import UsageError
from sigil.protocol import Json
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel
from tests.fakes.model import call as model_calls
from tests.fakes.model import say as model_says
from tests.functions.agent.access.people import OWNER, Wall, crash_at
from tests.functions.agent.access.people import say as said
from tests.functions.agent.memory.memories import saves
from tests.functions.agent.talk import event, run_event
from tests.functions.queues.workers import process_all

Open = Callable[..., AgentRuntime]
GUEST = "telegram:66"
NOON = 1_800_000_000.0 // DAY_SECONDS * DAY_SECONDS + DAY_SECONDS / 2


@pytest.fixture
def wall() -> Wall:
    return Wall(NOON)


@pytest.fixture
def opened(runtime: Open, model: ScriptedModel, wall: Wall) -> Open:
    def made(**settings: Any) -> AgentRuntime:
        return wall.on(
            runtime(
                **{
                    "llm_url": model.url,
                    "access": "open",
                    "owners": (OWNER,),
                    "guest_turns": 3,
                    **settings,
                }
            )
        )

    return made


def test_a_guest_has_so_many_turns_a_day_is_told_once_and_begins_anew_at_midnight(
    opened: Open, model: ScriptedModel, wall: Wall
) -> None:
    home = opened()
    assert [said(home, GUEST, "hi") for _ in range(3)] == [[f"{GUEST} done"]] * 3
    assert said(home, GUEST, "hi") == [
        f"{GUEST} You have used your 3 turns for today."
        " The count starts again at 00:00 UTC, in 12 h 0 min."
    ]
    assert [
        said(home, GUEST, "hi"),
        said(home, GUEST, "hi", session="telegram:-5", private=False),
    ] == [[], []]
    assert len(model.bodies) == 3
    assert said(home, "telegram:67", "hi") == ["telegram:67 done"]
    assert "/new" in said(home, GUEST, "/help")[0]
    wall.now += DAY_SECONDS / 2
    assert said(home, GUEST, "hi") == [f"{GUEST} done"]


def test_turns_in_all_chats_count_together_and_owners_have_no_limit(opened: Open) -> None:
    home = opened()
    answers = [
        said(home, GUEST, "hi", session=f"telegram:-{number}", private=False)
        for number in range(1, 5)
    ]
    assert ["done" in lines[0] for lines in answers] == [True] * 3 + [False]
    assert [said(home, OWNER, "hi") for _ in range(5)] == [[f"{OWNER} done"]] * 5


def test_tokens_count_when_a_turn_ends(opened: Open, model: ScriptedModel) -> None:
    home = opened(guest_turns=0, guest_tokens=100)
    assert said(home, GUEST, "hi") == [f"{GUEST} done"]
    assert "your 100 tokens for today" in said(home, GUEST, "hi")[0]
    assert len(model.bodies) == 1


def test_a_turn_that_has_used_them_up_asks_for_nothing_more(
    opened: Open, model: ScriptedModel
) -> None:
    home = opened(guest_turns=0, guest_tokens=1_000)
    greedy = model_calls(("sigil_query", {"query": "tea"})) | {
        "usage": {"prompt_tokens": 490, "completion_tokens": 10}
    }
    model.then(*[greedy] * 4)

    (answer,) = said(home, GUEST, "hi")
    assert answer.startswith(f"{GUEST} You have used your 1,000 tokens for today.")
    assert len(model.bodies) == 2
    assert (
        home.app.make_allowances("UTC")
        .describe_usage(GUEST, "guest")
        .startswith("Used today: 1,000 of 1,000 tokens.")
    )
    assert said(home, OWNER, "hi") != []


def test_what_memory_hears_after_a_reply_is_a_cost_of_whom_it_was_for(
    opened: Open, model: ScriptedModel
) -> None:
    home = opened(guest_turns=0, guest_tokens=100_000)
    cheap = model_says("hi") | {"usage": {"prompt_tokens": 10, "completion_tokens": 0}}
    heard = saves() | {"usage": {"prompt_tokens": 3_000, "completion_tokens": 0}}
    model.then(*[cheap] * 22, heard)
    for _ in range(22):
        home.queue.put(event("hi", session=GUEST, sender=GUEST))
        process_all(home)
    assert len(model.bodies) == 23
    assert (
        home.app.make_allowances("UTC")
        .describe_usage(GUEST, "guest")
        .startswith("Used today: 3,220 of 100,000 tokens.")
    )


def test_what_memory_hears_again_costs_again(opened: Open, model: ScriptedModel) -> None:
    home = opened(guest_turns=0, guest_tokens=100_000)
    sessions = home.app.sessions
    session = keys.session_of("main", GUEST)
    cheap = model_says("hi") | {"usage": {"prompt_tokens": 10, "completion_tokens": 0}}
    heard = saves() | {"usage": {"prompt_tokens": 3_000, "completion_tokens": 0}}

    def changed(body: dict[str, Any]) -> dict[str, Any]:
        first = sessions.open(session).document.unheard[0]
        sessions.rewrite_archived(session, first, lambda each: replace(each, content=ERASED))
        return heard

    model.then(*[cheap] * 22, changed, heard)
    for _ in range(22):
        home.queue.put(event("hi", session=GUEST, sender=GUEST))
        last = process_all(home)[-1]
    assert last.event.is_consolidation
    worker.process(last, home)
    assert len(model.bodies) == 24
    used = home.app.make_allowances("UTC").describe_usage(GUEST, "guest")
    assert used.startswith("Used today: 6,220 of 100,000 tokens.")


def test_what_a_turn_that_never_ended_has_cost_counts(
    opened: Open, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = opened(guest_turns=0, guest_tokens=1_000)
    greedy = model_calls(("sigil_query", {"query": "tea"})) | {
        "usage": {"prompt_tokens": 2_000, "completion_tokens": 10}
    }
    model.then(greedy)

    crash_at("close_turn", home, event("hi", session=GUEST, sender=GUEST), monkeypatch)
    assert (
        "your 1,000 tokens for today"
        in said(home, GUEST, "hi", session="telegram:-5", private=False)[0]
    )
    assert len(model.bodies) == 1


def test_what_was_spent_is_never_given_back(opened: Open) -> None:
    home = opened(guest_turns=0, guest_tokens=1_000)
    happened = event("hi", sender=GUEST)
    for cost in (900, 300, 950):
        home.app.make_allowances("UTC").record_tokens(happened, "guest", cost, NOON)
    assert (
        home.app.make_allowances("UTC")
        .describe_usage(GUEST, "guest")
        .startswith("Used today: 950 of 1,000 tokens.")
    )


def test_a_guest_who_was_let_in_has_a_members_allowance_and_is_told_of_both(opened: Open) -> None:
    home = opened(guest_turns=1, member_turns=2)
    said(home, GUEST, "hi")
    assert "your 1 turn " in said(home, GUEST, "hi")[0]
    home.app.people.let_in(GUEST, "member", "Ada", OWNER)
    assert said(home, GUEST, "hi") == [f"{GUEST} done"]
    assert "your 2 turns" in said(home, GUEST, "hi")[0]
    assert said(home, GUEST, "hi") == []


def test_whoami_tells_what_is_left(opened: Open) -> None:
    home = opened(guest_tokens=20_000)
    said(home, GUEST, "hi")
    used = home.app.sessions.open(keys.session_of("main", GUEST)).document.usage.total
    assert said(home, GUEST, "/whoami") == [
        f"{GUEST} You are `{GUEST}`: guest.\nThis chat is `{GUEST}`.\nUsed today: 1 of 3 turns,"
        f" {used:,} of 20,000 tokens. The count starts again at 00:00 UTC, in 12 h 0 min."
    ]
    assert said(home, OWNER, "/whoami") == [
        f"{OWNER} You are `{OWNER}`: owner.\nThis chat is `{OWNER}`."
    ]


def test_turns_that_begin_at_once_are_counted_each(opened: Open) -> None:
    home = opened(guest_turns=5)
    with ThreadPoolExecutor(6) as pool:
        lines = list(
            pool.map(
                lambda number: said(
                    home, GUEST, "hi", session=f"telegram:-{number}", private=False
                ),
                range(1, 13),
            )
        )
    assert sum("done" in line[0] for line in lines if line) == 5
    assert sum("for today" in line[0] for line in lines if line) == 1


def test_a_turn_that_comes_again_counts_once(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    home = opened(guest_tokens=20_000)
    happened = event("hi", session=GUEST, sender=GUEST)

    for place in ("_save_open_turn", "close_turn"):
        crash_at(place, home, happened, monkeypatch)
    assert run_event(home, happened).document.outbox
    used = home.app.sessions.open(keys.session_of("main", GUEST)).document.usage.total
    assert (
        home.app.make_allowances("UTC")
        .describe_usage(GUEST, "guest")
        .startswith(f"Used today: 1 of 3 turns, {used:,} of 20,000 tokens.")
    )


@pytest.mark.parametrize(
    "damaged", [b'{"turns": -1}', b'{"told": 5}', b'{"tokens": "1"}', b"[]", b""]
)
def test_a_record_that_cannot_be_read_counts_as_all_used(
    opened: Open, model: ScriptedModel, damaged: bytes
) -> None:
    home = opened()
    home.app.kv.put(keys.daily_allowance("main", "2027-01-15", GUEST), damaged)
    assert "3 turns for today" in said(home, GUEST, "hi")[0]
    assert said(home, GUEST, "hi") == []
    assert not model.bodies


def test_a_command_that_asks_the_model_is_a_turn(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    from functions.agent.commands import table

    home = opened(guest_turns=1)
    asking = replace(table.COMMANDS["help"], asks_model=True)
    monkeypatch.setattr(table, "COMMANDS", {**table.COMMANDS, "help": asking})
    assert "/new" in said(home, GUEST, "/help")[0]
    assert "your 1 turn " in said(home, GUEST, "/help")[0]
    assert said(home, GUEST, "/help") == []


def test_taking_into_memory_is_a_turn(opened: Open, model: ScriptedModel) -> None:
    home = opened(guest_turns=1)
    assert said(home, GUEST, "/mem I like tea")
    assert "your 1 turn " in said(home, GUEST, "/mem I like cake")[0]
    assert not any("cake" in str(body) for body in model.bodies)


def test_a_command_that_stores_something_is_a_turn_and_one_that_shows_something_is_none(
    opened: Open,
) -> None:
    home = opened(guest_turns=2, member_turns=2)
    home.app.people.let_in("telegram:7", "member", "Ben", OWNER)
    for who, other in ((GUEST, "/remind in 3 hours call Bob"), ("telegram:7", "/tasks add a pump")):
        assert "call Eve" in said(home, who, "/remind in 2 hours call Eve")[0]
        for shows in ("/wakeups", "/tasks", "/remind"):
            assert "used your" not in said(home, who, shows)[0]
        said(home, who, other)
        assert "You have used your 2 turns" in said(home, who, "/remind in 4 hours call Ann")[0]
        assert said(home, who, "/remind in 4 hours call Ann") == []
        assert "Dropped" in said(home, who, "/wakeups drop 1")[0]
    for number in range(3):
        assert "call" in said(home, OWNER, f"/remind in {number + 2} hours call {number}")[0]


def test_what_a_command_costs_is_counted_with_it(
    opened: Open, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from functions.agent.commands import table

    home = opened(guest_turns=0, guest_tokens=10)
    costly = replace(table.COMMANDS["help"], asks_model=True, run=_costly)
    monkeypatch.setattr(table, "COMMANDS", {**table.COMMANDS, "help": costly})
    assert said(home, GUEST, "/help") == [f"{GUEST} done"]
    assert "your 10 tokens" in said(home, GUEST, "hi")[0]


def _costly(asked: CommandCall) -> CommandResult:
    return CommandResult(
        "done", replace(asked.document, usage=asked.document.usage + Usage(prompt=8, completion=2))
    )


def test_a_turn_counts_on_the_day_on_which_it_began(
    opened: Open, wall: Wall, model: ScriptedModel
) -> None:
    home = opened(guest_turns=0, guest_tokens=100)

    def over_midnight(body: dict[str, Any]) -> dict[str, Any]:
        wall.now += DAY_SECONDS / 2
        return model_says("late")

    model.then(over_midnight)
    assert said(home, GUEST, "hi") == [f"{GUEST} late"]
    assert said(home, GUEST, "hi") == [f"{GUEST} done"]


def test_without_limits_nothing_is_kept(opened: Open) -> None:
    home = opened(guest_turns=0, guest_tokens=0)
    said(home, GUEST, "hi")
    assert home.app.kv.scan(keys.daily_allowance("main", "", "").partition) == []
    assert said(home, GUEST, "/whoami")[0].endswith(f"This chat is `{GUEST}`.")


def test_the_defaults_and_what_is_no_number() -> None:
    settings = Settings()
    assert (
        settings.member_turns,
        settings.member_tokens,
        settings.guest_turns,
        settings.guest_tokens,
    ) == (200, 0, 20, 20_000)
    with pytest.raises(UsageError, match="UNCAGED_GUEST_TURNS"):
        Settings(guest_turns=-1)
    assert Rules().get_allowance("owner") == Rules().get_allowance("guest")


def test_the_offline_models_tokens_cost_nobody_anything(runtime: Open) -> None:
    rules = runtime(access="open").app.rules
    assert (rules.guest.turns, rules.guest.tokens) == (20, 0)


def test_what_owners_want_done_has_no_limit_and_what_members_and_hooks_want_has_theirs(
    opened: Open, model: ScriptedModel
) -> None:
    home = opened(member_turns=1)
    home.app.people.let_in("telegram:7", "owner", "Ada", OWNER)
    home.app.people.let_in("telegram:8", "member", "Bob", OWNER)

    def count_requests(by: str, **data: Json) -> int:
        before = len(model.bodies)
        for number in range(3):
            name = f"{by}:{len(data)}:{number}"
            work = Event(
                f"wakeup:main:{name}", "wakeup", "main", f"own:w-{name}", Sender("runtime"),
                "look after things", NOON, order_of(NOON, number),
                private=True, by=by, data={"home": by, **data},
            )  # fmt: skip
            home.queue.put(work)
        process_all(home)
        return len(model.bodies) - before

    assert [count_requests(by) for by in (OWNER, "telegram:7", "telegram:8")] == [3, 3, 1]
    assert count_requests(OWNER, hook="door") == 1
