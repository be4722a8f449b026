"""A server without a public address listens for its messages: in order, once, past every failure.

Discord's gateway stands for the platforms that are listened to.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from functions.channels.discord import gateway
from functions.ingress import socket_listener
from tests.fakes.discord import DiscordServer, open_discord
from tests.fakes.discord_gateway import BOT, DiscordGateway
from tests.functions.listening import Listening, StartListening, short_pauses, start_listening
from tests.machine import until, within

__all__ = ["short_pauses", "start_listening"]
GUILD = 900


@pytest.fixture
def discord() -> Iterator[DiscordServer]:
    with DiscordServer() as server:
        yield server


@pytest.fixture
def platform(discord: DiscordServer) -> Iterator[DiscordGateway]:
    with DiscordGateway(discord) as server:
        yield server


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "INVALID_SECONDS", (0.0, 0.01))


@pytest.fixture
def notes(caplog: pytest.LogCaptureFixture) -> Callable[[], list[tuple[str, dict[str, Any]]]]:
    caplog.set_level(logging.INFO, "uncaged")
    return lambda: [
        (record.getMessage(), record.facts)  # type: ignore[attr-defined]
        for record in caplog.records
        if record.name == "uncaged"
    ]


Notes = Callable[[], list[tuple[str, dict[str, Any]]]]


@pytest.fixture
def listening(discord: DiscordServer, start_listening: StartListening) -> StartListening:
    def open_listener(failures: int = 0, **settings: Any) -> Listening:
        return start_listening("discord", open_discord(discord), failures, **settings)

    return open_listener


def test_messages_come_in_order_and_once_over_broken_connections(
    listening: Callable[..., Listening], platform: DiscordGateway
) -> None:
    one = listening()
    platform.wait_for_session()
    platform.say("first")
    one.wait_for("first")
    platform.drop()
    platform.say("while it was away")
    platform.wait_for_connections(2)
    platform.say("after that")
    one.wait_for("first", "while it was away", "after that")
    platform.send({"op": 7, "d": None})
    platform.wait_for_connections(3)
    platform.say("and in the end")
    one.wait_for("first", "while it was away", "after that", "and in the end")
    assert len(platform.of_kind(2)) == 1, "one session was begun"
    assert len(platform.of_kind(6)) == 2, "and resumed twice"
    assert platform.of_kind(2)[0]["intents"] == 1 << 0 | 1 << 9 | 1 << 12 | 1 << 15


def test_what_could_not_be_stored_is_not_acknowledged_and_comes_again(
    listening: Callable[..., Listening], platform: DiscordGateway
) -> None:
    one = listening(failures=2)
    platform.wait_for_session()
    platform.say("keep me")
    platform.say("me too")
    one.wait_for("keep me", "me too")
    session = platform.current
    assert session
    kept = next(event["s"] for event in session.events if event["d"].get("content") == "keep me")
    assert [data["seq"] for data in platform.of_kind(6)] == [kept - 1] * 2


def test_the_next_process_goes_on_where_the_last_one_stopped(
    listening: Callable[..., Listening], platform: DiscordGateway
) -> None:
    one = listening()
    platform.wait_for_session()
    platform.say("first")
    one.wait_for("first")
    begun = time.monotonic()
    one.listener.stop()
    # a process that is to end does not wait for the gateway's next word
    assert time.monotonic() - begun < within(5)
    assert one.is_over
    platform.wait_until(lambda: platform.codes == [4000], "it said goodbye, and may come back")
    platform.say("nobody was there")
    other = listening()
    other.wait_for("nobody was there")
    assert len(platform.of_kind(2)) == 1


def test_one_process_listens_and_the_next_takes_over(
    listening: Callable[..., Listening], platform: DiscordGateway, notes: Notes
) -> None:
    one = listening(lease=1.0)
    platform.wait_for_session()
    other = listening(lease=1.0)
    until(lambda: ("another server listens for this bot", {"platform": "discord"}) in notes())
    assert len(platform.paths) == 1
    platform.say("first")
    one.wait_for("first")
    one.listener.stop()
    platform.wait_for_connections(2)
    platform.say("second")
    other.wait_for("second")
    assert one.queue.texts() == ["first"]


def test_heartbeats_tell_what_is_durable_and_a_deaf_gateway_is_left(
    listening: Callable[..., Listening],
    platform: DiscordGateway,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gateway, "BEATS", (0.01, 300.0))
    platform.interval = 20
    one = listening()
    platform.wait_for_session()
    platform.say("first")
    one.wait_for("first")
    platform.wait_until(lambda: 3 in platform.of_kind(1), "a heartbeat with the number")
    platform.send({"op": 1, "d": None})
    platform.answers_beats = False
    platform.wait_for_connections(2)
    platform.answers_beats = True
    assert platform.codes[0] == 4000
    platform.say("second")
    one.wait_for("first", "second")
    assert len(platform.of_kind(2)) == 1


@pytest.mark.parametrize(
    ("code", "help"),
    [(4004, "DISCORD_TOKEN"), (4013, "report"), (4014, "Message Content Intent")],
)
def test_what_only_the_owner_can_mend_is_said_once_and_not_tried_again(
    listening: Callable[..., Listening],
    platform: DiscordGateway,
    notes: Notes,
    code: int,
    help: str,
) -> None:
    if code == 4014:
        platform.switched_on = set()
    one = listening()
    if code != 4014:
        platform.wait_for_session()
        platform.close(code)
    until(lambda: one.is_over, "the listener ends")
    (said,) = [facts for step, facts in notes() if step == "not listening"]
    assert help in said["help"]
    assert len(platform.paths) == 1
    assert one.runtime.stores.kv.scan("claim") == []


def test_a_token_that_discord_does_not_know_is_not_tried_again(
    listening: Callable[..., Listening],
    discord: DiscordServer,
    platform: DiscordGateway,
    notes: Notes,
) -> None:
    discord.fail(401, part="gateway")
    one = listening()
    until(lambda: one.is_over, "the listener ends")
    (said,) = [facts for step, facts in notes() if step == "not listening"]
    assert said["message"] == "Discord does not know the bot's token"
    assert platform.paths == []


@pytest.mark.parametrize("end", [4007, 4009, "invalid"])
def test_a_session_that_is_over_is_replaced(
    listening: Callable[..., Listening], platform: DiscordGateway, end: int | str
) -> None:
    one = listening()
    platform.wait_for_session()
    if end == "invalid":
        platform.sessions.clear()
        platform.drop()
    else:
        assert isinstance(end, int)
        platform.close(end)
    platform.wait_until(lambda: len(platform.of_kind(2)) == 2, "a new session")
    platform.wait_until(lambda: platform.current and platform.current.id == "session-2")
    platform.say("here I am")
    one.wait_for("here I am")


def test_no_session_begins_when_none_is_left(
    listening: Callable[..., Listening], platform: DiscordGateway, notes: Notes
) -> None:
    platform.remaining = 0
    listening()
    until(lambda: any(step == "not listening" for step, _ in notes()), "it waits")
    (said,) = [facts for step, facts in notes() if step == "not listening"]
    assert said["code"] == "ERATE"
    assert 3_500 < said["seconds"] <= 3_600
    assert platform.paths == []


def test_the_last_sessions_of_a_day_are_spread_over_it(
    listening: Callable[..., Listening], platform: DiscordGateway, notes: Notes
) -> None:
    platform.remaining, platform.reset_after = 50, 10_000
    one = listening()
    platform.wait_for_session()
    (said,) = [facts for step, facts in notes() if step == "not listening"]
    assert 0 < said["seconds"] <= 0.2
    platform.say("at last")
    one.wait_for("at last")


@pytest.mark.parametrize(
    "frame",
    [
        "no json",
        "[]",
        "[" * 100_000,
        b"\x00\xff",
        {"op": "0"},
        {"op": 99},
        {"op": 0, "t": "MESSAGE_CREATE", "s": "x", "d": []},
        {"op": 0, "t": 7, "s": -1, "d": {}},
        {"op": 0, "t": "MESSAGE_CREATE", "s": None, "d": {"content": 5, "author": "x"}},
        {"op": 0, "t": "INTERACTION_CREATE", "s": None, "d": {"id": {}}},
        {"op": 0, "t": "GUILD_MEMBER_UPDATE", "s": None, "d": {"user": 1, "roles": 2}},
        {"op": 10, "d": {"heartbeat_interval": "x"}},
        {"op": 11, "d": "x"},
    ],
)
def test_odd_frames_are_survived(
    listening: Callable[..., Listening], platform: DiscordGateway, frame: object
) -> None:
    one = listening()
    platform.wait_for_session()
    platform.send(frame)
    platform.say("still here")
    one.wait_for("still here")
    assert len(platform.paths) == 1


def test_a_frame_that_is_too_large_ends_the_session_and_nothing_else(
    listening: Callable[..., Listening],
    platform: DiscordGateway,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gateway, "MESSAGE_BYTES", 10_000)
    one = listening()
    platform.wait_for_session()
    platform.emit("GUILD_CREATE", {"name": "x" * 20_000})
    # the same session would send it again
    platform.wait_for_session(2)
    platform.say("small")
    one.wait_for("small")


def test_who_sends_nothing_but_nonsense_is_left(
    listening: Callable[..., Listening], platform: DiscordGateway, notes: Notes
) -> None:
    listening()
    platform.wait_for_session()
    for _ in range(socket_listener.UNREADABLE_MOST):
        platform.send("nonsense")
    platform.wait_for_connections(2)
    assert sum(step == "unreadable" for step, _ in notes()) == socket_listener.UNREADABLE_MOST


@pytest.mark.parametrize("interval", [0, -5, "fast", None, 1e308])
def test_a_gateway_without_a_right_hello_is_tried_again_later(
    listening: Callable[..., Listening], platform: DiscordGateway, interval: object
) -> None:
    platform.interval = interval
    one = listening()
    if interval == 1e308:
        platform.wait_for_session()
    else:
        platform.wait_for_connections(2)
        assert platform.of_kind(2) == []
        platform.interval = 45_000
        platform.wait_for_session()
    platform.say("hello")
    one.wait_for("hello")


def test_the_token_goes_to_no_foreign_host(
    listening: Callable[..., Listening], platform: DiscordGateway, notes: Notes
) -> None:
    platform.told_url = "ws://localhost:9/"
    one = listening()
    until(lambda: any(step == "not listening" for step, _ in notes()), "it is refused")
    platform.told_url = None
    # a redirect of the handshake, and then where a session would be resumed
    platform.refusal = (302, {"location": f"{platform.url}/elsewhere"})
    platform.resume_url = "ws://localhost:9"
    platform.wait_for_session()
    assert all("elsewhere" not in path for path in platform.paths)
    platform.drop()
    platform.wait_for_session(2)
    platform.say("hello")
    one.wait_for("hello")
    said = [facts["message"] for step, facts in notes() if step == "not listening"]
    assert "Discord names a gateway that is not its own" in said
    assert any("status 302" in message for message in said)


@pytest.mark.parametrize(
    ("url", "good"),
    [
        ("wss://gateway.discord.gg", True),
        ("wss://gateway-us-east1-b.discord.gg/", True),
        ("ws://gateway.discord.gg", False),
        ("wss://gateway.discord.gg:8443", False),
        ("wss://gateway.discord.gg.evil.example", False),
        ("wss://evildiscord.gg", False),
        ("wss://a@gateway.discord.gg", False),
        ("wss://gateway.discord.gg?x=1", False),
        ("wss://[::1", False),
        ("https://discord.com", False),
        ("", False),
    ],
)
def test_only_hosts_of_discord_are_its_gateway(url: str, good: bool) -> None:
    assert gateway.is_gateway(url, "https://discord.com/api/v10") is good


def test_commands_and_buttons_come_over_the_gateway_and_are_answered_at_once(
    listening: Callable[..., Listening], discord: DiscordServer, platform: DiscordGateway
) -> None:
    one = listening()
    platform.wait_for_session()
    command = discord.command("ask", "what is 2+2?")
    platform.emit("INTERACTION_CREATE", command)
    one.wait_for("what is 2+2?")
    until(lambda: discord.find(command).original, "it shows that we think")
    foreign = discord.press("somebody else's")
    platform.emit("INTERACTION_CREATE", foreign)
    until(lambda: discord.find(foreign).answered, "a foreign button waits no longer")
    # it comes once more, and was answered already
    platform.emit("INTERACTION_CREATE", command)
    platform.say("done")
    until(lambda: one.queue.texts()[-1] == "done", "it goes on")
    ids = [event.id for event in one.queue.events]
    assert ids[0] == ids[1]
    assert not discord.find(command).over


def test_a_mention_of_our_role_is_for_us(
    listening: Callable[..., Listening], discord: DiscordServer, platform: DiscordGateway
) -> None:
    platform.roles[GUILD] = [77]
    one = listening()
    platform.wait_for_session()
    platform.say("<@&77> one", guild=GUILD, mention_roles=["77"])
    platform.say("<@&77> two", guild=GUILD, mention_roles=["77"])
    platform.say("<@&78> three", guild=GUILD, mention_roles=["78"])
    platform.emit(
        "GUILD_MEMBER_UPDATE",
        {"guild_id": str(GUILD), "user": {"id": str(BOT)}, "roles": ["78"]},
    )
    platform.say("<@&78> four", guild=GUILD, mention_roles=["78"])
    platform.say("<@&79> five", guild=901, mention_roles=["79"])
    platform.say("six")
    one.wait_for("one", "two", "four", "six")
    asked = [request for request in discord.requests if "/members/" in request.path]
    assert len(asked) == 2
