"""A record beside a session that cannot be believed closes rather than opens, and an owner always
has a way back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from functions.agent.commands import control
from functions.agent.safety import locks
from functions.agent.safety.budget import SafetyLimits, name_period
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.talk import tell
from tests.functions.model_steps import cascade
from tests.functions.people import sentence

Open = Callable[..., AgentRuntime]
SESSION = keys.session_of("main", "telegram:7")


def usage(session: str) -> Any:
    return keys.session_usage("main", name_period(time.time(), SafetyLimits()), session)


@pytest.mark.parametrize("whom", ["main", SESSION])
@pytest.mark.parametrize(
    ("halted", "unlocked"),
    [(0, 1e300), (0, "inf"), (5, "nan"), (0, 99_999_999_999), (-1, -2), (True, False)],
)
def test_a_lock_with_times_that_no_clock_shows_is_closed_and_can_be_opened(
    runtime: Open, model: ScriptedModel, whom: str, halted: object, unlocked: object
) -> None:
    home = runtime(llm_url=model.url)
    model.then(*cascade(), say("on we go"))
    home.stores.kv.put(
        keys.owner_lock(whom), orjson.dumps({"halted": halted, "unlocked": unlocked, "by": "?"})
    )

    assert locks.read_lock(home.stores.kv, whom).closed
    assert tell(home, "hello") == [sentence("halted")]
    control.unlock(SESSION, home.app, "owner")
    assert tell(home, "go") == [sentence("cascade")]
    control.unlock(SESSION, home.app, "owner")
    assert tell(home, "go") == ["on we go"]


@pytest.mark.parametrize("record", [b"9" * 5_000, b"9" * 20])
def test_a_sum_that_nobody_can_have_spent_is_no_sum(
    runtime: Open, model: ScriptedModel, record: bytes
) -> None:
    home = runtime(llm_url=model.url)
    model.then(say("one"), say("two"))
    assert tell(home, "hello") == ["one"]
    home.stores.kv.put(usage(SESSION), record)

    assert tell(home, "hello") == [sentence("budget")]
    control.unlock(SESSION, home.app, "owner")
    assert tell(home, "hello") == ["two"]


def test_what_was_forgiven_and_cannot_be_read_forgives_nothing(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, tokens_per_day=100_000)
    model.then({**say("one"), "usage": {"prompt_tokens": 150_000, "completion_tokens": 1}})
    assert tell(home, "hello")[0].startswith("one\n\n(100% of my budget")
    period = name_period(time.time(), SafetyLimits())
    home.stores.kv.put(keys.bare_session_usage("main", period, ""), b"?")

    assert tell(home, "hello") == [sentence("budget")]


@pytest.mark.parametrize(
    ("where", "name"), [("safety", "spent"), ("safety", "ticks"), ("counters", "consecutive")]
)
def test_a_count_that_fits_into_no_document_locks_the_session(
    runtime: Open, model: ScriptedModel, where: str, name: str
) -> None:
    home = runtime(llm_url=model.url)
    model.then(say("one"), call(("no_such_tool", {})), say("two?"))
    tell(home, "hello")
    key = keys.session_head(SESSION)
    item = home.stores.kv.get(key)
    assert item
    fields = orjson.loads(item.value)
    damaged = fields["safety"] if where == "safety" else fields["safety"][where]
    damaged[name] = 2**64 - 1
    home.stores.kv.put(key, orjson.dumps(fields))

    assert tell(home, "hello") == [sentence("damaged")]
    control.unlock(SESSION, home.app, "owner")
    assert tell(home, "hello") == ["two?"]


def test_an_unlock_counts_though_the_record_of_earlier_ones_was_lost(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url)
    for whom in ("", SESSION):
        control.unlock(whom, home.app, "owner")
    model.then(*cascade(), say("on we go"))
    assert tell(home, "hello") == [sentence("cascade")]
    home.stores.kv.delete(keys.owner_lock("main"))

    assert tell(home, "hello") == [sentence("cascade")]
    control.unlock(SESSION, home.app, "owner")
    assert tell(home, "hello") == ["on we go"]
