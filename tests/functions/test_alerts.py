"""The people who look after an agent hear that it halted: in the log, and where they said."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from functions import reply_sender, worker
from functions.agent.safety.call_facts import Fact
from functions.agent.session.store import SessionHandle
from functions.queues.base import Delivery
from functions.settings import Settings
from functions.wiring import AgentRuntime
from sigil.errors import UsageError
from sigil.storage import aws
from sigil.storage.kv import keys
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.server import Answer, Recorded
from tests.functions.agent.talk import event
from tests.functions.alerts import Pager, pager
from tests.functions.model_steps import cascade, deploy, find, shell
from tests.functions.people import GUEST, STRANGER, Live, reason
from tests.servers.ministack import Ministack, unique
from tests.servers.programs import ProgramForker
from tests.tables import each_row

__all__ = ["pager"]
Open = Callable[..., AgentRuntime]


def write(runtime: AgentRuntime, text: str, session: str = "telegram:7") -> None:
    runtime.queue.put(event(text, session))
    delivery: Delivery | None = runtime.queue.take(0) or runtime.control.take(0)
    assert delivery
    worker.process(delivery, runtime)


def failing(count: int) -> list[dict[str, Any]]:
    return [call(("no_such_tool", {"n": number})) for number in range(count)]


def test_an_emergency_is_told_once(
    runtime: Open, model: ScriptedModel, pager: Pager, caplog: pytest.LogCaptureFixture
) -> None:
    home = runtime(llm_url=model.url, alerts=pager.url)
    model.then(*failing(8))

    with caplog.at_level(logging.INFO, "uncaged"):
        for text in ("go", "again", "and again", "and again"):
            write(home, text)

    (alert,) = pager.alerts
    assert (alert["event"], alert["state"], alert["reason"]) == (
        "EMERGENCY_HALT",
        "ERROR_PAUSED",
        "cascade",
    )
    assert alert["failure"] == 'Tool "no_such_tool" failed with ENOTOOL.'
    assert [record.facts["event"] for record in caplog.records if record.message == "alert"] == [
        "EMERGENCY_HALT"
    ]  # type: ignore[attr-defined]


def test_a_budget_that_is_used_up_is_told_once_for_all_chats(
    runtime: Open, model: ScriptedModel, pager: Pager
) -> None:
    home = runtime(llm_url=model.url, alerts=pager.url, tokens_per_day=100_000)
    model.then(say("one") | {"usage": {"prompt_tokens": 200_000, "completion_tokens": 1}})
    for chat in range(3):
        write(home, "go", f"telegram:{chat}")

    assert [alert["event"] for alert in pager.alerts] == ["BUDGET"]


def test_a_chat_that_only_meets_the_budget_does_not_tell_of_it_again(
    runtime: Open, model: ScriptedModel, pager: Pager
) -> None:
    home = runtime(llm_url=model.url, alerts=pager.url, tokens_per_day=100_000)
    model.then(
        call(("no_such_tool", {})) | {"usage": {"prompt_tokens": 200_000, "completion_tokens": 1}}
    )
    for chat in range(3):
        write(home, "go", f"telegram:{chat}")

    assert [alert["session"] for alert in pager.alerts] == ["telegram:0"]


def test_an_address_that_fails_is_in_nobodys_way(
    runtime: Open, model: ScriptedModel, pager: Pager, caplog: pytest.LogCaptureFixture
) -> None:
    pager.status = 500
    home = runtime(llm_url=model.url, alerts=pager.url)
    model.then(*failing(8))
    with caplog.at_level(logging.INFO, "uncaged"):
        for text in ("go", "again", "/status"):
            write(home, text)

    assert len(pager.alerts) == 1
    assert [
        record.facts["code"] for record in caplog.records if record.message == "alert unheard"
    ] == ["EUNAVAILABLE"]  # type: ignore[attr-defined]


def test_an_alert_holds_nothing_that_anybody_said(
    runtime: Open, model: ScriptedModel, pager: Pager
) -> None:
    home = runtime(llm_url=model.url, alerts=pager.url)
    model.then(
        *[call(("no_such_tool", {"query": f"secret 12345 {number}"})) for number in range(8)]
    )
    for text in ("my secret is 12345", "again 12345"):
        write(home, text)

    assert len(pager.alerts) == 1
    assert "12345" not in json.dumps(pager.alerts)


BREACH = Fact("cap_reach", "", "EBREACH")


def test_a_fatal_failure_ends_the_turn_and_is_told_once(
    live: Callable[..., AbstractContextManager[Live]],
    model: ScriptedModel,
    pager: Pager,
    breached: None,
) -> None:
    model.then(find("reach"), call(("cap_reach", {})), say("never said"))
    with live(alerts=pager.url) as agent:
        deploy(agent, "reach")
        assert agent.ask("go", GUEST) == reason("fatal", BREACH)
        assert agent.state(GUEST) == "ERROR_PAUSED"
        assert agent.ask("hello", GUEST) == reason("fatal", BREACH)
        assert len(model.bodies) == 2
        assert agent.ask("hello", STRANGER) == "never said"
    with live(alerts=pager.url) as agent:
        assert agent.ask("hello", GUEST) == reason("fatal", BREACH)

    (alert,) = pager.alerts
    assert alert | {"at": 0, "text": ""} == {
        "text": "",
        "event": "EMERGENCY_HALT",
        "agent": "main",
        "session": f"telegram:{GUEST}",
        "state": "ERROR_PAUSED",
        "reason": "fatal",
        "at": 0,
        "failure": 'Tool "cap_reach" failed with EBREACH.',
    }
    assert alert["text"] == f"EMERGENCY_HALT: main telegram:{GUEST} is ERROR_PAUSED (fatal)"


class Crash(BaseException):
    """The process is gone."""


def crash(opened: SessionHandle, runtime: AgentRuntime) -> None:
    raise Crash


def test_a_crash_between_the_turns_end_and_the_alert_loses_neither_and_tells_neither_twice(
    runtime: Open, model: ScriptedModel, pager: Pager, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.then(*cascade())
    with monkeypatch.context() as moment:
        moment.setattr(reply_sender, "alert_session_status", crash)
        with pytest.raises(Crash):
            write(runtime(llm_url=model.url, alerts=pager.url, lease=0.2), "go")
    assert pager.alerts == []

    again = runtime(llm_url=model.url, alerts=pager.url, lease=0.2)
    delivery = again.queue.take(10)
    assert delivery
    worker.process(delivery, again)
    write(again, "hello?")

    assert [alert["event"] for alert in pager.alerts] == ["EMERGENCY_HALT"]
    assert len(model.bodies) == 4


def test_whoever_halts_it_rings(
    live: Callable[..., AbstractContextManager[Live]],
    model: ScriptedModel,
    pager: Pager,
    tmp_path: Path,
    forked: ProgramForker,
) -> None:
    with live(alerts=pager.url) as agent:
        agent.ask("/halt here")
        agent.ask("/halt", GUEST)  # who may not
        agent.server.post("/halt", json={"session": "telegram:5"})
        assert (
            shell(tmp_path, "halt", UNCAGED_ALERTS=pager.url, **forked.environment).returncode == 0
        )
        assert agent.ask("hello", GUEST) == reason("halted")
    assert [(alert["event"], alert["session"], alert["state"]) for alert in pager.alerts] == [
        ("SYSTEM_HALT", session, "SAFETY_LOCKOUT") for session in ("telegram:42", "telegram:5", "*")
    ]


def test_whoever_halts_it_is_answered_before_anybody_is_rung(
    live: Callable[..., AbstractContextManager[Live]], model: ScriptedModel, bot: BotApi
) -> None:
    rung: list[bool] = []

    class Slow(Pager):
        def answer(self, request: Recorded) -> Answer:
            with bot.changed:
                rung.append(bool(bot.changed.wait_for(lambda: bot.messages, 3)))
            return Answer(200)

    with Slow() as slow, live(alerts=slow.url) as agent:
        assert agent.ask("/halt").startswith("Halted")
        assert agent.ask("hello", GUEST) == reason("halted")
    assert rung == [True]


@pytest.mark.parametrize("text", ["hello", "/status"])
def test_a_damaged_state_rings(
    runtime: Open, model: ScriptedModel, pager: Pager, text: str
) -> None:
    home = runtime(llm_url=model.url, alerts=pager.url)
    write(home, "hello")
    head = keys.session_head(keys.session_of("main", "telegram:7"))
    item = home.app.kv.get(head)
    assert item
    document = json.loads(item.value)
    home.app.kv.put(head, json.dumps({**document, "safety": "?"}).encode())
    for said in (text, "hello", "hello"):
        write(home, said)

    assert [(alert["event"], alert["state"]) for alert in pager.alerts] == [
        ("DAMAGED", "SAFETY_LOCKOUT")
    ]


def test_a_topic_hands_alerts_to_whoever_subscribed(
    runtime: Open, model: ScriptedModel, aws_here: Ministack
) -> None:
    sns, sqs = aws.client("sns"), aws.client("sqs")
    arn = sns.create_topic(Name=unique("alerts"))["TopicArn"]
    url = sqs.create_queue(QueueName=unique("pager"))["QueueUrl"]
    queue = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"][
        "QueueArn"
    ]
    sns.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=queue)
    model.then(*cascade())
    home = runtime(llm_url=model.url, alerts=f"sns:{arn}")
    for text in ("go", "and now?"):
        write(home, text)

    found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=2)["Messages"]
    (note,) = [json.loads(message["Body"]) for message in found]
    alert = json.loads(note["Message"])
    assert note["Subject"] == "Uncaged: EMERGENCY_HALT in telegram:7"
    assert (alert["event"], alert["session"], alert["state"], alert["reason"]) == (
        "EMERGENCY_HALT",
        "telegram:7",
        "ERROR_PAUSED",
        "cascade",
    )


def test_a_topic_that_is_not_there_is_in_nobodys_way(
    runtime: Open, model: ScriptedModel, aws_here: Ministack, caplog: pytest.LogCaptureFixture
) -> None:
    home = runtime(llm_url=model.url, alerts="sns:arn:aws:sns:us-east-1:000000000000:nobody-here")
    model.then(*cascade())
    with caplog.at_level(logging.INFO, "uncaged"):
        for text in ("go", "/status", "and now?"):
            write(home, text)

    assert [record.facts["event"] for record in caplog.records if record.message == "alert"] == [
        "EMERGENCY_HALT"
    ]  # type: ignore[attr-defined]


@each_row(
    "value",
    [
        "https://",
        "https://?x",
        "pager",
        "sns:arn:aws",
        "sns:arn:aws:sns:eu-west-1:12:x",
        "ftp://alerts.example",
    ],
)
def test_an_address_that_is_none_is_refused_at_the_start(value: str) -> None:
    with pytest.raises(UsageError, match="UNCAGED_ALERTS"):
        Settings(alerts=value)
