"""Feishu from outside: signed requests come in over HTTP, and its people see what is answered."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from functions.wiring import AgentRuntime
from sigil.protocol import Caller
from sigil.storage.kv import keys
from tests.fakes.feishu import (
    ALICE,
    APP,
    APP_SECRET,
    BOB,
    BOT,
    GROUP,
    SECRETS,
    FeishuServer,
    encrypt,
    make_message,
    make_payload,
    make_press,
    sign,
)
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.policy.asking import DOUBLE, QUERY, SPEC
from tests.functions.cli.channel_command import RunChannel
from tests.functions.serving import Served, serving
from tests.machine import within

US = {"@_user_1": (BOT, "Sigil")}
SETTINGS: dict[str, Any] = {
    "feishu_app_id": APP,
    "feishu_app_secret": APP_SECRET,
    "feishu_verification_token": SECRETS.verification_token,
    "feishu_encrypt_key": SECRETS.encrypt_key,
    "access": "open",
    "guest_turns": 0,
    "guest_tokens": 0,
}


@dataclass
class Tenant:
    """A served agent that Alice owns, and the Feishu that its people sit at."""

    server: Served
    feishu: FeishuServer
    written: int = field(default=0)

    def post(self, payload: dict[str, Any]) -> httpx.Response:
        request = sign(encrypt(payload), time=int(time.time()))
        return self.server.post("/webhook/feishu", content=request.body, headers=request.headers)

    def write(self, said: Any, **message: Any) -> None:
        self.written += 1
        at = f"{1_770_000_000_000 + self.written}"
        payload = make_message(f"m{self.written}", said, **{"create_time": at, **message})
        answer = self.post(payload)
        assert (answer.status_code, answer.content) == (200, b"{}")

    def read(self, count: int) -> list[str]:
        """Return what was written to people, as soon as that are `count` messages."""
        with self.feishu.changed:
            assert self.feishu.changed.wait_for(
                lambda: len(self.feishu.messages) >= count, within(20)
            ), self.feishu.texts()
        return self.feishu.texts()

    def wait_for_no_sign(self) -> None:
        with self.feishu.changed:
            assert self.feishu.changed.wait_for(lambda: not self.feishu.reactions, within(20))


@pytest.fixture
def feishu() -> Iterator[FeishuServer]:
    with FeishuServer() as server:
        yield server


@pytest.fixture
def tenant(
    runtime: Callable[..., AgentRuntime], feishu: FeishuServer, model: ScriptedModel
) -> Iterator[Tenant]:
    owners = (f"feishu:{ALICE}",)
    made = runtime(llm_url=model.url, feishu_api=feishu.url, owners=owners, **SETTINGS)
    with serving(made) as server:
        yield Tenant(server, feishu)


def test_a_private_message_is_answered_once_however_often_it_is_sent(
    tenant: Tenant, model: ScriptedModel
) -> None:
    model.then(say("**Hello** Alice"), say("Again"))
    for _ in range(3):
        tenant.post(make_message("first", "hi"))
    tenant.read(1)
    tenant.write("and now?")
    assert tenant.read(2) == ["**Hello** Alice", "Again"]
    assert {message["to"] for message in tenant.feishu.messages} == {ALICE}
    tenant.wait_for_no_sign()


def test_a_mention_in_a_thread_is_answered_there_with_names(
    tenant: Tenant, model: ScriptedModel
) -> None:
    model.then(say("At noon, <at id=all></at>"))
    thread = {"group": GROUP, "thread_id": "omt_1", "root_id": "om_root"}
    mentions = {**US, "@_user_2": (ALICE, "Alice")}
    said = "@_user_1 when do @_user_2 and I eat?"
    tenant.write(said, sender=BOB, mentions=mentions, **thread)
    tenant.write("nobody asked you", **thread)
    assert tenant.read(1) == ["At noon, &#60;at id=all>&#60;/at>"]
    (message,) = tenant.feishu.messages
    assert (message["to"], message["reply_in_thread"]) == ("om_root", True)
    asked = str(model.chats[0]["messages"][-1]["content"])
    assert '"Bob"' in asked
    assert "when do @Alice and I eat?" in asked
    tenant.write("@_user_1 /whoami", mentions=US, **thread)
    assert f"feishu:{ALICE}" in tenant.read(2)[1]
    assert len(model.chats) == 1


def test_messages_that_wait_for_a_turn_have_their_sender_and_what_they_answer(
    tenant: Tenant, model: ScriptedModel
) -> None:
    here = {"group": GROUP, "sender": BOB, "mentions": US}
    tenant.feishu.stored["om_plan"] = {
        "msg_type": "text",
        "body": {"content": json.dumps({"text": "soup on Friday"})},
        "sender": {"id": ALICE, "id_type": "open_id", "sender_type": "user"},
    }

    def answer_late(body: dict[str, Any]) -> dict[str, Any]:
        tenant.write("@_user_1 two", **here)
        tenant.write("@_user_1 three", parent_id="om_plan", **here)
        return say("first")

    model.then(answer_late, say("both"))
    tenant.write("@_user_1 one", **here)
    assert tenant.read(2)[1] == "both"
    read = [str(each["content"]) for each in model.chats[-1]["messages"]]
    [two] = [each for each in read if each.endswith("two")]
    [three] = [each for each in read if each.endswith("three")]
    assert '"Bob"' in two
    assert '"Bob"' in three
    assert "soup on Friday" in three


def test_what_is_overheard_after_listen_on_is_context(tenant: Tenant, model: ScriptedModel) -> None:
    model.then(say("roses"))
    here = {"group": GROUP}
    tenant.write("@_user_1 /listen on", mentions=US, **here)
    tenant.read(1)
    for text in ("the roses need water", "and the lawn"):
        tenant.write(text, sender=BOB, **here)
    tenant.write("@_user_1 what needs water?", mentions=US, **here)
    tenant.read(2)
    asked = str(model.chats[0]["messages"][-1]["content"])
    assert "the roses need water" in asked
    assert "and the lawn" in asked


def test_an_owner_approves_by_a_button_in_their_own_chat(
    tenant: Tenant, model: ScriptedModel
) -> None:
    app = tenant.server.runtime.app
    app.registry.deploy(SPEC, Caller("main"))
    policy = 'format = 1\nrules = ["ask guest call double"]'
    app.policy_versions.write("main", "policy", policy, by="terminal:local")
    model.then(call(QUERY), call(DOUBLE), say("it waits"), say("4"))
    tenant.write("@_user_1 double 2", sender=BOB, group=GROUP, mentions=US)
    tenant.read(2)
    [asked] = [each for each in tenant.feishu.messages if each["to"] == ALICE]
    row = asked["content"]["body"]["elements"][-1]
    approve = row["columns"][0]["elements"][0]["behaviors"][0]["value"]
    [proposal] = app.proposals.list_open()
    assert approve["command"] == f"/approve {proposal.id}"
    forwarded = tenant.post(make_press("p1", approve, by=BOB, chat=GROUP))
    assert (forwarded.status_code, forwarded.content) == (200, b"{}")
    tenant.post(make_press("p2", approve, by=ALICE, chat="oc_privat"))
    stored = keys.stored_value("main", "main", "double", "runs")
    with tenant.feishu.changed:
        assert tenant.feishu.changed.wait_for(lambda: app.kv.get(stored) is not None, within(20))


def test_a_text_that_somebody_sends_is_a_file_of_the_chat(
    tenant: Tenant, model: ScriptedModel
) -> None:
    tenant.feishu.sent_files["file_v3_1"] = b"# The plan\n"
    tenant.write({"file_key": "file_v3_1", "file_name": "plan.md"}, message_type="file")
    tenant.read(1)
    assert "received/" in str(model.chats[0]["messages"][-1]["content"])
    content = json.dumps({"file_key": "file_v3_1", "file_name": "report.txt"})
    sender = {"id": ALICE, "id_type": "open_id", "sender_type": "user"}
    file = {"msg_type": "file", "body": {"content": content}, "sender": sender}
    tenant.feishu.stored["om_file1"] = file | {"chat_id": "oc_privat"}
    tenant.feishu.stored["om_file2"] = file | {"chat_id": GROUP}
    for number, parent in enumerate(("om_file1", "om_file2"), 2):
        tenant.write("summarize this file", parent_id=parent, root_id=parent)
        tenant.read(number)
    here, elsewhere = (str(chat["messages"][-1]["content"]) for chat in model.chats[1:])
    named = '[document: "report.txt", kept as received/report.txt: read-file reads it]'
    assert f"[in reply to the sender] {named}" in here
    # what stands in another chat is brought from nowhere
    assert "report.txt" not in elsewhere


def test_whoever_takes_us_into_a_group_is_greeted(tenant: Tenant) -> None:
    added = {"chat_id": GROUP, "operator_id": {"open_id": BOB}, "name": "Plans"}
    tenant.post(make_payload("im.chat.member.bot.added_v1", added))
    assert tenant.read(1)[0]
    assert tenant.feishu.messages[0]["to"] == GROUP


def test_a_forged_request_reaches_nobody(tenant: Tenant, model: ScriptedModel) -> None:
    request = sign(encrypt(make_message("1", "/halt")), time=int(time.time()))
    for body, headers in (
        (request.body + b" ", request.headers),
        (request.body, {}),
        (json.dumps(make_message("1", "/halt")).encode(), {}),
    ):
        answer = tenant.server.post("/webhook/feishu", content=body, headers=dict(headers))
        assert answer.status_code == 401
    assert model.chats == []


def test_the_printed_steps_lead_an_owner_to_the_first_answer(
    runtime: Callable[..., AgentRuntime],
    feishu: FeishuServer,
    model: ScriptedModel,
    run_channel: RunChannel,
) -> None:
    """Without an encrypt key, which the console makes only when it is asked to."""
    _, out, err = run_channel("set", "feishu", "--url", "https://a.example")
    feishu.scopes = json.loads(out)["scopes"]["tenant"]
    _, _, path = err.partition("https://a.example")
    made = runtime(
        llm_url=model.url, feishu_api=feishu.url, **{**SETTINGS, "feishu_encrypt_key": ""}
    )
    model.then(say("Here I am"))
    with serving(made) as server:
        token = SECRETS.verification_token
        asked = {"type": "url_verification", "challenge": "ajls384k", "token": token}
        answer = server.post(path.split()[0], json=asked)
        assert answer.json() == {"challenge": "ajls384k"}
        server.post(path.split()[0], json=make_message("1", "Are you there?"))
        assert Tenant(server, feishu).read(1) == ["Here I am"]
