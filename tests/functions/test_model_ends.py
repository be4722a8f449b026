"""The daily look at an agent's models."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from functions import scheduler
from functions.agent.agents.lifecycle import create_agent
from functions.agent.agents.record import AgentRecord
from functions.cli.setup.providers import PROVIDERS
from functions.model_list import read_end
from functions.queues.store_queue import StoreQueue
from functions.settings import Settings
from sigil.protocol import Json
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from sigil.wiring import Stores
from tests.fakes.model import ScriptedModel
from tests.functions.alerts import Pager, pager
from tests.sigil.storage.kv.model import Clock
from tests.tables import each_row

__all__ = ["pager"]
NOW = datetime(2026, 11, 28, 12, tzinfo=UTC).timestamp()
HOUR = 3_600.0


def test_the_models_of_all_agents_that_soon_end_are_told_once_a_day(
    model: ScriptedModel, pager: Pager, clock: Clock
) -> None:
    clock.now = NOW
    kv = MemoryKV(clock)
    record = AgentRecord("subagent", "enabled", NOW, "telegram:1")
    create_agent(kv, "main", "scout", replace(record, model="small"))
    create_agent(kv, "main", "cook", replace(record, model="lasting"))
    model.models = [
        {"id": "big", "shutdown_date": "2026-12-11"},
        {"id": "small", "shutdown_date": int(NOW - 24 * HOUR)},
        {"id": "lasting", "shutdown_date": "2027-12-11"},
    ]
    settings = replace(
        Settings.read({}),
        llm_url=model.url,
        llm_key="sk-mine",
        llm_model="big",
        llm_fallback_url=PROVIDERS["deepseek"].url,
        llm_fallback_model="deepseek-chat",
        alerts=pager.url,
    )
    tick = partial(
        scheduler.tick,
        Stores(kv, MemoryArtifacts()),
        StoreQueue(kv),
        "main",
        clock,
        look=partial(scheduler.look_at_models, settings, kv),
    )
    for hours in (0.0, 1.0, 22.0):
        clock.now = NOW + hours * HOUR
        tick()
    told = [(alert["event"], alert["reason"], alert["failure"]) for alert in pager.alerts]
    assert told == [
        ("MODEL_ENDS", "big", "big ends on 2026-12-11"),
        ("MODEL_ENDS", "small", "small ended on 2026-11-27"),
        (
            "MODEL_ENDS",
            "deepseek-chat",
            "deepseek-chat ended on 2026-07-24; deepseek-v4-flash replaces it",
        ),
    ]
    assert pager.alerts[0]["text"] == (
        "MODEL_ENDS: main * is MODEL_ENDING (big): big ends on 2026-12-11"
    )
    # one list for all the models of an endpoint, and none without a key
    assert [request.path for request in model.requests] == ["/models"]
    clock.now = NOW + 25 * HOUR
    tick()
    assert len(pager.alerts) == 6


@each_row("told", [None, "", "soon", True, 10**17, -1, ["2026-12-11"]])
def test_what_is_no_day_is_no_end(told: Json) -> None:
    assert read_end({"big": {"shutdown_date": told}}, "big") is None
