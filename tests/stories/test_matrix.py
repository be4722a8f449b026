"""Matrix from outside: a homeserver pushes what people say, and they see what is answered."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from functions import worker
from functions.cli.commands.serve import list_receivers
from functions.cli.doctor import check_platforms
from functions.events import Event, Sender, order_of
from functions.ingress.poller import PolledBot
from functions.wiring import AgentRuntime
from sigil.cli.doctor import DoctorWarning
from sigil.errors import UsageError
from sigil.protocol import Caller
from sigil.storage.kv import keys
from tests.fakes.matrix import (
    ADA,
    BOB,
    BOT,
    DIRECT,
    GROUP,
    SECRET,
    TOKEN,
    FakeRoom,
    Homeserver,
    encode,
    in_thread,
    invitation,
    make_event,
    text,
)
from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.server import Recorded
from tests.functions.agent.policy.asking import DOUBLE, QUERY, SPEC
from tests.functions.alerts import AlertRecorder
from tests.functions.cli.channel_command import RunChannel
from tests.functions.serving import Served, serving
from tests.machine import until, within

SETTINGS: dict[str, Any] = {
    "matrix_user": BOT,
    "matrix_token": TOKEN,
    "matrix_secret": SECRET,
    "owners": (f"matrix:{ADA}",),
    "access": "open",
    "guest_turns": 0,
    "guest_tokens": 0,
}
_NUMBERS = itertools.count(1)


@dataclass(frozen=True)
class Community:
    """A served agent that Ada owns, and the homeserver where people meet it."""

    server: Served
    homeserver: Homeserver

    def push(self, *events: dict[str, Any], secret: str = SECRET) -> int:
        path = f"/webhook/matrix/_matrix/app/v1/transactions/{next(_NUMBERS)}"
        headers = {"authorization": f"Bearer {secret}"}
        return self.server.client.put(path, content=encode(*events), headers=headers).status_code

    def write(
        self, body: str, *mentions: str, who: str = ADA, room: str = DIRECT, **more: Any
    ) -> str:
        """Say something, and return the message's id."""
        event = self.homeserver.say(make_event(text(body, *mentions, **more), who, room))
        assert self.push(event) == 200
        return str(event["event_id"])

    def read(self, count: int) -> list[dict[str, Any]]:
        """Return what was said to people, as soon as that are `count` messages."""
        home = self.homeserver
        with home.changed:
            assert home.changed.wait_for(lambda: len(home.messages) >= count, within(20)), [
                (each["room_id"], each["content"]["body"]) for each in home.messages
            ]
            return list(home.messages)

    def read_texts(self, count: int) -> list[str]:
        return [message["content"]["body"] for message in self.read(count)]


@pytest.fixture
def homeserver() -> Iterator[Homeserver]:
    with Homeserver() as found:
        yield found


@pytest.fixture
def community(
    runtime: Callable[..., AgentRuntime], homeserver: Homeserver, model: ScriptedModel
) -> Iterator[Community]:
    with serving(
        runtime(llm_url=model.url, matrix_homeserver=homeserver.url, **SETTINGS)
    ) as server:
        yield Community(server, homeserver)


def test_a_private_message_is_answered_once_however_often_it_is_pushed(
    community: Community, model: ScriptedModel
) -> None:
    model.then(say("**Hello** Ada"), say("Again"))
    event = make_event(text("hi"))
    for _ in range(3):
        assert community.push(event, make_event({"odd": []}, kind="m.reaction")) == 200
    community.read(1)
    community.write("and now?")
    assert community.read_texts(2) == ["**Hello** Ada", "Again"]
    first = community.homeserver.messages[0]
    assert (first["room_id"], first["content"]["m.mentions"]) == (DIRECT, {})
    assert first["content"]["formatted_body"] == "<p><strong>Hello</strong> Ada</p>"
    with community.homeserver.changed:
        assert community.homeserver.changed.wait_for(
            lambda: community.homeserver.typing[-1:] == [(DIRECT, False)], within(20)
        )


def test_a_mention_in_a_thread_is_answered_there(
    community: Community, model: ScriptedModel
) -> None:
    model.then(say("Lunch at noon"))
    root = community.write("a topic", who=BOB, room=GROUP)
    community.write("nobody asked you", room=GROUP, **in_thread(root))
    asked = community.write("sigil: when do we eat?", BOT, who=BOB, room=GROUP, **in_thread(root))
    (answer,) = community.read(1)
    assert answer["content"]["m.relates_to"]["event_id"] == root
    assert answer["content"]["m.relates_to"]["m.in_reply_to"] == {"event_id": asked}
    asked_model = str(model.chats[0]["messages"][-1]["content"])
    assert "when do we eat?" in asked_model
    assert f'"{BOB}"' in asked_model
    community.write("!help", BOT, room=GROUP, **in_thread(root))
    said = community.read_texts(2)[1]
    assert "write `!` instead of `/`" in said
    assert "!new: " in said
    assert "/new" not in said
    assert len(model.chats) == 1


def test_an_owner_approves_by_a_command_in_a_room_of_their_own(
    community: Community, model: ScriptedModel
) -> None:
    app = community.server.runtime.app
    app.registry.deploy(SPEC, Caller("main"))
    policy = 'format = 1\nrules = ["ask guest call double"]'
    app.policy_versions.write("main", "policy", policy, by="terminal:local")
    model.then(call(QUERY), call(DOUBLE), say("it waits"), say("4"))
    community.write("double 2", BOT, who=BOB, room=GROUP)
    community.read(2)
    (own,) = [each for each in community.homeserver.messages if each["room_id"] != GROUP]
    assert community.homeserver.rooms[own["room_id"]].invited == {ADA}
    [proposal] = app.proposals.list_open()
    command = f"!approve {proposal.id}"
    assert f"`{command}`" in own["content"]["body"]
    community.homeserver.rooms[own["room_id"]].members[ADA] = "Ada"
    community.write(command, BOT, who=BOB, room=GROUP)
    community.write(command, room=own["room_id"])
    stored = keys.stored_value("main", "main", "double", "runs")
    community.read(4)
    with community.homeserver.changed:
        assert community.homeserver.changed.wait_for(
            lambda: app.kv.get(stored) is not None, within(20)
        )


def test_whoever_invites_us_is_greeted(community: Community) -> None:
    home = community.homeserver
    home.rooms["!alone:example.org"] = FakeRoom({BOB: "Bob"}, {BOT})
    home.rooms["!many:example.org"] = FakeRoom({BOB: "Bob", ADA: "Ada"}, {BOT})
    home.rooms["!secret:example.org"] = FakeRoom({BOB: "Bob"}, {BOT}, encrypted=True)
    for room in ("!alone:example.org", "!many:example.org", "!secret:example.org"):
        assert community.push(invitation(room, BOB)) == 200
    said = {each["room_id"]: each["content"]["body"] for each in community.read(3)}
    assert "Write me what you need" in said["!alone:example.org"]
    assert "@Sigil Bot" in said["!many:example.org"]
    assert "encrypted" in said["!secret:example.org"]


def test_a_room_that_becomes_encrypted_is_told_so_in_its_own_language(
    community: Community, model: ScriptedModel
) -> None:
    model.then(say("Guten Tag"))
    community.write("sigil: wie spät ist es denn gerade bei euch?", BOT, room=GROUP)
    community.read(1)
    turned = make_event({}, room=GROUP, kind="m.room.encryption", state_key="")
    assert community.push(turned) == 200
    assert community.read_texts(2)[1].startswith("Dieser Raum ist verschlüsselt")


def test_what_a_room_was_to_be_told_does_not_leave_once_it_is_encrypted(
    runtime: Callable[..., AgentRuntime], homeserver: Homeserver, model: ScriptedModel
) -> None:
    made = runtime(llm_url=model.url, matrix_homeserver=homeserver.url, **SETTINGS)
    recorder = AlertRecorder()

    def answer_late(body: dict[str, Any]) -> dict[str, Any]:
        homeserver.rooms[GROUP].encrypted = True
        return say("the code is 4711")

    model.then(answer_late)
    made = replace(made, notifier=recorder)
    with serving(made) as server:
        community = Community(server, homeserver)
        community.write("sigil: the code?", BOT, room=GROUP)
        assert "reminders" in community.read_texts(1)[0]
        until(lambda: recorder.told != [])
    # the server's worker still writes the session when the alert is out, and has ended here
    reminder = Event(
        id="wakeup:1",
        kind="say",
        agent="main",
        session=f"matrix:{GROUP}",
        sender=Sender("runtime"),
        text="Say 4711.",
        at=time.time(),
        order=order_of(time.time(), 1),
        by=f"matrix:{ADA}",
        data={"from": "wakeup tea"},
    )
    worker.handle_event(reminder, made)
    assert len(homeserver.messages) == 1
    assert "4711" not in str([request.body for request in homeserver.requests])
    assert [(alert.event, alert.reason, alert.session) for alert in recorder.told] == [
        ("CHAT_ENCRYPTED", "matrix", f"matrix:{GROUP}")
    ]


def test_two_agents_in_one_room_do_not_answer_each_other(
    runtime: Callable[..., AgentRuntime],
    homeserver: Homeserver,
    model: ScriptedModel,
    tmp_path: Path,
) -> None:
    other = "@tau:example.org"
    homeserver.accounts["token-of-tau"] = other
    homeserver.rooms[GROUP].members[other] = "Tau"
    both = "!both:example.org"
    homeserver.rooms[both] = FakeRoom({BOT: "Sigil", other: "Tau"})
    settings = {**SETTINGS, "matrix_homeserver": homeserver.url, "matrix_secret": ""}
    first = runtime(llm_url=model.url, **settings)
    settings |= {"matrix_user": other, "matrix_token": "token-of-tau"}
    second = runtime(llm_url=model.url, **settings, data=str(tmp_path / "second"))
    said = ["tau: how are you?", "sigil: fine, and you?", "tau: well"]
    model.then(*map(say, said * 2))
    with serving(first, poll(first)) as server, serving(second, poll(second)):
        community = Community(server, homeserver)
        until(lambda: len({each.headers["authorization"] for each in list_polls(homeserver)}) == 2)
        asked = [
            make_event(text(f"{name}: and?", id), ADA, room)
            for room in (GROUP, both)
            for name, id in (("sigil", BOT), ("tau", other), ("sigil", BOT))
        ]
        for count, question in enumerate(asked, 1):
            # whom Ada asks has read all that was said before
            homeserver.deliver(question)
            community.read(count)
    assert [each["content"]["body"] for each in homeserver.messages] == said * 2
    senders = [each["sender"] for each in homeserver.messages]
    assert senders == [BOT, other, BOT] * 2


def test_strangers_invitations_are_bound_and_an_owners_are_not(community: Community) -> None:
    home = community.homeserver
    rooms = [f"!room{number}:example.org" for number in range(7)]
    for room in rooms:
        home.rooms[room] = FakeRoom({BOB: "Bob"}, {BOT})
        event = invitation(room, BOB)
        for _ in range(2):  # a repeated one counts once
            assert community.push(event) == 200
    with home.changed:
        assert home.changed.wait_for(lambda: len(home.declined) == 2, within(20))
    assert [room for room, reason in home.declined if "invited too often" in reason] == rooms[5:]
    assert community.push(invitation(rooms[6], "@eve:elsewhere.org")) == 200
    home.rooms["!own:example.org"] = FakeRoom({ADA: "Ada"}, {BOT})
    for _ in range(8):
        assert community.push(invitation("!own:example.org", ADA)) == 200
    community.read(7)
    assert BOT in home.rooms["!own:example.org"].members


def test_a_stranger_brings_the_agent_into_no_room_too_many_and_an_owner_does(
    community: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "ROOMS_MOST", 1)
    home = community.homeserver
    home.rooms["!more:example.org"] = FakeRoom({BOB: "Bob"}, {BOT})
    home.rooms["!own:example.org"] = FakeRoom({ADA: "Ada"}, {BOT})
    assert community.push(invitation("!more:example.org", BOB)) == 200
    with home.changed:
        assert home.changed.wait_for(lambda: len(home.declined) == 1, within(20))
    assert home.declined[0][0] == "!more:example.org"
    assert community.push(invitation("!own:example.org", ADA)) == 200
    community.read(1)
    assert BOT in home.rooms["!own:example.org"].members


def test_a_transaction_of_a_hundred_of_the_largest_events_is_taken(
    community: Community, model: ScriptedModel
) -> None:
    model.then(*[say("yes")] * 3)
    bulky = [make_event(text("x" * 65_000), BOB, GROUP) for _ in range(99)]
    asked = make_event(text("are you there?"))
    body = encode(*bulky, asked)
    assert len(body) > 6.4e6
    assert community.push(*bulky, asked) == 200
    assert community.read_texts(1) == ["yes"]


def test_a_text_that_somebody_sends_is_a_file_of_the_chat(
    community: Community, model: ScriptedModel
) -> None:
    community.homeserver.files["mxc://example.org/plan"] = b"# The plan\n"
    file = {"filename": "plan.md", "url": "mxc://example.org/plan"}
    file |= {"info": {"mimetype": "text/markdown", "size": 11}}  # type: ignore[dict-item]
    sent = community.write("read this", msgtype="m.file", **file)
    community.read(1)
    assert "received/" in str(model.chats[0]["messages"][-1]["content"])
    answers = {"m.relates_to": {"m.in_reply_to": {"event_id": sent}}}
    community.write("and what does it say?", **answers)
    community.read(2)
    quoted = str(model.chats[1]["messages"][-1]["content"])
    named = '[document: "plan.md", kept as received/plan.md: read-file reads it]'
    assert f"[in reply to the sender] {named}\nread this" in quoted


def test_a_forged_transaction_reaches_nobody(community: Community, model: ScriptedModel) -> None:
    event = make_event(text("/halt"))
    for secret in ("wrong", TOKEN, f"{SECRET}x"):
        assert community.push(event, secret=secret) == 403
    assert model.chats == []


def list_polls(homeserver: Homeserver) -> list[Recorded]:
    """The requests of those who wait for what is new."""
    return [each for each in homeserver.asked("/sync") if "since=" in each.path]


def poll(opened: AgentRuntime) -> list[PolledBot]:
    return list_receivers(opened, take_webhook=False)[0]


def test_an_account_is_polled_and_the_next_process_goes_on_where_the_last_left_off(
    runtime: Callable[..., AgentRuntime], homeserver: Homeserver, model: ScriptedModel
) -> None:
    settings = {**SETTINGS, "matrix_homeserver": homeserver.url, "matrix_secret": ""}
    model.then(*(say(f"answer {number}") for number in range(1, 4)))
    homeserver.deliver(make_event(text("from long ago")))
    homeserver.invite("!new:example.org")
    opened = runtime(llm_url=model.url, **settings)
    with pytest.raises(DoctorWarning) as warned:
        check_platforms(opened.settings)
    assert warned.value.suggestion == "uncaged serve --poll"
    with serving(opened, poll(opened)) as server:
        community = Community(server, homeserver)
        assert "Write me what you need" in community.read_texts(1)[0]
        homeserver.deliver(make_event(text("one")), make_event(text("lunch?"), BOB, GROUP))
        assert community.read_texts(2)[1] == "answer 1"
        assert "a server polls it" in check_platforms(opened.settings)
        homeserver.deliver(make_event(text("sigil: two", BOT), BOB, GROUP))
        assert community.read_texts(3)[2] == "answer 2"
    homeserver.deliver(make_event(text("three")))
    opened = runtime(llm_url=model.url, **settings)
    with serving(opened, poll(opened)) as server:
        assert Community(server, homeserver).read_texts(4)[3] == "answer 3"
    asked = [str(chat["messages"][-1]["content"]).rpartition("\n")[2] for chat in model.chats]
    assert asked == ["one", "two", "three"]


def test_an_account_whose_events_are_pushed_is_not_polled_as_well(
    runtime: Callable[..., AgentRuntime], homeserver: Homeserver
) -> None:
    with pytest.raises(UsageError, match="needs a platform that can be polled"):
        poll(runtime(matrix_homeserver=homeserver.url, **SETTINGS))


def test_the_printed_registration_leads_an_owner_to_the_first_answer(
    runtime: Callable[..., AgentRuntime],
    homeserver: Homeserver,
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    run_channel: RunChannel,
) -> None:
    url = "https://bot.example.com"
    code, _, advice = run_channel("set", "matrix", "--url", url)
    assert code == 2
    assert "export MATRIX_USER=@sigil:example.org" in advice
    monkeypatch.setenv("MATRIX_USER", BOT)
    code, document, steps = run_channel("set", "matrix", "--url", url)
    assert (code, "registration.yaml" in steps) == (0, True)
    registration = dict(re.findall(r"^([a-z_]+): '(.*)'$", document, re.MULTILINE))
    assert registration["url"] == f"{url}/webhook/matrix"
    assert registration["sender_localpart"] == "sigil"
    assert r"regex: '@sigil:example\.org'" in document
    assert registration["as_token"] != registration["hs_token"]
    settings = {
        "matrix_user": BOT,
        "matrix_homeserver": homeserver.url,
        "matrix_token": registration["as_token"],
        "matrix_secret": registration["hs_token"],
    }
    for name, value in settings.items():
        monkeypatch.setenv(name.upper(), value)
    assert run_channel("set", "matrix", "--url", url)[1] == document
    owners = (f"matrix:{ADA}",)
    with serving(runtime(llm_url=model.url, owners=owners, **settings)) as server:
        homeserver.service = registration | {"url": f"{server.url}/webhook/matrix"}
        assert run_channel("status", "matrix")[:2] == (0, "matrix @Sigil: the bot answers\n")
        community = Community(server, homeserver)
        model.then(say("Hello"))
        event = make_event(text("hi"))
        assert community.push(event, secret=registration["hs_token"]) == 200
        assert community.read_texts(1) == ["Hello"]
        monkeypatch.setenv("MATRIX_SECRET", "another")
        homeserver.service["hs_token"] = "wrong"
        code, _, problem = run_channel("status", "matrix")
    assert code == 7
    assert "M_BAD_STATUS" in problem
