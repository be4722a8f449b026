"""Whoever looks after an agent hears that it halted: in the log, and where they said."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from functions import worker
from functions.queues.base import Delivery
from functions.wiring import House
from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.server import Answer, Recorded, RecordingServer
from tests.functions.agent.talk import event

Open = Callable[..., House]


class Pager(RecordingServer):
    """An address that takes alerts, or does not."""

    status = 200

    def answer(self, request: Recorded) -> Answer:
        return Answer(self.status, b"")

    @property
    def alerts(self) -> list[dict[str, Any]]:
        return [request.json() for request in self.requests]


@pytest.fixture
def pager() -> Iterator[Pager]:
    with Pager() as server:
        yield server


def write(house: House, text: str, session: str = "telegram:7") -> None:
    house.queue.put(event(text, session))
    delivery: Delivery | None = house.queue.take(0)
    assert delivery
    worker.process(delivery, house)


def failing(count: int) -> list[dict[str, Any]]:
    return [call(("no_such_tool", {"n": number})) for number in range(count)]


def test_an_emergency_is_told_once(house: Open, model: ScriptedModel, pager: Pager, caplog: pytest.LogCaptureFixture) -> None:
    home = house(llm_url=model.url, alerts=pager.url)
    model.then(*failing(8))

    with caplog.at_level(logging.INFO, "uncaged"):
        for text in ("go", "again", "and again", "and again"):
            write(home, text)

    (alert,) = pager.alerts
    assert (alert["event"], alert["state"], alert["reason"]) == ("EMERGENCY_HALT", "ERROR_PAUSED", "cascade")
    assert alert["failure"] == 'Tool "no_such_tool" failed with ENOTOOL.'
    assert [record.facts["event"] for record in caplog.records if record.message == "alert"] == ["EMERGENCY_HALT"]  # type: ignore[attr-defined]


def test_a_budget_that_is_used_up_is_told_once_for_all_chats(house: Open, model: ScriptedModel, pager: Pager) -> None:
    home = house(llm_url=model.url, alerts=pager.url)
    model.then(say("one") | {"usage": {"prompt_tokens": 200_000, "completion_tokens": 1}})
    for chat in range(3):
        write(home, "go", f"telegram:{chat}")

    assert [alert["event"] for alert in pager.alerts] == ["BUDGET"]


def test_an_address_that_fails_is_in_nobodys_way(house: Open, model: ScriptedModel, pager: Pager, caplog: pytest.LogCaptureFixture) -> None:
    pager.status = 500
    home = house(llm_url=model.url, alerts=pager.url)
    model.then(*failing(8))
    with caplog.at_level(logging.INFO, "uncaged"):
        for text in ("go", "again", "/status"):
            write(home, text)

    assert len(pager.alerts) == 1
    assert [record.facts["code"] for record in caplog.records if record.message == "alert unheard"] == ["EUNAVAILABLE"]  # type: ignore[attr-defined]


def test_an_alert_holds_nothing_that_anybody_said(house: Open, model: ScriptedModel, pager: Pager) -> None:
    home = house(llm_url=model.url, alerts=pager.url)
    model.then(*failing(8))
    for text in ("my secret is 12345", "again 12345"):
        write(home, text)

    assert "12345" not in json.dumps(pager.alerts)
