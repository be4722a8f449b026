"""WhatsApp from outside: signed requests come in over HTTP, and people see what is answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from functions.cli.doctor import check_platforms
from functions.wiring import AgentRuntime
from sigil.protocol import Caller
from sigil.storage.kv import keys
from tests.channel_settings import make_settings
from tests.fakes.graph_api import (
    NUMBER,
    PERSON,
    SECRET,
    TOKEN,
    VERIFY_TOKEN,
    GraphApi,
    make_body,
    make_message,
    sign,
)
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.policy.asking import DOUBLE, QUERY, SPEC
from tests.functions.alerts import AlertRecorder
from tests.functions.cli.channel_command import RunChannel
from tests.functions.serving import Served, serving
from tests.machine import within

GUEST = "4915112345678"
SETTINGS: dict[str, Any] = {
    "whatsapp_number": NUMBER,
    "whatsapp_token": TOKEN,
    "whatsapp_secret": SECRET,
    "whatsapp_verify_token": VERIFY_TOKEN,
    "access": "open",
    "guest_turns": 0,
    "guest_tokens": 0,
}


@dataclass
class Business:
    """A served agent, and the WhatsApp that people write to it with."""

    server: Served
    graph: GraphApi

    def post(self, *messages: dict[str, object]) -> int:
        request = sign(make_body(*messages))
        headers = dict(request.headers)
        return self.server.post(
            "/webhook/whatsapp", content=request.body, headers=headers
        ).status_code

    def read(self, count: int) -> list[dict[str, Any]]:
        """Return what was written to people, as soon as that are `count` messages."""
        with self.graph.changed:
            assert self.graph.changed.wait_for(
                lambda: len(self.graph.messages) >= count, within(20)
            ), self.graph.messages
        return self.graph.messages


@pytest.fixture
def graph() -> Iterator[GraphApi]:
    with GraphApi() as api:
        yield api


@pytest.fixture
def business(
    runtime: Callable[..., AgentRuntime], graph: GraphApi, model: ScriptedModel
) -> Iterator[Business]:
    owners = (f"whatsapp:{PERSON}",)
    made = runtime(llm_url=model.url, whatsapp_api=graph.url, owners=owners, **SETTINGS)
    with serving(made) as server:
        yield Business(server, graph)


def test_a_message_is_answered_once_however_often_it_is_sent(
    business: Business, model: ScriptedModel
) -> None:
    model.then(say("**Hello** Kerry"), say("Again"))
    for _ in range(3):
        assert business.post(make_message(1, "hi")) == 200
    business.read(1)
    assert business.post(make_message(2, "and now?")) == 200
    sent = business.read(2)
    assert [message["text"]["body"] for message in sent] == ["*Hello* Kerry", "Again"]
    assert {message["to"] for message in sent} == {PERSON}
    assert business.graph.signs[0]["message_id"] == "wamid.TEST1"


def test_commands_work_and_tell_who_somebody_is(business: Business, model: ScriptedModel) -> None:
    business.post(make_message(1, "/whoami"))
    assert f"whatsapp:{PERSON}" in business.read(1)[0]["text"]["body"]
    assert model.chats == []


def test_a_reminder_shows_three_buttons_and_the_fourth_in_words(business: Business) -> None:
    business.post(make_message(1, "/remind in 1 second call Bob"))
    shown = business.read(2)[1]["interactive"]
    replies = [each["reply"] for each in shown["action"]["buttons"]]
    assert [reply["title"] for reply in replies] == ["Done", "In 10 min", "In 1 h"]
    id = replies[0]["id"].removeprefix("/done ")
    assert shown["body"]["text"] == f"call Bob\n\n• Tomorrow: `/snooze {id} tomorrow`"


def test_an_owner_approves_by_a_button(business: Business, model: ScriptedModel) -> None:
    app = business.server.runtime.app
    app.registry.deploy(SPEC, Caller("main"))
    policy = 'format = 1\nrules = ["ask guest call double"]'
    app.policy_versions.write("main", "policy", policy, by="terminal:local")
    model.then(call(QUERY), call(DOUBLE), say("it waits"), say("4"))
    business.post(make_message(1, "double 2", **{"from": GUEST}))
    business.read(2)
    [asked] = [each for each in business.graph.messages if each["to"] == PERSON]
    reply = asked["interactive"]["action"]["buttons"][0]["reply"]
    [proposal] = app.proposals.list_open()
    assert reply["id"] == f"/approve {proposal.id}"
    pressed = {"type": "button_reply", "button_reply": reply}
    business.post(make_message(2, type="interactive", interactive=pressed))
    stored = keys.stored_value("main", "main", "double", "runs")
    business.read(3)
    with business.graph.changed:
        assert business.graph.changed.wait_for(lambda: app.kv.get(stored) is not None, within(20))


def test_a_text_that_somebody_sends_is_a_file_of_the_chat(
    business: Business, model: ScriptedModel
) -> None:
    business.graph.sent_files["77"] = b"# The plan\n"
    document = {"id": "77", "filename": "plan.md", "mime_type": "text/markdown"}
    business.post(make_message(1, type="document", document=document))
    business.read(1)
    assert "received/" in str(model.chats[0]["messages"][-1]["content"])


def test_owners_hear_that_a_chat_is_closed(
    runtime: Callable[..., AgentRuntime], graph: GraphApi, model: ScriptedModel
) -> None:
    made = runtime(llm_url=model.url, whatsapp_api=graph.url, **SETTINGS)
    recorder = AlertRecorder()
    failed = {
        "id": "wamid.OUT1",
        "status": "failed",
        "recipient_id": PERSON,
        "errors": [{"code": 131047, "title": "Re-engagement message"}],
    }
    request = sign(make_body(statuses=[failed, failed]))
    with serving(replace(made, notifier=recorder)) as server:
        answer = server.post(
            "/webhook/whatsapp", content=request.body, headers=dict(request.headers)
        )
        assert answer.status_code == 200
        # WhatsApp may also say so at once
        graph.fail(131047)
        business = Business(server, graph)
        business.post(make_message(1, "/whoami"))
        business.post(make_message(2, "/whoami"))
        business.read(1)
    assert [(alert.event, alert.reason, alert.session) for alert in recorder.told] == [
        ("CHAT_CLOSED", "whatsapp", f"whatsapp:{PERSON}")
    ]


def test_a_forged_request_reaches_nobody(business: Business, model: ScriptedModel) -> None:
    request = sign(make_body(make_message(1, "/halt")))
    for body, headers in ((request.body + b" ", request.headers), (request.body, {})):
        answer = business.server.post("/webhook/whatsapp", content=body, headers=dict(headers))
        assert answer.status_code == 401
    assert model.chats == []


def test_the_printed_steps_lead_an_owner_to_the_first_answer(
    runtime: Callable[..., AgentRuntime],
    graph: GraphApi,
    model: ScriptedModel,
    run_channel: RunChannel,
) -> None:
    code, out, err = run_channel("set", "whatsapp", "--url", "https://a.example")
    printed = json.loads(out)
    assert code == 0
    assert "WHATSAPP_VERIFY_TOKEN" in err
    path = printed["callback_url"].removeprefix("https://a.example")
    settings = {**SETTINGS, "whatsapp_verify_token": printed["verify_token"]}
    made = runtime(llm_url=model.url, whatsapp_api=graph.url, **settings)
    model.then(say("Here I am"))
    with serving(made) as server:
        business = Business(server, graph)
        query = {"hub.mode": "subscribe", "hub.challenge": "1158201444"}
        asked = {**query, "hub.verify_token": printed["verify_token"]}
        assert server.client.get(path, params=asked).text == "1158201444"
        assert server.client.get(path, params=query).status_code == 401
        business.post(make_message(1, "Are you there?"))
        assert business.read(1)[0]["text"]["body"] == "Here I am"


def test_status_and_list_tell_what_is_set(
    graph: GraphApi, monkeypatch: pytest.MonkeyPatch, run_channel: RunChannel
) -> None:
    monkeypatch.setenv("WHATSAPP_NUMBER", NUMBER)
    monkeypatch.setenv("WHATSAPP_VERIFY_TOKEN", VERIFY_TOKEN)
    monkeypatch.setenv("WHATSAPP_API", graph.url)
    code, _, err = run_channel("status", "whatsapp")
    assert (code, "WHATSAPP_TOKEN" in err) == (2, True)
    monkeypatch.setenv("WHATSAPP_TOKEN", TOKEN)
    assert run_channel("status", "whatsapp")[:2] == (
        0,
        "whatsapp @Sigil +1 631-555-1111: the bot answers\n",
    )
    rows = json.loads(run_channel("list", "--json")[1])
    row = next(each for each in rows if each["platform"] == "whatsapp")
    assert (row["state"], row["missing"]) == ("its webhook is refused", ["WHATSAPP_SECRET"])


def test_the_doctor_asks_for_the_number(graph: GraphApi) -> None:
    settings = make_settings(
        whatsapp_number=NUMBER, whatsapp_token=TOKEN, whatsapp_api=graph.url, data="/nonexistent"
    )
    assert check_platforms(settings) == "whatsapp: the bot @Sigil +1 631-555-1111 answers"
