"""The meter's memory is bounded whatever names come, and its text can be read whatever is in them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from functions import log
from functions.agent.runs.run import Run, save_run
from functions.metrics import instruments as known
from functions.metrics.meter import OTHER, SERIES_MOST, VALUES_MOST, Meter
from functions.metrics.prometheus import format_metrics
from functions.wiring import AgentRuntime
from functions.worker import process
from tests.fakes.model import ScriptedModel
from tests.functions.agent.talk import event
from tests.functions.metrics.conftest import read_samples


def test_what_is_beyond_the_bounds_counts_as_other() -> None:
    meter = Meter()
    names = [meter.bound("model", f"m{number}") for number in range(VALUES_MOST + 5)]
    assert names[VALUES_MOST - 1 :] == [f"m{VALUES_MOST - 1}", *[OTHER] * 5]
    assert meter.bound("model", "m3") == "m3"
    for number in range(SERIES_MOST + 5):
        meter.add(known.TURNS, (str(number), "http", "said"))
    series = meter.read().values[known.TURNS]
    assert len(series) == SERIES_MOST + 1
    assert series[OTHER, OTHER, OTHER] == 5


def test_hostile_names_stay_one_label() -> None:
    meter = Meter()
    hostile = ['a"} 1\nuncaged_x 2', "back\\slash", "\u202eright\x00", "你好" * 100, ""]
    bounded = [meter.bound("agent", name) for name in hostile]
    for name in bounded:
        meter.observe(known.TURN_SECONDS, (name, "http"), 0.1)
        meter.observe(known.TURN_SECONDS, (name, "http"), 1e9)
    samples = read_samples(format_metrics(meter.read()))
    assert {key[1] for key in samples} == set(bounded)
    assert all(len(name) <= 64 and name.isprintable() for name in bounded)
    assert samples["uncaged_turn_seconds_bucket", bounded[0], "http", "0.1"] == 1
    assert samples["uncaged_turn_seconds_bucket", bounded[0], "http", "+Inf"] == 2
    assert "uncaged_x" not in {key[0] for key in samples}


def test_a_run_without_a_line_of_its_own_gets_one_when_its_event_ends(
    runtime: Callable[..., AgentRuntime],
    model: ScriptedModel,
    lines: Callable[[], list[dict[str, Any]]],
) -> None:
    home = runtime(llm_url=model.url, metrics="emf")
    beside = Run("m1", "telegram:7", "main", "continue", "memory", "said", 1_800_000_000.0)
    save_run(home.app.kv, beside, 1)
    happened = event("hello", session="http:admin:x")
    home.queue.put(happened)
    delivery = home.queue.take(0)
    assert delivery is not None
    process(delivery, home)
    counted = [(line["step"], line["run"]) for line in lines() if "_aws" in line]
    assert counted[1] == ("counted", beside.id)
    assert counted[0][0] == "closed"
    home.close()
    assert not logging.getLogger(log.NAME).filters
