"""Slack's Socket Mode: the same payloads as by the webhook, each acknowledged once it is durable."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from functions.channels.slack import socket_mode
from functions.channels.slack.channel import Slack
from functions.ingress.socket_listener import ListenedBot
from functions.wiring import AgentRuntime
from tests.fakes import slack as fake
from tests.fakes.model import ScriptedModel, say
from tests.fakes.slack import ADA, BOT, CHAT, SlackWorkspace
from tests.fakes.slack_socket import APP_TOKEN, SlackSocket
from tests.functions.listening import Listening, StartListening, short_pauses, start_listening
from tests.functions.serving import serving
from tests.machine import until, within

__all__ = ["short_pauses", "start_listening"]


@pytest.fixture
def workspace() -> Iterator[SlackWorkspace]:
    with SlackWorkspace() as server:
        yield server


@pytest.fixture
def platform(workspace: SlackWorkspace) -> Iterator[SlackSocket]:
    with SlackSocket(workspace) as server:
        yield server


@pytest.fixture
def listening(workspace: SlackWorkspace, start_listening: StartListening) -> StartListening:
    def open_listener(failures: int = 0, token: str = APP_TOKEN) -> Listening:
        channel = Slack(workspace.token, "", workspace.url + "/api", app_token=token)
        return start_listening("slack", channel, failures)

    return open_listener


def write(platform: SlackSocket, text: str, second: int, **more: Any) -> str:
    message = fake.message(text, f"17799999{second:02}.000100", **more)
    return platform.emit("events_api", fake.event_payload(message))


def test_an_envelope_is_acknowledged_after_its_events_are_durable(
    listening: Callable[..., Listening], platform: SlackSocket
) -> None:
    one = listening(failures=2)
    platform.wait_for_connections(1)
    write(platform, "keep me", 1)
    one.wait_for("keep me")
    platform.wait_for_acknowledgement()
    assert len(platform.paths) == 3, "what was not durable is not acknowledged"
    platform.drop()
    write(platform, "while it was away", 2)
    one.wait_for("keep me", "while it was away")
    platform.send({"type": "disconnect", "reason": "refresh_requested", "debug_info": {}})
    platform.wait_for_connections(5)
    write(platform, "after that", 3)
    one.wait_for("keep me", "while it was away", "after that")
    platform.wait_for_acknowledgement()


def test_commands_buttons_and_odd_envelopes_are_acknowledged(
    listening: Callable[..., Listening], platform: SlackSocket
) -> None:
    one = listening()
    platform.wait_for_connections(1)
    platform.emit("slash_commands", fake.command("status"))
    for kind, payload in (
        ("interactive", {"type": "block_actions", "actions": [{"value": "x"}]}),
        ("events_api", {"type": "event_callback", "event": []}),
        ("of tomorrow", {}),
    ):
        platform.emit(kind, payload)
    for frame in (
        "no json",
        "[]",
        b"\x00",
        {"type": "events_api"},
        {"envelope_id": 5},
        "[" * 9_999,
    ):
        platform.send(frame)
    write(platform, "still here", 1)
    one.wait_for("/status", "still here")
    platform.wait_for_acknowledgement()
    assert len(platform.paths) == 1


@pytest.mark.parametrize(
    ("frame", "error", "help"),
    [
        ({"type": "disconnect", "reason": "link_disabled"}, "", "switch it on"),
        (None, "invalid_auth", "SLACK_APP_TOKEN"),
    ],
)
def test_what_only_the_owner_can_mend_is_not_tried_again(
    listening: Callable[..., Listening],
    platform: SlackSocket,
    caplog: pytest.LogCaptureFixture,
    frame: object,
    error: str,
    help: str,
) -> None:
    caplog.set_level(logging.INFO, "uncaged")
    platform.error = error
    one = listening()
    if frame:
        platform.wait_for_connections(1)
        until(lambda: "listening" in [record.getMessage() for record in caplog.records])
        platform.send(frame)
    until(lambda: one.is_over, "the listener ends")
    [said] = [record for record in caplog.records if record.getMessage() == "not listening"]
    assert help in said.facts["help"]  # type: ignore[attr-defined]


def test_a_ticket_goes_to_no_foreign_host(
    listening: Callable[..., Listening], platform: SlackSocket, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    platform.told_url = "ws://localhost:9/link/?ticket=secret-ticket"
    one = listening()
    until(lambda: "not listening" in [record.getMessage() for record in caplog.records])
    platform.told_url = None
    write(platform, "hello", 1)
    one.wait_for("hello")
    assert "ticket" not in str([vars(record) for record in caplog.records])
    assert socket_mode.is_own_socket(
        "wss://wss-primary.slack.com/link/?ticket=1", "https://slack.com/api", (".slack.com",)
    )
    for foreign in ("wss://slack.com.evil.example/", "ws://wss.slack.com/", "wss://evilslack.com"):
        assert not socket_mode.is_own_socket(foreign, "https://slack.com/api", (".slack.com",))


def test_a_message_and_a_mention_are_answered_without_an_address(
    runtime: Callable[..., AgentRuntime],
    workspace: SlackWorkspace,
    platform: SlackSocket,
    model: ScriptedModel,
) -> None:
    model.then(say("Hello **Ada**"), say("In the channel"))
    made = runtime(
        llm_url=model.url,
        slack_token=workspace.token,
        slack_app_token=APP_TOKEN,
        slack_api=workspace.url + "/api",
        owners=(f"slack:{fake.TEAM}.{ADA}",),
    )
    channel = made.channels["slack"]
    assert isinstance(channel, Slack)
    with serving(made, listened=[ListenedBot("slack", channel)]):
        platform.wait_for_connections(1)
        write(platform, "hi", 1)
        write(platform, "hi", 1)  # once more
        wait_for_messages(workspace, 1)
        write(platform, "is anybody there?", 2, channel=CHAT)
        write(platform, f"<@{BOT}> are you?", 3, channel=CHAT)
        wait_for_messages(workspace, 2)
    assert [message["seen"] for message in workspace.messages] == ["Hello Ada", "In the channel"]
    assert workspace.messages[1]["channel"] == CHAT


def wait_for_messages(workspace: SlackWorkspace, count: int) -> None:
    with workspace.changed:
        assert workspace.changed.wait_for(lambda: len(workspace.messages) >= count, within(20))
