"""WeCom from outside: signed requests come in over HTTP, and its people see what is answered."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest

from functions.wiring import AgentRuntime
from sigil.protocol import Caller
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.wecom import (
    AES_KEY,
    AGENT,
    ALICE,
    BOB,
    CORP,
    SECRET,
    TOKEN,
    WeComServer,
    ask_challenge,
    make_message,
    make_press,
    pack,
)
from tests.functions.agent.policy.asking import DOUBLE, QUERY, SPEC
from tests.functions.cli.channel_command import RunChannel
from tests.functions.serving import Served, serving
from tests.machine import within

SETTINGS: dict[str, Any] = {
    "wecom_corp_id": CORP,
    "wecom_agent_id": AGENT,
    "wecom_secret": SECRET,
    "wecom_token": TOKEN,
    "wecom_aes_key": AES_KEY,
    "access": "open",
    "guest_turns": 0,
    "guest_tokens": 0,
}


@dataclass
class Organization:
    """A served agent that Alice owns, and the WeCom that its people sit at."""

    server: Served
    wecom: WeComServer
    written: int = 0

    def post(self, plain: bytes) -> httpx.Response:
        request = pack(plain, time.time())
        return self.server.post(
            "/webhook/wecom",
            content=request.body,
            headers=dict(request.headers),
            params=dict(request.query),
        )

    def write(self, said: Any, **message: Any) -> None:
        self.written += 1
        times = {"CreateTime": int(time.time()) + self.written}
        answer = self.post(make_message(self.written, said, **{**times, **message}))
        assert (answer.status_code, answer.content) == (200, b"")

    def read(self, count: int) -> list[str]:
        """Return what was written to people, as soon as that are `count` messages."""
        with self.wecom.changed:
            assert self.wecom.changed.wait_for(
                lambda: len(self.wecom.messages) >= count, within(20)
            ), self.wecom.texts()
        return self.wecom.texts()


@pytest.fixture
def wecom() -> Iterator[WeComServer]:
    with WeComServer() as server:
        yield server


@pytest.fixture
def organization(
    runtime: Callable[..., AgentRuntime], wecom: WeComServer, model: ScriptedModel
) -> Iterator[Organization]:
    owners = (f"wecom:{ALICE}",)
    made = runtime(llm_url=model.url, wecom_api=wecom.url, owners=owners, **SETTINGS)
    with serving(made) as server:
        yield Organization(server, wecom)


def test_a_message_is_answered_once_however_often_it_is_sent(
    organization: Organization, model: ScriptedModel
) -> None:
    model.then(say("**Hello** Alice <@all>"), say("Again"))
    for _ in range(3):
        organization.post(make_message(77, "hi"))
    organization.read(1)
    organization.write("and now?", CreateTime=int(time.time()) + 5)
    assert organization.read(2) == ["**Hello** Alice <\u200b@all>", "Again"]
    assert {message["touser"] for message in organization.wecom.messages} == {ALICE}
    asked = str(model.chats[0]["messages"][-1]["content"])
    assert "hi" in asked
    assert len(model.chats) == 2


def test_commands_are_answered_without_the_model(
    organization: Organization, model: ScriptedModel
) -> None:
    organization.write("/whoami", FromUserName=BOB)
    [answer] = organization.read(1)
    assert f"wecom:{BOB}" in answer
    assert model.chats == []


def test_an_owner_approves_by_a_button(organization: Organization, model: ScriptedModel) -> None:
    app = organization.server.runtime.app
    app.registry.deploy(SPEC, Caller("main"))
    policy = 'format = 1\nrules = ["ask guest call double"]'
    app.policy_versions.write("main", "policy", policy, by="terminal:local")
    model.then(call(QUERY), call(DOUBLE), say("it waits"), say("4"))
    organization.write("double 2", FromUserName=BOB)
    organization.read(3)
    [card] = [each for each in organization.wecom.messages if each["msgtype"] == "template_card"]
    assert card["touser"] == ALICE
    approve = card["template_card"]["button_list"][0]["key"]
    [proposal] = app.proposals.list_open()
    assert approve == f"/approve {proposal.id}"
    organization.post(make_press(approve, by=BOB))
    organization.post(make_press(approve, by=ALICE))
    stored = keys.stored_value("main", "main", "double", "runs")
    with organization.wecom.changed:
        assert organization.wecom.changed.wait_for(
            lambda: app.kv.get(stored) is not None, within(20)
        )


def test_a_text_that_somebody_sends_is_a_file_of_the_chat(
    organization: Organization, model: ScriptedModel
) -> None:
    organization.wecom.sent_files["m1"] = b"# The plan\n"
    organization.write({"MsgType": "file", "MediaId": "m1", "FileName": "plan.md"})
    organization.read(1)
    assert "received/" in str(model.chats[0]["messages"][-1]["content"])


def test_a_forged_request_reaches_nobody(organization: Organization, model: ScriptedModel) -> None:
    now = time.time()
    request = pack(make_message(1, "/halt"), now)
    other = pack(make_message(1, "/halt"), now, key="B" * 43)
    bomb = b'<!DOCTYPE xml [<!ENTITY a "aaaa">]><xml><Encrypt>&a;</Encrypt></xml>'
    for forged in (
        replace(request, query={}),
        replace(request, query={**request.query, "nonce": "another"}),
        replace(request, body=other.body),
        replace(request, body=bomb),
        other,
    ):
        answer = organization.server.post(
            "/webhook/wecom", content=forged.body, params=dict(forged.query)
        )
        assert answer.status_code == 401
    assert model.chats == []


def test_the_printed_steps_lead_an_owner_to_the_first_answer(
    runtime: Callable[..., AgentRuntime],
    wecom: WeComServer,
    model: ScriptedModel,
    run_channel: RunChannel,
) -> None:
    _, out, _ = run_channel("set", "wecom", "--url", "https://a.example")
    path = json.loads(out)["url"].removeprefix("https://a.example")
    made = runtime(llm_url=model.url, wecom_api=wecom.url, **SETTINGS)
    model.then(say("Here I am"))
    with serving(made) as server:
        question = ask_challenge(b"4711", time.time())
        answer = server.client.get(path, params=dict(question.query))
        assert (answer.status_code, answer.content) == (200, b"4711")
        organization = Organization(server, wecom)
        organization.write("Are you there?")
        assert organization.read(1) == ["Here I am"]
