"""DingTalk from outside: signed requests come in over HTTP, and its people see what is answered."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import httpx
import pytest

from functions.wiring import AgentRuntime
from sigil.protocol import Caller
from sigil.storage.kv import keys
from tests.fakes.dingtalk import (
    AES_KEY,
    ALICE,
    APP,
    BOB,
    SECRET,
    SESSION,
    DingTalkServer,
    encrypt,
    find_buttons,
    in_group,
    make_message,
    sign,
)
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.policy.asking import DOUBLE, QUERY, SPEC
from tests.functions.cli.channel_command import RunChannel
from tests.functions.serving import Served, serving
from tests.machine import within

SETTINGS: dict[str, Any] = {
    "dingtalk_app_key": APP,
    "dingtalk_app_secret": SECRET,
    "dingtalk_aes_key": AES_KEY,
    "access": "open",
    "guest_turns": 0,
    "guest_tokens": 0,
}
BOBS = {"senderStaffId": BOB, "senderNick": "Bob"}
BY_SESSION = f"session {SESSION}"


@dataclass
class Organization:
    """A served agent that Alice owns, and the DingTalk that its people sit at."""

    server: Served
    dingtalk: DingTalkServer
    written: int = 0

    def post(self, message: dict[str, Any]) -> httpx.Response:
        sealed = {"encrypt": encrypt(json.dumps(message).encode())}
        request = sign(json.dumps(sealed).encode(), time.time())
        return self.server.post(
            "/webhook/dingtalk", content=request.body, headers=dict(request.headers)
        )

    def write(self, said: Any, **message: Any) -> None:
        self.written += 1
        now = int(time.time() * 1000)
        times = {"createAt": now + self.written, "sessionWebhookExpiredTime": now + 5_400_000}
        answer = self.post(make_message(f"m{self.written}", said, **{**times, **message}))
        assert (answer.status_code, answer.content) == (200, b"")

    def read(self, count: int) -> list[str]:
        """Return what was written to people, as soon as that are `count` messages."""
        with self.dingtalk.changed:
            assert self.dingtalk.changed.wait_for(
                lambda: len(self.dingtalk.messages) >= count, within(20)
            ), self.dingtalk.texts()
        return self.dingtalk.texts()


@pytest.fixture
def dingtalk() -> Iterator[DingTalkServer]:
    with DingTalkServer() as server:
        yield server


@pytest.fixture
def organization(
    runtime: Callable[..., AgentRuntime], dingtalk: DingTalkServer, model: ScriptedModel
) -> Iterator[Organization]:
    addresses = {"dingtalk_api": dingtalk.url, "dingtalk_old_api": dingtalk.url}
    owners = (f"dingtalk:{ALICE}",)
    made = runtime(llm_url=model.url, owners=owners, **addresses, **SETTINGS)
    with serving(made) as server:
        yield Organization(server, dingtalk)


def test_a_private_message_is_answered_once_however_often_it_is_sent(
    organization: Organization, model: ScriptedModel
) -> None:
    model.then(say("**Hello** Alice"), say("Again"))
    now = int(time.time() * 1000)
    message = make_message("first", "hi", createAt=now, sessionWebhookExpiredTime=1)
    for _ in range(3):
        organization.post(message)
    organization.read(1)
    organization.write("and now?")
    assert organization.read(2) == ["**Hello** Alice", "Again"]
    # the first one's address had ended
    assert [each["to"] for each in organization.dingtalk.messages] == [ALICE, BY_SESSION]
    with organization.dingtalk.changed:
        assert organization.dingtalk.changed.wait_for(
            lambda: not organization.dingtalk.signs, within(20)
        )


def test_a_mention_in_a_group_is_answered_there_with_names(
    organization: Organization, model: ScriptedModel
) -> None:
    model.then(say("At noon, see [it](dtmd://dingtalkclient/sendMessage?content=%2Fhalt)"))
    organization.write(" when do we eat?", **in_group(**BOBS))
    organization.write("nobody asked you", **in_group(isInAtList=False))
    [answer] = organization.read(1)
    assert answer.startswith("At noon")
    assert "dtmd:" not in answer
    asked = str(model.chats[0]["messages"][-1]["content"])
    assert '"Bob"' in asked
    assert "when do we eat?" in asked
    organization.write(" /whoami", **in_group())
    assert f"dingtalk:{ALICE}" in organization.read(2)[1]
    assert len(model.chats) == 1


def test_what_is_overheard_after_listen_on_is_context(
    organization: Organization, model: ScriptedModel
) -> None:
    model.then(say("roses"))
    organization.write(" /listen on", **in_group())
    organization.read(1)
    organization.write("the roses need water", **in_group(isInAtList=False, **BOBS))
    organization.write(" what needs water?", **in_group())
    organization.read(2)
    assert "the roses need water" in str(model.chats[0]["messages"][-1]["content"])


def test_an_owner_approves_by_following_a_link_in_their_own_chat(
    organization: Organization, model: ScriptedModel
) -> None:
    app = organization.server.runtime.app
    app.registry.deploy(SPEC, Caller("main"))
    policy = 'format = 1\nrules = ["ask guest call double"]'
    app.policy_versions.write("main", "policy", policy, by="terminal:local")
    model.then(call(QUERY), call(DOUBLE), say("it waits"), say("4"))
    organization.write(" double 2", **in_group(**BOBS))
    organization.read(2)
    [asked] = [each for each in organization.dingtalk.messages if each["to"] == ALICE]
    approve = find_buttons(asked["content"]["text"])[0][1]
    [proposal] = app.proposals.list_open()
    command = unquote(approve.partition("content=")[2])
    assert command == f"/approve {proposal.id}"
    organization.write(command)
    stored = keys.stored_value("main", "main", "double", "runs")
    with organization.dingtalk.changed:
        assert organization.dingtalk.changed.wait_for(
            lambda: app.kv.get(stored) is not None, within(20)
        )


def test_a_text_that_somebody_sends_is_a_file_of_the_chat(
    organization: Organization, model: ScriptedModel
) -> None:
    organization.dingtalk.sent_files["c1"] = b"# The plan\n"
    organization.write({"downloadCode": "c1", "fileName": "plan.md"}, msgtype="file")
    organization.read(1)
    assert "received/" in str(model.chats[0]["messages"][-1]["content"])


def test_a_forged_request_reaches_nobody(organization: Organization, model: ScriptedModel) -> None:
    """The headers of one request, and what anybody can write below them."""
    plain = json.dumps(make_message("1", "/halt")).encode()
    captured = sign(plain, time.time())
    sealed = json.dumps({"encrypt": encrypt(plain, "A" * 43)}).encode()
    for body, headers in (
        (plain, dict(captured.headers)),
        (sealed, dict(captured.headers)),
        (plain, {}),
    ):
        answer = organization.server.post("/webhook/dingtalk", content=body, headers=headers)
        assert answer.status_code == 401
    assert model.chats == []


def test_the_printed_steps_lead_an_owner_to_the_first_answer(
    runtime: Callable[..., AgentRuntime],
    dingtalk: DingTalkServer,
    model: ScriptedModel,
    run_channel: RunChannel,
) -> None:
    """Without an aes_key, which the console may not offer, and where nobody is known yet."""
    _, out, _ = run_channel("set", "dingtalk", "--url", "https://a.example")
    url = json.loads(out)["message_url"]
    addresses = {"dingtalk_api": dingtalk.url, "dingtalk_old_api": dingtalk.url}
    plain = {**SETTINGS, "dingtalk_aes_key": ""}
    made = runtime(llm_url=model.url, **addresses, **plain)
    model.then(say("Here I am"))
    with serving(made) as server:
        now = time.time()
        message = make_message(
            "1", "Are you there?", sessionWebhookExpiredTime=int(now * 1000) + 5_400_000
        )
        request = sign(json.dumps(message).encode(), now)
        path = url.removeprefix("https://a.example")
        server.post(path, content=request.body, headers=dict(request.headers))
        assert Organization(server, dingtalk).read(1) == ["Here I am"]
