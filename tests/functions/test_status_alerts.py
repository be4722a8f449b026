"""No alert is lost, doubled or waited for: an odd address, a platform that is away, another day, a
crash.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest

from functions import alerts, status_alerts, worker
from functions.alerts import WebhookNotifier, halt_alert, send_alert
from functions.time.clock import Clock
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, say
from tests.fakes.server import Answer, Recorded
from tests.functions.alerts import Pager, pager
from tests.functions.model_steps import cascade
from tests.functions.people import OWNER, Live, reason
from tests.functions.test_alerts import Crash, Open, crash, write

__all__ = ["pager"]


class Drip(Pager):
    """Answers at once, and takes long to end."""

    def answer(self, request: Recorded) -> Answer:
        return Answer(200, (b"x" for _ in range(15) if not self.closing.wait(0.1)))


def test_an_address_that_drips_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts, "SECONDS", 0.4)
    with Drip() as server:
        assert not send_alert(halt_alert("main", "", 1.0), WebhookNotifier(server.url))


@pytest.mark.parametrize(
    "address", ["http://\u2603.\u200b/", "http://127.0.0.1:1/\x00", "http://127.0.0.1:1/"]
)
def test_an_address_that_is_none_is_in_nobodys_way(address: str) -> None:
    assert not send_alert(halt_alert("main", "", 1.0), WebhookNotifier(address))


def test_a_name_and_a_password_in_an_address_are_sent(pager: Pager) -> None:
    assert send_alert(
        halt_alert("main", "", 1.0), WebhookNotifier(pager.url.replace("://", "://ada:p%40ss@"))
    )
    assert pager.requests[0].headers["authorization"] == "Basic " + b64encode(b"ada:p@ss").decode()


def test_an_emergency_is_told_though_the_chats_platform_is_away(
    live: Callable[..., AbstractContextManager[Live]],
    model: ScriptedModel,
    pager: Pager,
    bot: BotApi,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model.then(*cascade())
    with live(alerts=pager.url) as agent:
        with monkeypatch.context() as moment:
            moment.setattr(bot, "answer", lambda request: Answer(500, b""))
            agent.write("go")
            pager.wait_for(1)
        assert agent.replies(OWNER, 1) == [reason("cascade", owner=True)]
    assert len(pager.alerts) == 1


def test_a_budget_is_told_in_each_period_whoever_meets_it_first(
    runtime: Open, model: ScriptedModel, pager: Pager
) -> None:
    today = [1_795_000_000.0]
    home = runtime(llm_url=model.url, alerts=pager.url, tokens_per_day=100_000)
    home = replace(home, app=replace(home.app, clock=Clock(now=lambda: today[0])))
    dear = say("one") | {"usage": {"prompt_tokens": 200_000, "completion_tokens": 1}}
    for told in (1, 2):
        model.then(dear)
        write(home, "go", "telegram:1")  # uses it up, and asks for nothing more
        for chat in ("telegram:2", "telegram:3", "telegram:1"):
            write(home, "hello", chat)
        assert [alert["event"] for alert in pager.alerts] == ["BUDGET"] * told
        today[0] += 86_400


def test_a_crash_before_the_bell_rings_loses_no_budgets_alert(
    runtime: Open, model: ScriptedModel, pager: Pager, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.then(say("one") | {"usage": {"prompt_tokens": 200_000, "completion_tokens": 1}})
    home = runtime(llm_url=model.url, alerts=pager.url, tokens_per_day=100_000, lease=0.2)
    write(home, "go")
    with monkeypatch.context() as moment:
        moment.setattr(status_alerts, "send_alert", crash)
        with pytest.raises(Crash):
            write(home, "more")
    again = runtime(llm_url=model.url, alerts=pager.url, tokens_per_day=100_000, lease=0.2)
    delivery = again.queue.take(10)
    assert delivery
    worker.process(delivery, again)
    assert [alert["event"] for alert in pager.alerts] == ["BUDGET"]
