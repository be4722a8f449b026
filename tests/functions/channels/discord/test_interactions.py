"""What Discord sends is verified and read: commands, presses of buttons, its own questions."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from functions.channels.base import PlatformAnswer, PlatformRequest, Received
from functions.channels.discord.channel import Discord
from functions.channels.discord.interactions import read_interaction
from functions.channels.discord.reply_address import InteractionAddress
from functions.channels.discord.signature import OLDEST_SECONDS
from functions.events import Sender
from sigil.errors import Refused, UsageError
from tests.fakes.discord import APPLICATION, DiscordServer, make_public_key, sign
from tests.functions.channels.contract import ChannelContract

SAMPLES = Path(__file__).parents[3] / "events" / "discord"
NOW = 1_800_000_000.0
FILE = "https://cdn.discordapp.com/ephemeral-attachments/11/12/list.txt?ex=1&is=2&hm=3"


class TestDiscord(ChannelContract):
    name = "discord"
    proofs = ("x-signature-ed25519", "x-signature-timestamp")
    window = OLDEST_SECONDS

    def open_channel(self) -> Discord:
        return Discord("", make_public_key(), clock=lambda: NOW)

    def list_samples(self) -> dict[str, tuple[bytes, tuple[str, ...]]]:
        found = {}
        for name in ("ask_in_server", "command_in_private", "press"):
            body = (SAMPLES / f"{name}.json").read_bytes()
            found[name] = (body, (f"discord:{APPLICATION}:{json.loads(body)['id']}",))
        return found

    def list_silent(self) -> dict[str, bytes]:
        names = (
            "autocomplete",
            "of_a_bot",
            "press_of_no_button_of_ours",
        )
        return {name: (SAMPLES / f"{name}.json").read_bytes() for name in names}

    def sign(self, body: bytes, age: float = 0.0) -> PlatformRequest:
        return PlatformRequest(sign(body, NOW - age), body)

    def list_handshakes(self) -> list[tuple[PlatformRequest, PlatformAnswer]]:
        ping = b'{"type":1,"id":"1","application_id":"2","version":1}'
        noted = (SAMPLES / "webhook_event.json").read_bytes()
        return [
            (self.sign(ping), PlatformAnswer(200, b'{"type":1}', "application/json")),
            (self.sign(noted), PlatformAnswer(204)),
        ]


def test_a_signature_of_another_library_is_taken() -> None:
    """The values were made once by PyNaCl 1.6.2, with which Discord's own samples verify."""
    headers = {
        "x-signature-ed25519": "f493ef903dac4437b692598ee75dd7d5615639c043ed73e2f22fd7941a6551f0"
        "d06431e433f07b590322fc8af180ec4afe5f47d1ceecbde3f17bdd8f3e827603",
        "x-signature-timestamp": "1800000000",
    }
    key = "0bbc346a57667c380120bd9c7fd7e51d2c5fdfea37cd2f5bf405b2c6bf6f2d78"
    channel = Discord("", key, clock=lambda: NOW)
    request = PlatformRequest(headers, b'{"type":1}')
    assert channel.receive(request).answer.body == b'{"type":1}'


def receive(channel: Discord, server: DiscordServer, interaction: dict[str, Any]) -> Received:
    body = json.dumps(interaction).encode()
    return channel.receive(PlatformRequest(server.sign(body), body))


def test_ask_is_what_a_person_says(discord: Discord, discord_server: DiscordServer) -> None:
    sent = discord_server.command("ask", "what is 2+2?", channel=77)
    received = receive(discord, discord_server, sent)
    (event,) = received.events
    assert json.loads(received.answer.body) == {"type": 5}
    assert event.id == f"discord:{APPLICATION}:{sent['id']}"
    assert (event.session, event.sender) == ("discord:77", Sender("discord:42", "Ada"))
    assert (event.text, event.private, event.language) == ("what is 2+2?", True, "en-US")
    assert abs(event.at - time.time()) < 60
    address = InteractionAddress.parse(event.reply_to)
    assert address
    assert (address.token, address.is_member) == (sent["token"], True)
    assert sent["token"] not in repr(received.answer)


def test_what_ask_says_names_is_read_by_the_names_that_came_with_it(
    discord: Discord, discord_server: DiscordServer
) -> None:
    words = "<@43> and <@44>: <#55> at <t:1700000040:t>, ask <@&77> or <@&78>"
    resolved = {
        "users": {"43": {"id": "43", "username": "bob"}, "44": {"id": "44", "global_name": "Eve"}},
        "members": {"43": {"nick": "Bobby"}},
        "roles": {"77": {"id": "77", "name": "cooks"}},
        "channels": {"55": {"id": "55", "name": "general"}},
    }
    options = [{"name": "text", "type": 3, "value": words}]
    data = {"name": "ask", "type": 1, "options": options, "resolved": resolved}
    sent = discord_server.interact(data, guild=900)
    (event,) = receive(discord, discord_server, sent).events
    told = "@Bobby and @Eve: #general at 2023-11-14 22:14 UTC, ask @cooks or"
    assert event.text == f"{told} <@&78>"
    found = discord.accept(event)
    assert found
    assert found.text == f"{told} @role"


@pytest.mark.parametrize(
    ("name", "words", "text"),
    [
        ("new", "", "/new"),
        ("pair", "ABCD-EFGH", "/pair ABCD-EFGH"),
        ("stop", " now ", "/stop  now"),
        ("ask", "/status", "/status"),
    ],
)
def test_a_command_is_what_people_type_elsewhere(
    discord: Discord, discord_server: DiscordServer, name: str, words: str, text: str
) -> None:
    (event,) = receive(discord, discord_server, discord_server.command(name, words)).events
    assert event.text == text


def test_in_a_server_the_name_there_counts_and_nothing_is_private(
    discord: Discord, discord_server: DiscordServer
) -> None:
    sent = discord_server.command("ask", "hi", guild=900, channel=5)
    sent["member"]["nick"] = "Countess\nLovelace"
    (event,) = receive(discord, discord_server, sent).events
    assert event.sender == Sender("discord:42", "Countess Lovelace")
    assert (event.private, event.addressed) == (False, ())
    # in the chat of two other people the app answers for all to see
    elsewhere = discord_server.command("ask", "hi", context=2)
    (event,) = receive(discord, discord_server, elsewhere).events
    assert not event.private


def test_a_file_is_noted_by_its_path_at_discord_alone(
    discord: Discord, discord_server: DiscordServer
) -> None:
    def ask(url: str) -> Any:
        file = {
            "id": "1",
            "filename": "list.txt",
            "size": 3,
            "content_type": "text/plain; charset=utf-8",
        }
        options = [{"name": "text", "value": "read"}, {"name": "file", "type": 11, "value": "1"}]
        resolved = {"attachments": {"1": file | {"url": url}}}
        data = {"name": "ask", "type": 1, "options": options, "resolved": resolved}
        (event,) = receive(discord, discord_server, discord_server.interact(data)).events
        return event.attachments

    path = FILE.removeprefix("https://cdn.discordapp.com/")
    assert ask(FILE) == (
        {"kind": "document", "file_id": path, "name": "list.txt", "size": 3, "mime": "text/plain"},
    )
    for url in (
        "https://evil.example/attachments/1/2/x",
        "https://cdn.discordapp.com@evil.example/attachments/1/2/x",
        "https://cdn.discordapp.com/attachments/1/2/../../../x",
        "http://cdn.discordapp.com/attachments/1/2/x",
        "file:///etc/passwd",
    ):
        assert ask(url) == ()


def test_a_press_of_one_of_our_buttons_is_its_command(
    discord: Discord, discord_server: DiscordServer
) -> None:
    received = receive(discord, discord_server, discord_server.press("/approve 0123456789ab"))
    (event,) = received.events
    assert event.text == "/approve 0123456789ab"
    assert json.loads(received.answer.body) == {"type": 5}
    other = receive(discord, discord_server, discord_server.press("/unlock"))
    assert other.events == ()
    assert json.loads(other.answer.body) == {"type": 6}


def test_what_discord_asks_is_answered(discord: Discord, discord_server: DiscordServer) -> None:
    ping = receive(discord, discord_server, {"type": 1, "id": "1"})
    assert (ping.events, json.loads(ping.answer.body)) == ((), {"type": 1})
    assert ping.answer.media == "application/json"
    choices = discord_server.interact({"name": "ask", "options": []}, kind=4)
    assert json.loads(receive(discord, discord_server, choices).answer.body)["type"] == 8
    # webhook events come with the same signature
    for event in ({"version": 1, "type": 0}, {"version": 1, "type": 1, "event": {"type": "X"}}):
        noted = receive(discord, discord_server, event)
        assert (noted.events, noted.answer.status, noted.answer.body) == ((), 204, b"")


def test_without_a_public_key_nothing_is_heard_and_a_wrong_one_is_told(
    discord_server: DiscordServer,
) -> None:
    silent = Discord(discord_server.token, "")
    body = json.dumps(discord_server.command("ask", "hi")).encode()
    request = PlatformRequest(discord_server.sign(body), body)
    for refuse in (silent.verify_head, silent.receive):
        with pytest.raises(Refused):
            refuse(request)
    with pytest.raises(UsageError, match="64 digits"):
        Discord(discord_server.token, "abc")


@pytest.mark.parametrize(
    "change",
    [
        {"id": "x"},
        {"id": "18446744073709551616"},
        {"channel_id": None},
        {"token": "../../users/@me"},
        {"application_id": 5},
        {"user": {"id": "7", "bot": True}},
        {"user": None},
        {"type": 99},
    ],
)
def test_what_lacks_something_is_no_event(
    discord_server: DiscordServer, change: dict[str, Any]
) -> None:
    body = json.dumps(discord_server.command("ask", "hi") | change).encode()
    with pytest.raises(UsageError):
        read_interaction(body, "discord", "main")


@settings(max_examples=60)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["id", "user", "data", "name", "options", "x"]), inner, max_size=4
            )
        ),
        max_leaves=8,
    ),
    st.sampled_from(
        ["id", "type", "data", "member", "user", "token", "context", "locale", "guild_id"]
    ),
)
def test_an_odd_field_never_breaks_the_door(value: Any, name: str) -> None:
    interaction = {
        "id": "1100000000000000000",
        "application_id": "5",
        "type": 2,
        "token": "t",
        "channel_id": "6",
        "user": {"id": "7"},
        "data": {"name": "ask", "options": [{"name": "text", "value": "hi"}]},
    }
    try:
        received = read_interaction(
            json.dumps(interaction | {name: value}).encode(), "discord", "main"
        )
    except UsageError:
        return
    assert len(received.events) <= 1
