"""A day's budget from outside: what counts, who hears that it is nearly used, and what it cost."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from functions.agent.safety.session_usage import DIGITS
from functions.prices import CACHED_SHARES
from functions.settings import Settings
from functions.time.clock import Clock
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.access.people import Wall, opened
from tests.functions.agent.talk import event, run_event, tell

__all__ = ["opened"]
Open = Callable[..., AgentRuntime]
OWNER = "telegram:1"
MORNING = 1_800_000_000.0 // 86_400 * 86_400 + 6 * 3_600
NEARLY = "of my budget of tokens is used"
SESSION = keys.session_of("main", "telegram:7")


def used(prompt: object, completion: object = 0, **more: Any) -> dict[str, Any]:
    """What a provider counted."""
    return {"usage": {"prompt_tokens": prompt, "completion_tokens": completion, **more}}


@pytest.fixture
def wall() -> Wall:
    return Wall(MORNING)


def ask(home: AgentRuntime, text: str = "hi", who: str = OWNER, **fields: Any) -> str:
    (said,) = tell(home, text, **{"session": who, "sender": who, **fields})
    return said


def test_a_busy_day_fits(opened: Open, model: ScriptedModel) -> None:
    assert Settings().tokens_per_day == 1_500_000
    home = opened()
    model.then(*[say("fine") | used(6_500, 200)] * 300)
    assert all(ask(home).startswith("fine") for _ in range(200))


def test_the_offline_models_tokens_do_not_count_for_a_model_that_is_connected_later(
    opened: Open, model: ScriptedModel
) -> None:
    offline = opened(llm_url="")
    ask(offline, "what is 2+2")
    assert re.fullmatch(
        r"In this chat: [\d,]+ tokens of prompts, \d+ of answers", ask(offline, "/usage")
    )
    assert "Tokens in" not in ask(offline, "/status all")

    home = opened()
    assert " 0 tokens in this chat, 0 of 1,500,000 in all of them" in ask(home, "/usage")
    model.then(say("real") | used(100, 10))
    ask(home)
    assert " 110 tokens in this chat, 110 of 1,500,000 in all of them" in ask(home, "/usage")

    limited = opened(llm_url="", session_tokens=1_000)
    ask(limited, "what is 2+2")
    assert "Left: 0 tokens." in ask(limited, "/usage")


def test_cached_tokens_count_as_they_are_billed(opened: Open, model: ScriptedModel) -> None:
    home = opened(llm_prices="2,0.5,8", tokens_per_day=10_000)
    model.then(say("warm") | used(8_000, 100, prompt_tokens_details={"cached_tokens": 6_000}))
    ask(home)

    assert "3,600 tokens in this chat, 3,600 of 10,000 in all of them" in ask(home, "/usage")
    assert "8,000 tokens of prompts (75% of them from the cache), 100 of answers" in ask(
        home, "/usage"
    )


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens_details": {"cached_tokens": 6_000}},
        {"prompt_cache_hit_tokens": 6_000, "prompt_cache_miss_tokens": 2_000},
        {"cache_read_input_tokens": 6_000},
        {"prompt_tokens_details": {"cached_tokens": 0}, "prompt_cache_hit_tokens": 6_000},
    ],
)
def test_every_providers_word_for_cached_is_known(
    opened: Open, model: ScriptedModel, usage: dict[str, Any]
) -> None:
    home = opened(llm_prices="2,0.5,8")
    model.then(say("warm") | used(8_000, 100, **usage))
    ask(home)
    assert "3,600 tokens in this chat" in ask(home, "/usage")


def test_a_provider_whose_documentation_says_it_needs_no_prices(
    opened: Open, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CACHED_SHARES, "127.0.0.1", 0.2)  # type: ignore[arg-type]
    home = opened()
    model.then(say("warm") | used(8_000, 100, prompt_tokens_details={"cached_tokens": 6_000}))
    ask(home)
    assert "3,300 tokens in this chat" in ask(home, "/usage")
    item = home.stores.kv.get(keys.session_head(keys.session_of("main", OWNER)))
    assert item
    # version 0.1.0 reads the chat of whoever sets nothing new
    assert not [name for name in (b"saved", b"cost", b"warned", b"zone") if name in item.value]


def test_where_nobody_knows_the_price_a_cached_token_counts_whole(
    opened: Open, model: ScriptedModel
) -> None:
    home = opened()
    model.then(say("warm") | used(8_000, 100, prompt_tokens_details={"cached_tokens": 6_000}))
    ask(home)
    usage = ask(home, "/usage")
    assert "8,100 tokens in this chat" in usage
    assert "$" not in usage


def test_prices_tell_what_it_costs(opened: Open, model: ScriptedModel) -> None:
    home = opened(llm_prices="2,0.5,8")
    model.then(say("warm") | used(8_000, 100, prompt_tokens_details={"cached_tokens": 6_000}))
    ask(home)
    model.then(say("elsewhere") | used(1_000_000, 0))
    ask(home, who="telegram:2")

    here, everywhere, left = ask(home, "/usage").split("\n")
    assert here.endswith("100 of answers, $0.0078")
    assert everywhere.endswith("in all of them, $2.01")
    assert left == "Left: 496,400 tokens. The budget starts again at 00:00 UTC."
    assert "100 of answers, $0.0078" in ask(home, "/status all")
    assert "$" not in ask(home, "/usage", who="telegram:2")


def test_another_currency_is_named(opened: Open, model: ScriptedModel) -> None:
    home = opened(llm_prices="2,0.5,8 CNY")
    model.then(say("warm") | used(1_000_000, 0, cost=7))
    ask(home)
    assert ", 2.00 CNY" in ask(home, "/usage")


def test_the_providers_own_figure_is_told(opened: Open, model: ScriptedModel) -> None:
    home = opened()
    model.then(
        call(("sigil_query", {"query": "tea"})) | used(900, 10, cost=0.0012),
        say("none") | used(1_000, 10, cost=0.0013),
    )
    ask(home)
    usage = ask(home, "/usage")
    assert usage.count("$0.0025") == 2


def test_a_model_without_a_price_costs_nothing_that_is_told(
    opened: Open, model: ScriptedModel
) -> None:
    home = opened(llm_prices="2,0.5,8; big=20,5,80")
    model.then(say("yes") | used(0, 0))
    ask(home, "/model big")
    model.then(say("dear") | used(1_000, 0))
    ask(home)
    assert ", $0.02" in ask(home, "/usage")
    model.then(say("yes") | used(0, 0))
    ask(home, "/model other")
    model.then(say("unknown") | used(1_000, 0, prompt_tokens_details={"cached_tokens": 1_000}))
    ask(home)
    assert ", $0.02" in ask(home, "/usage")


@pytest.mark.parametrize(
    ("prices", "cost"), [("2,0.5,8", ""), ("2,0.5,8; small=1,0.5,4", ", $1.00")]
)
def test_a_second_model_has_a_price_of_its_own(
    opened: Open, model: ScriptedModel, prices: str, cost: str
) -> None:
    home = opened(
        llm_prices=prices,
        llm_fallback_url=model.url,
        llm_fallback_model="small",
        llm_url="http://127.0.0.1:1",
    )
    model.then(say("instead") | used(1_000_000))
    ask(home)
    assert ask(home, "/usage").split("\n")[0].endswith(f" of answers{cost}")


def test_nearly_used_is_told_once_a_day_in_each_chat_below_the_answer(
    opened: Open, model: ScriptedModel, wall: Wall
) -> None:
    home = opened(tokens_per_day=10_000)
    model.then(say("one") | used(7_900), say("two") | used(200), say("three") | used(100))
    assert ask(home) == "one"
    assert ask(home) == (
        "two\n\n(81% of my budget of tokens is used. It starts again at 00:00 UTC; /usage shows"
        " what is left.)"
    )
    assert ask(home) == "three"
    assert "of my budget" not in str(model.bodies[-1]["messages"])

    model.then(say("elsewhere") | used(100))
    home.app.people.let_in("telegram:5", "member", "Bob", OWNER)
    assert NEARLY in ask(home, who="telegram:5")
    model.then(say("a guest") | used(100))
    assert ask(home, who="telegram:9") == "a guest"

    wall.now += 86_400
    model.then(say("a new day") | used(8_500), say("again") | used(1))
    assert ask(home).startswith("a new day\n\n(85% ")
    assert ask(home) == "again"


def test_nearly_used_is_told_in_the_language_of_the_chat(
    opened: Open, model: ScriptedModel
) -> None:
    home = opened(tokens_per_day=10_000)
    model.then(say("好的") | used(9_000))
    assert "我的 token 预算已用 90%" in ask(home, "今天怎么样？")


def test_a_chats_own_budget_is_told_too(opened: Open, model: ScriptedModel) -> None:
    home = opened(session_tokens=1_000)
    model.then(say("one") | used(850))
    assert "(85% of this chat's budget of tokens is used." in ask(home)
    assert "Left: 150 tokens." in ask(home, "/usage")


def test_scheduled_work_and_what_was_spent_all_at_once(opened: Open, model: ScriptedModel) -> None:
    home = opened(tokens_per_day=1_000)
    model.then(say("dear") | used(900))
    happened = replace(event("go", session=OWNER, sender=OWNER), kind="task")
    (said,) = run_event(home, happened).document.outbox
    assert said.text == "dear"
    model.then(say("dearer") | used(5_000))
    assert ask(home).startswith("dearer\n\n(100% of my budget")


def test_a_used_up_budget_says_when_it_goes_on(opened: Open, model: ScriptedModel) -> None:
    home = opened(tokens_per_day=1_000)
    model.then(say("dear") | used(1_000))
    ask(home)
    assert ask(home) == (
        "My budget of tokens is used up, so I have stopped. The budget starts again at 00:00 UTC."
        " You can unlock me: `/unlock` here, or `uncaged unlock` on my machine."
    )
    assert "The budget starts again at 00:00 UTC." in ask(home, "/status all")
    assert "Left: 0 tokens." in ask(home, "/usage")


@pytest.mark.parametrize(
    ("seconds", "when"),
    [(3_600, "07:00 UTC"), (7 * 86_400, "2027-01-21 00:00 UTC")],
)
def test_other_periods_say_it_too(
    opened: Open, model: ScriptedModel, seconds: int, when: str
) -> None:
    home = opened(tokens_per_day=1_000, tokens_period=seconds)
    model.then(say("dear") | used(1_000))
    ask(home)
    assert f"The budget starts again at {when}." in ask(home)


HOSTILE = [-1, -(10**30), 10**9, 10**30, 1.5, float("1e300"), "7", "9" * 400, None, True, [], {}]


@pytest.mark.parametrize("figure", HOSTILE)
def test_hostile_figures_change_nothing_but_an_estimate(
    opened: Open, model: ScriptedModel, figure: object
) -> None:
    home = opened(llm_prices="2,0.5,8")
    usage = {
        "prompt_tokens": figure,
        "completion_tokens": figure,
        "prompt_tokens_details": {"cached_tokens": figure},
        "prompt_cache_hit_tokens": figure,
        "cost": figure,
    }
    model.then(
        say("well") | {"usage": usage},
        say("well") | used(100, figure, cost=figure, prompt_cache_hit_tokens=figure),
        say("well") | used(100, 1, cost=figure, prompt_tokens_details=figure),
    )
    assert [ask(home) for _ in range(3)] == ["well"] * 3
    document = home.app.sessions.open(keys.session_of("main", OWNER)).document
    assert 0 < document.safety.spent < 20_000
    assert document.usage.total < 20_000
    assert 0.0 <= document.usage.cost < 1.0


def test_more_cached_than_sent_is_no_credit(opened: Open, model: ScriptedModel) -> None:
    home = opened(llm_prices="2,0.5,8")
    model.then(say("odd") | used(100, 10, prompt_cache_hit_tokens=900_000))
    ask(home)
    assert "35 tokens in this chat" in ask(home, "/usage")


def test_a_provider_that_lies_for_years_leaves_the_chat_readable(
    opened: Open, model: ScriptedModel
) -> None:
    home = opened(tokens_per_day=0)
    opened_session = home.app.sessions.open(keys.session_of("main", OWNER))
    usage = replace(opened_session.document.usage, prompt=10**12 - 5, cost=float(10**12 - 1))
    home.app.sessions.save(opened_session, replace(opened_session.document, usage=usage))
    model.then(say("huge") | used(10**9 - 1, 10**9 - 1, cost=9_999))
    assert ask(home) == "huge"
    assert ask(home, "again") == "done"
    assert len(str(home.app.sessions.open(opened_session.key).document.usage.prompt)) < DIGITS


def test_the_sum_of_the_money_survives_a_new_sum_of_the_tokens_and_an_unlock(
    opened: Open, model: ScriptedModel, wall: Wall
) -> None:
    home = opened(llm_prices="2,0.5,8", tokens_per_day=1_000_000)
    model.then(say("one") | used(500_000))
    ask(home)
    wall.now += 2 * 3_600
    model.then(say("two") | used(500_000))
    ask(home)
    assert ", $2.00" in ask(home, "/usage").split("\n")[1]
    ask(home, "/unlock")
    everywhere = ask(home, "/usage").split("\n")[1]
    assert "; 0 of 1,000,000 are used since an unlock, $2.00" in everywhere


def test_the_clock_of_the_machine_may_be_wrong(opened: Open, model: ScriptedModel) -> None:
    home = opened(tokens_per_day=1_000)
    early = replace(home, app=replace(home.app, clock=Clock(now=lambda: 0.0)))
    model.then(say("dear") | used(1_000))
    tell(early, "hi")
    assert "00:00 UTC" in tell(early, "hi")[0]
