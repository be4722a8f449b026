"""The list of sessions is made from what turns write anyway, and says no more than it may."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest

from functions.agent.commands import control
from functions.agent.conversation.messages import Usage
from functions.agent.ledger.ledger import Ledger
from functions.agent.management import sessions
from functions.agent.runs.run import scan_runs
from functions.agent.safety.budget import SafetyLimits, name_period
from functions.agent.safety.session_usage import read_usage
from functions.wiring import AgentRuntime
from sigil.errors import UsageError
from sigil.storage.kv import Item, keys
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.own_work import work
from tests.functions.agent.talk import run_event, tell
from tests.functions.people import OWNER, Live

Open = Callable[..., AgentRuntime]
SEARCH = ("sigil_query", {"query": "a wish"})


def period() -> str:
    """The name of the day of a budget: a run may begin on one and end on the next."""
    return name_period(time.time(), SafetyLimits())


def _list(home: AgentRuntime, **query: str) -> list[Any]:
    found: Any = sessions.list_sessions(home.app, "", query)
    return list(found["items"])


def _sum(usages: list[Usage]) -> tuple[int, int]:
    return sum(each.prompt for each in usages), sum(each.completion for each in usages)


def test_the_server_the_ledger_the_runs_and_the_sessions_tell_of_the_same_tokens(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, access="open", llm_window=4_000)
    model.aside = say("nothing to keep")
    model.then(call(SEARCH, ("cap_nothing", {})), call(SEARCH), say("found"))
    tell(home, "find me a wish")
    tell(home, "/btw what is a wish?")
    for number in range(20):
        tell(
            home, f"{number} " + "and on it goes " * 120, sender="telegram:8", session="telegram:8"
        )
    model.then(call(("cap_sleep", {})))
    run_event(home, work(1))
    memory = [row for row in scan_runs(home.stores.kv, "main") if row.reason == "memory"]
    tell(home, "good bye", sender="telegram:8", session="telegram:8")  # the ledger hears of memory

    bodies = [request.body for request in model.requests if request.body]
    told = (sum(len(body) // 4 for body in bodies), 10 * len(bodies))
    entries: list[Any] = [dict(row) for _, row in Ledger(home.stores.kv, "main").scan()]
    facts = [row["facts"] for row in entries if row["what"] == "request"]
    in_ledger = (sum(row["prompt"] for row in facts), sum(row["completion"] for row in facts))
    runs = list(scan_runs(home.stores.kv, "main"))
    listed = sessions.scan_sessions(home.app)
    assert memory
    assert in_ledger == told
    assert _sum([run.usage for run in runs]) == told
    assert _sum([each.usage for each in listed]) == told
    assert sum(each.tokens for each in listed) == sum(told)
    assert sum(each.requests for each in listed) == len(bodies)
    assert sum(each.calls for each in listed) == sum(run.calls for run in runs) == 4
    assert sum(each.failed for each in listed) == 1


def test_an_owners_private_chat_has_a_title_and_nobody_elses_words_are_shown(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, access="open", owners=("telegram:1",))
    long = "Plan\x1b[31m the\ntrip \u202e" + "to Rome " * 20
    tell(home, long, session="telegram:1", sender="telegram:1")
    tell(home, "and then?", session="telegram:1", sender="telegram:1")
    tell(home, "my secret", session="telegram:2", sender="telegram:2")
    tell(home, "in a group", session="telegram:-3", sender="telegram:1", private=False)
    run_event(home, replace(work(1), by="telegram:1"))

    rows = {row["session"]: row for row in _list(home)}
    assert set(rows) == {"telegram:1", "telegram:2", "telegram:-3", "own:main"}
    mine = rows["telegram:1"]
    assert mine["title"].startswith("Plan")
    assert "trip" in mine["title"]
    assert len(mine["title"]) == 60
    assert mine["title"].isprintable()
    assert (mine["person"], mine["platform"], mine["turns"]) == ("telegram:1", "telegram", 2)
    assert [rows[name]["title"] for name in rows if name != "telegram:1"] == ["", "", ""]
    assert rows["telegram:2"]["person"] == "telegram:2"
    assert rows["telegram:-3"]["person"] == rows["own:main"]["person"] == ""
    assert rows["own:main"]["platform"] == "own"
    kept = [item.value for _, item in home.stores.kv.scan("usage#main")]
    assert not any(b"my secret" in value or b"in a group" in value for value in kept)


def test_pages_of_sessions_begin_with_the_last_at_work_and_follow_each_other(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, access="open")
    for number in (1, 2, 3, 4, 5, 2):
        tell(home, "hello", session=f"telegram:{number}")
    names = []
    query = {"limit": "2"}
    while True:
        page: Any = sessions.list_sessions(home.app, "main", query)
        names += [row["session"] for row in page["items"]]
        if "next" not in page:
            break
        query["after"] = page["next"]
    assert names == [f"telegram:{number}" for number in (2, 5, 4, 3, 1)]
    assert _list(home, platform="slack") == []
    assert sessions.scan_sessions(home.app, "main.alice") == []
    for bad in ({"limit": "51"}, {"limit": "0"}, {"days": "401"}, {"after": "x"}, {"person": "x"}):
        with pytest.raises(UsageError, match="EINVAL"):
            sessions.list_sessions(home.app, "main", bad)


def test_a_bare_sum_of_version_0_1_0_counts_as_it_did_and_is_listed(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, access="open", tokens_per_day=100_000)
    kv = home.stores.kv
    kv.put(keys.bare_session_usage("main", period(), "main#telegram:9"), b"99000")
    model.then({**say("one"), "usage": {"prompt_tokens": 990, "completion_tokens": 10}})
    tell(home, "hello", session="telegram:7")
    rows = {row["session"]: row["tokens"] for row in _list(home)}
    assert rows == {"telegram:9": 99_000, "telegram:7": 1_000}
    # a budget that is used up stops everybody, and an unlock makes room for all of it
    (stopped,) = tell(home, "hello", session="telegram:7")
    assert "100,000" in stopped or "budget" in stopped
    control.unlock("main#telegram:7", home.app, "owner")
    control.unlock("", home.app, "owner")
    assert tell(home, "hello", session="telegram:7") == ["done"]


def test_a_session_that_both_versions_wrote_down_counts_once(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, access="open")
    kv = home.stores.kv
    model.then({**say("one"), "usage": {"prompt_tokens": 990, "completion_tokens": 10}})
    tell(home, "hello", session="telegram:7")
    # the other version went on with the session, and wrote down its whole sum
    kv.put(keys.bare_session_usage("main", period(), "main#telegram:7"), b"1500")
    assert home.app.make_breakers("main#telegram:7").budget.count_spent(period()) == 1_500
    assert [row["tokens"] for row in _list(home)] == [1_500]


def test_version_0_1_0_sees_no_sum_that_it_cannot_read(runtime: Open, model: ScriptedModel) -> None:
    """It scans what begins with the period and `#`, and takes all but digits for a used budget."""
    home = runtime(llm_url=model.url, access="open")
    tell(home, "hello", session="telegram:7")
    assert home.stores.kv.scan("usage#main", f"{period()}#") == []
    (row,) = home.stores.kv.scan("usage#main")
    usage = read_usage(row[1])
    assert usage
    assert usage.turns == 1


def test_a_field_of_a_later_version_stays(runtime: Open, model: ScriptedModel) -> None:
    home = runtime(llm_url=model.url, access="open")
    key = keys.session_usage("main", period(), "main#telegram:7")
    home.stores.kv.put(key, b'{"tokens":5,"later":{"a":1}}')
    tell(home, "hello", session="telegram:7")
    item = home.stores.kv.get(key)
    assert item
    assert b'"later":{"a":1}' in item.value
    assert read_usage(Item(b'{"tokens":-1}', "")) is None


def test_the_admin_token_reads_sessions_over_http(
    live: Callable[..., AbstractContextManager[Live]], model: ScriptedModel
) -> None:
    with live() as agent:
        agent.ask("hello")
        get = agent.server.client.get
        page = get("/sessions", params={"platform": "telegram", "days": "1"}).json()
        assert [row["session"] for row in page["items"]] == [f"telegram:{OWNER}"]
        assert page["items"][0]["title"] == "hello"
        assert get("/sessions", params={"agent": "alice"}).json() == {"items": []}
        assert get("/sessions", params={"sort": "x"}).status_code == 400
        assert get("/sessions", headers={"authorization": "Bearer x"}).status_code == 401
