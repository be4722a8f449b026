"""Slack from outside: signed requests come in over HTTP, and a workspace sees what is answered."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from functions.channels.platforms import write_pairing
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.protocol import Caller
from sigil.storage.kv import keys
from tests.fakes import slack as fake
from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.slack import ADA, BOB, BOT, CHAT, DIRECT, SECRET, TEAM, SlackWorkspace
from tests.functions.agent.policy.asking import DOUBLE, QUERY, SPEC
from tests.functions.cli.channel_command import RunChannel
from tests.functions.serving import Served, serving
from tests.machine import within

THREAD = "1779999999.000200"
_NUMBERS = itertools.count(1)


@dataclass(frozen=True)
class Workplace:
    """A served agent that Ada owns, and the workspace that its people sit in."""

    server: Served
    workspace: SlackWorkspace

    def post(self, request: tuple[Any, bytes]) -> httpx.Response:
        headers, body = request
        answer = self.server.post("/webhook/slack", content=body, headers=headers)
        assert (answer.status_code, answer.content) == (200, b"")
        return answer

    def write(self, text: str, user: str = ADA, channel: str = DIRECT, **more: Any) -> str:
        """Send a message, and return its time."""
        ts = f"1780000000.{next(_NUMBERS):06d}"
        message = fake.message(text, ts, user, channel, **more)
        self.post(fake.json_request(fake.event_payload(message)))
        return ts

    def wait_for(self, taken: list[Any], count: int) -> list[Any]:
        """Return what the workspace took, as soon as that are `count`."""
        with self.workspace.changed:
            assert self.workspace.changed.wait_for(lambda: len(taken) >= count, within(20)), taken
            return list(taken)

    def wait_for_no_sign(self) -> None:
        """Return once nothing shows any more that an answer is on its way."""
        with self.workspace.changed:
            assert self.workspace.changed.wait_for(lambda: not self.workspace.reactions, within(20))

    def read(self, count: int) -> list[str]:
        return [each["seen"] for each in self.wait_for(self.workspace.messages, count)]


@pytest.fixture
def workspace() -> Iterator[SlackWorkspace]:
    with SlackWorkspace() as found:
        yield found


@pytest.fixture
def owners() -> tuple[str, ...]:
    return (f"slack:{TEAM}.{ADA}",)


@pytest.fixture
def workplace(
    runtime: Callable[..., AgentRuntime],
    workspace: SlackWorkspace,
    model: ScriptedModel,
    owners: tuple[str, ...],
) -> Iterator[Workplace]:
    made = runtime(
        llm_url=model.url,
        slack_token=workspace.token,
        slack_secret=SECRET,
        slack_api=workspace.api,
        owners=owners,
        access="open",
        guest_turns=0,
        guest_tokens=0,
    )
    with serving(made) as server:
        yield Workplace(server, workspace)


def test_a_private_message_is_answered_once_however_often_it_is_sent(
    workplace: Workplace, model: ScriptedModel
) -> None:
    model.then(say("**Hello** Ada"), say("Again"))
    message = fake.message("hi", "1779999999.100000")
    for number in range(3):
        body = fake.event_payload(message, event_id=f"Ev{number}")
        workplace.post(fake.json_request(body))
    workplace.read(1)
    workplace.write("and now?")
    assert workplace.read(2) == ["Hello Ada", "Again"]
    assert {each["channel"] for each in workplace.workspace.messages} == {DIRECT}
    workplace.wait_for_no_sign()


def test_a_mention_in_a_thread_is_answered_there_with_names(
    workplace: Workplace, model: ScriptedModel
) -> None:
    model.then(say(f"Lunch at noon, <@{BOB}> <!here>"))
    text = f"<@{BOT}> when do <@{BOB}> and I eat?"
    ts = workplace.write(text, BOB, CHAT, thread_ts=THREAD)
    copy = fake.message(text, ts, BOB, CHAT, thread_ts=THREAD) | {"type": "app_mention"}
    workplace.post(fake.json_request(fake.event_payload(copy)))
    workplace.write("nobody asked you", ADA, CHAT, thread_ts=THREAD)
    assert workplace.read(1) == [f"Lunch at noon, <@{BOB}> <!here>"]
    assert workplace.workspace.messages[0]["thread_ts"] == THREAD
    assert workplace.workspace.pings == []
    asked = str(model.chats[0]["messages"][-1]["content"])
    assert '"Bob B."' in asked
    assert "when do @Bob B. and I eat?" in asked
    workplace.write(f"<@{BOT}> !help", ADA, CHAT, thread_ts=THREAD)
    said = workplace.read(2)[1]
    assert "write ! instead of /" in said
    # the lines can be typed as they stand
    assert "!new: " in said
    assert "/new" not in said
    assert len(model.chats) == 1


@pytest.mark.parametrize("owners", [()], ids=["no owner"])
def test_the_first_owner_sends_what_can_be_typed_and_reads_what_can_be_typed(
    workplace: Workplace, model: ScriptedModel
) -> None:
    code = workplace.server.runtime.app.claim.offer_code()
    assert write_pairing(code, ("slack",)) == f"`!pair {code}`"
    for number, wrong in enumerate(("0000-0000-0000", "`!pair 0000-0000-0000`", "!pair 1"), 1):
        workplace.write(wrong)
        assert f"You have {5 - number} tries left" in workplace.read(number)[-1]
    workplace.write(code)
    told = workplace.read(4)[3]
    assert "!help shows what I can do, and !pair who else" in told
    workplace.write("!remind tomorrow at nine call Bob")
    assert "!wakeups drop 1 takes it back" in workplace.read(5)[4]
    model.then(say("Write /remind, or see /usr/bin/help."))
    workplace.write("how?")
    # what the model says is its own: it was told how commands are written here
    assert workplace.read(6)[5] == "Write /remind, or see /usr/bin/help."
    assert "People type commands here as !help" in str(model.chats[0]["messages"][0]["content"])


def test_a_slash_command_is_answered_at_its_address(workplace: Workplace) -> None:
    fields = fake.command("whoami", response_url=workplace.workspace.response_url)
    workplace.post(fake.form_request(fields))
    [response] = workplace.wait_for(workplace.workspace.responses, 1)
    assert f"slack:{TEAM}.{ADA}" in response["seen"]
    assert workplace.workspace.messages == []


def test_an_owner_approves_by_a_button_in_their_own_chat(
    workplace: Workplace, model: ScriptedModel
) -> None:
    app = workplace.server.runtime.app
    app.registry.deploy(SPEC, Caller("main"))
    policy = 'format = 1\nrules = ["ask guest call double"]'
    app.policy_versions.write("main", "policy", policy, by="terminal:local")
    model.then(call(QUERY), call(DOUBLE), say("it waits"))
    workplace.write(f"<@{BOT}> double 2", BOB, CHAT)
    workplace.read(2)
    [asked] = [each for each in workplace.workspace.messages if each["channel"] == DIRECT]
    approve, deny = asked["blocks"][-1]["elements"]
    [proposal] = app.proposals.list_open()
    assert approve["value"] == f"/approve {proposal.id}"
    assert deny["value"] == f"/deny {proposal.id}"
    model.then(say("4"))
    workplace.post(fake.form_request(fake.press(approve["value"], CHAT, BOB)))
    workplace.post(fake.form_request(fake.press(approve["value"], DIRECT)))
    workplace.read(4)
    stored = keys.stored_value("main", "main", "double", "runs")
    with workplace.workspace.changed:
        assert workplace.workspace.changed.wait_for(
            lambda: app.kv.get(stored) is not None, within(20)
        )


def test_a_text_that_somebody_sends_is_a_file_of_the_chat(
    workplace: Workplace, model: ScriptedModel
) -> None:
    workplace.workspace.sent_files["F0FILE001"] = b"# The plan\n"
    file = {"id": "F0FILE001", "name": "plan.md", "mimetype": "text/markdown", "size": 11}
    workplace.write("read this", subtype="file_share", files=[file])
    workplace.read(1)
    assert "received/" in str(model.chats[0]["messages"][-1]["content"])
    # below it, in a thread, which is a place of its own
    first = fake.message("", THREAD, BOB, DIRECT, subtype="file_share", files=[file])
    workplace.workspace.first_messages.append(first)
    workplace.write("and what does it say?", thread_ts=THREAD)
    workplace.read(2)
    quoted = str(model.chats[1]["messages"][-1]["content"])
    assert '] [document: "plan.md", kept as received/plan.md: read-file reads it]' in quoted
    # one from another workspace comes with its id alone
    workplace.workspace.file_fields["F0FILE001"] = {"name": "more.md", "mimetype": "text/plain"}
    stub = {"id": "F0FILE001", "mode": "file_access", "file_access": "check_file_info"}
    workplace.write("and this", subtype="file_share", files=[stub])
    workplace.read(3)
    assert "received/more.md" in str(model.chats[2]["messages"][-1]["content"])
    workplace.write("this?", subtype="file_share", files=[{**stub, "id": "F0FILE002"}])
    lost = ENGLISH.file_problems["not_fetched"].format(name=ENGLISH.file_unnamed)
    assert workplace.read(4)[3].startswith(lost[:1].upper() + lost[1:])


def test_whoever_takes_us_into_a_channel_is_greeted(workplace: Workplace) -> None:
    joined = {
        "type": "member_joined_channel",
        "user": BOT,
        "channel": CHAT,
        "team": TEAM,
        "inviter": BOB,
        "event_ts": "1780000000.200000",
    }
    workplace.post(fake.json_request(fake.event_payload(joined)))
    assert "@sigil" in workplace.read(1)[0]


def test_a_forged_request_reaches_nobody(workplace: Workplace, model: ScriptedModel) -> None:
    headers, body = fake.json_request(fake.event_payload(fake.message("/halt", "1780000000.1")))
    for changed in (body + b" ", body.replace(b"halt", b"help")):
        answer = workplace.server.post("/webhook/slack", content=changed, headers=headers)
        assert answer.status_code == 401
    assert workplace.server.post("/webhook/slack", content=body).status_code == 401
    assert model.chats == []


def test_the_printed_steps_lead_an_owner_to_the_first_answer(
    runtime: Callable[..., AgentRuntime],
    workspace: SlackWorkspace,
    model: ScriptedModel,
    run_channel: RunChannel,
    tmp_path: Path,
) -> None:
    code, out, err = run_channel("set", "slack", "--url", "https://a.example")
    assert not code
    manifest = json.loads(out)
    address = manifest["settings"]["event_subscriptions"]["request_url"]
    assert "SLACK_TOKEN" in err
    # the workspace gives the app what its manifest asks for
    workspace.scopes = ",".join(manifest["oauth_config"]["scopes"]["bot"])
    made = runtime(
        llm_url=model.url,
        slack_token=workspace.token,
        slack_secret=SECRET,
        slack_api=workspace.api,
        access="open",
    )
    model.then(say("Hello!"))
    with serving(made) as server:
        path = address.removeprefix("https://a.example")
        challenge = {"type": "url_verification", "challenge": "c" * 50, "token": "t"}
        headers, body = fake.json_request(challenge)
        answer = server.post(path, content=body, headers=headers)
        assert answer.json() == {"challenge": "c" * 50}
        place = Workplace(server, workspace)
        place.write("hi")
        assert place.read(1)
