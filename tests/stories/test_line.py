"""People talk to the agent on LINE: in their own chats and in groups."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from functions.cli.doctor import check_platforms
from functions.settings import Settings
from functions.wiring import AgentRuntime
from sigil.protocol import Caller
from tests.fakes.line import (
    GROUP,
    MONTHLY,
    PERSON,
    SECRET,
    TOKEN,
    LineServer,
    make_body,
    make_event,
    make_message,
    mention_us,
    sign,
)
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.policy.asking import DOUBLE, QUERY, SPEC
from tests.functions.alerts import AlertRecorder
from tests.functions.cli.channel_command import RunChannel
from tests.functions.serving import Served, serving
from tests.machine import within

GUEST = "U" + "9" * 32
SETTINGS: dict[str, Any] = {
    "line_token": TOKEN,
    "line_secret": SECRET,
    "access": "open",
    "guest_turns": 0,
    "guest_tokens": 0,
}


@dataclass
class Account:
    """A served agent, and the LINE that people write to it with."""

    server: Served
    line: LineServer

    def post(self, *events: dict[str, Any]) -> int:
        request = sign(make_body(*events))
        headers = dict(request.headers)
        return self.server.post("/webhook/line", content=request.body, headers=headers).status_code

    def read(self, count: int) -> list[dict[str, Any]]:
        """Return what was written to people, as soon as that are `count` messages."""
        with self.line.changed:
            assert self.line.changed.wait_for(
                lambda: len(self.line.messages) >= count, within(20)
            ), self.line.messages
        return self.line.messages


@pytest.fixture
def line() -> Iterator[LineServer]:
    with LineServer() as server:
        yield server


@pytest.fixture
def account(
    runtime: Callable[..., AgentRuntime], line: LineServer, model: ScriptedModel
) -> Iterator[Account]:
    made = runtime(llm_url=model.url, line_api=line.url, owners=(f"line:{PERSON}",), **SETTINGS)
    with serving(made) as server:
        yield Account(server, line)


def test_a_message_is_answered_once_however_often_it_is_sent(
    account: Account, model: ScriptedModel
) -> None:
    model.then(say("**Hello** Kerry"), say("Again"))
    for is_redelivery in (False, True):
        context = {"isRedelivery": is_redelivery}
        assert account.post(make_message(1, "hi") | {"deliveryContext": context}) == 200
    account.read(1)
    assert account.post(make_message(2, "and now?")) == 200
    sent = account.read(2)
    assert [(each["text"], each["by"], each["to"]) for each in sent] == [
        ("Hello Kerry", "reply", "reply1"),
        ("Again", "reply", "reply2"),
    ]
    assert account.line.loading[0] == PERSON


def test_a_group_is_greeted_and_answered_when_it_names_the_agent(
    account: Account, model: ScriptedModel
) -> None:
    model.then(say("Noon"))
    account.post(make_event("join", 1, source={"type": "group", "groupId": GROUP}))
    [greeting] = account.read(1)
    assert "@Sigil" in greeting["text"]
    account.post(make_message(2, "I am hungry", chat=GROUP))
    account.post(make_message(3, "@Sigil when is lunch?", chat=GROUP, mention=mention_us("@Sigil")))
    answer = account.read(2)[1]
    assert (answer["text"], answer["quoteToken"]) == ("Noon", "quote3")
    [asked] = model.chats
    assert "Kerry" in str(asked["messages"][-1]["content"])


def test_after_a_restart_an_answer_to_our_message_needs_no_mention(
    runtime: Callable[..., AgentRuntime], line: LineServer, model: ScriptedModel
) -> None:
    model.then(say("Soup or salad?"), say("Soup it is"))
    asked = make_message(1, "@Sigil lunch?", chat=GROUP, mention=mention_us("@Sigil"))
    with serving(runtime(llm_url=model.url, line_api=line.url, **SETTINGS)) as server:
        account = Account(server, line)
        account.post(asked)
        account.read(1)
    with serving(runtime(llm_url=model.url, line_api=line.url, **SETTINGS)) as server:
        account = Account(server, line)
        account.post(
            make_message(2, "to somebody else", chat=GROUP, quotedMessageId="77"),
            make_message(3, "the first", chat=GROUP, quotedMessageId="900001"),
        )
        assert account.read(2)[1]["text"] == "Soup it is"
    read = str(model.chats[1]["messages"][-1]["content"])
    assert "Soup or salad?" in read
    assert "the first" in read
    assert "to somebody else" not in str(model.chats)


def test_a_new_friend_is_greeted(account: Account, model: ScriptedModel) -> None:
    account.post(make_event("follow", 1))
    [hello] = account.read(1)
    assert "/help" in hello["text"]
    account.post(make_message(2, "/whoami"))
    assert f"line:{PERSON}" in account.read(2)[1]["text"]
    assert model.chats == []


def test_an_owner_approves_by_a_button(account: Account, model: ScriptedModel) -> None:
    app = account.server.runtime.app
    app.registry.deploy(SPEC, Caller("main"))
    policy = 'format = 1\nrules = ["ask guest call double"]'
    app.policy_versions.write("main", "policy", policy, by="terminal:local")
    model.then(call(QUERY), call(DOUBLE), say("it waits"), say("4"))
    source = {"type": "user", "userId": GUEST}
    account.post(make_message(1, "double 2") | {"source": source})
    account.read(3)
    [asked] = [each for each in account.line.messages if each["type"] == "flex"]
    action = asked["contents"]["body"]["contents"][0]["action"]
    assert asked["to"] == PERSON
    account.post(make_event("postback", 2, postback={"data": action["data"]}))
    account.read(5)
    assert account.line.texts()[-1].endswith("\n4")


def test_a_text_that_somebody_sends_is_a_file_of_the_chat(
    account: Account, model: ScriptedModel
) -> None:
    account.line.files["500001"] = b"# The plan\n"
    account.post(make_message(1, type="file", fileName="plan.md", fileSize=11))
    account.read(1)
    assert "received/" in str(model.chats[0]["messages"][-1]["content"])


def test_owners_hear_that_the_months_messages_are_used_up(
    runtime: Callable[..., AgentRuntime], line: LineServer, model: ScriptedModel
) -> None:
    made = runtime(llm_url=model.url, line_api=line.url, **SETTINGS)
    line.fail("/v2/bot/message/push", 429, MONTHLY, times=2)
    line.tokens.update(("reply1", "reply2"))
    recorder = AlertRecorder()

    with serving(replace(made, notifier=recorder)) as server:
        account = Account(server, line)
        for number in (1, 2):
            account.post(make_message(number, f"/whoami {number}"))
        with line.changed:
            assert line.changed.wait_for(
                lambda: line.count("/v2/bot/message/push") == 2, within(20)
            )
        account.post(make_message(3, "/whoami"))
        account.read(1)
    assert [(alert.event, alert.reason) for alert in recorder.told] == [
        ("MESSAGES_USED_UP", "line")
    ]


def test_a_forged_request_reaches_nobody(account: Account, model: ScriptedModel) -> None:
    request = sign(make_body(make_message(1, "/halt")))
    for body, headers in ((request.body + b" ", request.headers), (request.body, {})):
        answer = account.server.post("/webhook/line", content=body, headers=dict(headers))
        assert answer.status_code == 401
    assert model.chats == []


def test_an_owner_comes_from_nothing_to_the_first_answer(
    runtime: Callable[..., AgentRuntime],
    line: LineServer,
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    run_channel: RunChannel,
) -> None:
    monkeypatch.setenv("LINE_API", line.url)
    code, _, err = run_channel("set", "line", "--url", "https://a.example")
    assert (code, "LINE_TOKEN" in err) == (2, True)
    monkeypatch.setenv("LINE_TOKEN", TOKEN)
    monkeypatch.setenv("LINE_SECRET", SECRET)
    code, out, _ = run_channel("set", "line", "--url", "https://a.example")
    assert (code, line.endpoint) == (0, "https://a.example/webhook/line")
    assert line.endpoint in out
    made = runtime(llm_url=model.url, line_api=line.url, **SETTINGS)
    model.then(say("Here I am"))
    with serving(made) as server:
        account = Account(server, line)
        assert account.post() == 200
        account.post(make_message(1, "Are you there?"))
        assert account.read(1)[0]["text"] == "Here I am"


def test_status_list_and_the_doctor_tell_what_is_set(
    line: LineServer, monkeypatch: pytest.MonkeyPatch, run_channel: RunChannel
) -> None:
    monkeypatch.setenv("LINE_API", line.url)
    monkeypatch.setenv("LINE_TOKEN", TOKEN)
    assert run_channel("status", "line")[:2] == (
        1,
        "line @Sigil: no webhook is set\n",
    )
    line.endpoint = "https://a.example/webhook/line"
    code, out, _ = run_channel("status", "line")
    assert (code, line.endpoint in out) == (0, True)
    code, _, err = run_channel("unset", "line")
    assert (code, "Use webhook" in err) == (5, True)
    rows = json.loads(run_channel("list", "--json")[1])
    row = next(each for each in rows if each["platform"] == "line")
    assert (row["state"], row["missing"]) == ("its webhook is refused", ["LINE_SECRET"])
    settings = Settings.read()
    assert check_platforms(settings) == "line: the bot @Sigil answers, its webhook works"
