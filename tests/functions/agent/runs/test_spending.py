"""What was spent is summed up by day, the same from the runs and from what is kept of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta

from functions.agent.conversation.messages import Usage
from functions.agent.runs.run import Run, format_run, save_run, scan_runs
from functions.agent.runs.spending import FOLDED_MOST, Spending, sum_runs, total, total_by_work
from functions.wiring import AgentRuntime
from sigil.storage.kv import Key, keys
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.talk import tell

ZONE = "Asia/Tokyo"
LAST = date(2027, 1, 15)
NOON = 1_800_000_000.0 - 5 * 3_600
"""About noon of that day in Tokyo."""
DAY = 86_400.0


def fill(kv: MemoryKV) -> list[Run]:
    """Runs of ten days, two chats, three kinds of work; each costs as many tokens as its number."""
    made = []
    for number in range(60):
        kind = ("message", "wakeup", "continue")[number % 3]
        made.append(
            Run(
                event=f"e{number}",
                session=f"telegram:{number % 2}",
                agent="main",
                kind=kind,
                reason="memory" if kind == "continue" else kind,
                outcome="said",
                began=NOON - number % 10 * DAY + number,
                by="telegram:1",
                model="m",
                requests=1,
                usage=Usage(number, 1, cost=0.5),
            )
        )
        save_run(kv, made[-1], 90)
    return made


def test_days_are_summed_up_once_and_their_sums_outlive_the_runs() -> None:
    kv = MemoryKV()
    made = fill(kv)
    spending = Spending(kv, "main", ZONE)
    first = LAST - timedelta(days=8)
    before = spending.read(first, LAST)
    assert sum(total(rows).total for rows in before.values()) == sum(
        run.usage.total for run in made if run.began > NOON - 8.5 * DAY
    )
    assert spending.fold(NOON) == FOLDED_MOST
    assert spending.fold(NOON) == 0
    partition = keys.run("main", "", "").partition
    for sort, _ in kv.scan(partition, limit=1_000):
        kv.delete(Key(partition, sort))
    after = spending.read(first, LAST)
    by_day = {day: sorted(rows, key=repr) for day, rows in before.items()}
    for number in range(1, FOLDED_MOST + 1):
        day = LAST - timedelta(days=number)
        assert sorted(after[day], key=repr) == by_day[day]
        assert by_day[day]
    assert after[LAST] == []


def test_a_day_that_has_just_ended_is_not_summed_up_yet() -> None:
    kv = MemoryKV()
    fill(kv)
    spending = Spending(kv, "main", ZONE)
    spending.fold(NOON)
    late = Run("late", "telegram:9", "main", "message", "message", "said", NOON + 11.9 * 3_600)
    save_run(kv, replace(late, usage=Usage(7, 0)), 90)
    assert spending.fold(NOON + 13 * 3_600) == 0
    assert "telegram:9" in {row.session for row in spending.read(LAST, LAST)[LAST]}
    assert spending.fold(NOON + 15 * 3_600) == 1
    assert "telegram:9" in {row.session for row in spending.read(LAST, LAST)[LAST]}


def test_sums_tell_kinds_of_work_apart() -> None:
    rows = sum_runs(fill(MemoryKV()))
    works = total_by_work(rows)
    assert list(works) == ["chat", "memory", "wakeup"]
    assert sum(usage.total for usage in works.values()) == total(rows).total == sum(range(60)) + 60
    assert sum(row.turns for row in rows) == 60


def test_the_share_of_the_prompts_that_was_cached_is_told_of_days_and_runs(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, llm_prices="1,0.5,2")
    for cached in (6_000, 2_000):
        details = {"prompt_tokens": 8_000, "completion_tokens": 100}
        usage = {**details, "prompt_tokens_details": {"cached_tokens": cached}}
        model.then(say("warm") | {"usage": usage})
        tell(home, "hello")
    (told,) = tell(home, "/spent")
    used = "12,200 tokens (4,000 more do not count), 50% of the prompts from the cache, $0.0124"
    assert re.search(
        rf"in all chats: {re.escape(used)}\n- \d{{4}}-\d\d-\d\d: {re.escape(used)}", told
    )
    older = list(scan_runs(home.stores.kv, "main"))[-1]
    _, summed, request = format_run(older)[:3]
    assert "8,000 (6,000 cached, 75%) + 100 tokens" in summed
    assert "8,000 (6,000 cached, 75%) + 100 tokens" in request


def test_an_owner_reads_what_all_chats_spent_and_others_what_their_own_did(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, llm_prices="1,0.5,2", access="open")
    assert re.search(r"Since \d{4}-\d\d-\d\d no tokens", tell(home, "/spent")[0])
    model.then(call(("sigil_query", {"query": "x"})), say("found"))
    tell(home, "hello")
    tell(home, "hello", session="telegram:8", sender="telegram:8")
    tell(home, "/btw and?", session="telegram:8", sender="telegram:8")
    used = [len(request.body) // 4 + 10 for request in model.requests if request.body]

    (told,) = tell(home, "/spent 30")
    assert "in all chats" in told
    assert f"{sum(used):,} tokens, $" in told
    assert f"- messages: {sum(used[:3]):,} tokens" in told
    assert f"- commands: {used[3]:,} tokens" in told
    (told,) = tell(home, "/spent", session="telegram:8", sender="telegram:8")
    assert "in this chat" in told
    assert f"{sum(used[2:]):,} tokens" in told
    assert "from the cache" not in told
    (told,) = tell(home, "/spent 91")
    assert "90 at most" in told
    tell(home, "/language de")
    (told,) = tell(home, "/spent")
    assert f"- Nachrichten: {sum(used[:3])} Token" in told
