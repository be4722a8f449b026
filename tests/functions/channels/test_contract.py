"""The contract of channels at the webhook, with Telegram and a platform of the tests alone."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from functions.channels.base import PlatformAnswer, PlatformRequest
from functions.channels.telegram.channel import Telegram
from tests.fakes.bot_api import TOKEN
from tests.functions.channels import toy
from tests.functions.channels.contract import ChannelContract, Door

SAMPLES = Path(__file__).parents[2] / "events" / "telegram"
SECRET = "hush-hush"
BOT = TOKEN.partition(":")[0]


class TestTelegram(ChannelContract):
    name = "telegram"
    proofs = ("x-telegram-bot-api-secret-token",)
    signs_body = False

    def list_samples(self) -> dict[str, tuple[bytes, tuple[str, ...]]]:
        found = {}
        for name in ("private_text", "group_mention"):
            body = (SAMPLES / f"{name}.json").read_bytes()
            message = json.loads(body)["message"]
            chat = message["chat"]["id"]
            found[name] = (body, (f"telegram:{BOT}:{chat}:{message['message_id']}",))
        return found

    def list_silent(self) -> dict[str, bytes]:
        names = ("another_bot", "channel_post", "my_chat_member")
        return {name: (SAMPLES / f"{name}.json").read_bytes() for name in names}

    def open_channel(self) -> Telegram:
        return Telegram(TOKEN, SECRET, username="Sigil_Bot")

    def sign(self, body: bytes, age: float = 0.0) -> PlatformRequest:
        return PlatformRequest({self.proofs[0]: SECRET}, body)


class TestToy(ChannelContract):
    name = "toy"
    has_odd_fields = False
    proofs = ("x-toy-time", "x-toy-signature")
    window = toy.WINDOW

    def list_samples(self) -> dict[str, tuple[bytes, tuple[str, ...]]]:
        body = toy.make_body(toy.make_message(1), toy.make_message(2))
        return {"two messages": (body, ("toy:1", "toy:2"))}

    def list_silent(self) -> dict[str, bytes]:
        return {
            "another bot": toy.make_body(toy.make_message(3, bot=True)),
            "an edit": toy.make_body(toy.make_message(3, edited=True)),
        }

    def open_channel(self) -> toy.Toy:
        return toy.Toy()

    def sign(self, body: bytes, age: float = 0.0) -> PlatformRequest:
        return toy.sign(body, toy.NOW - age)

    def list_handshakes(self) -> list[tuple[PlatformRequest, PlatformAnswer]]:
        query = {"token": toy.SECRET.decode(), "challenge": "42"}
        asked = PlatformRequest({}, query=query, method="GET")
        return [(asked, PlatformAnswer(200, b"42", "text/plain"))]

    def make_batch(self, count: int) -> bytes:
        messages = [toy.make_message(id, chat=f"C{id % 7}") for id in range(count)]
        return toy.make_body(*messages)


def test_a_platform_may_refuse_in_its_own_form() -> None:
    door = Door(toy.Toy(), "toy")
    refused = door.send(PlatformRequest({}, b"{}", method="PUT", path="transactions/1"))
    assert refused == PlatformAnswer(403, b'{"errcode":"TOY_FORBIDDEN"}')


def test_what_is_too_big_is_refused_unless_it_is_surely_the_platforms(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "uncaged")
    large = b" " * ((1 << 20) + 1)
    unproven = Door(toy.Toy(), "toy").send(toy.sign(large))
    door = Door(Telegram(TOKEN, SECRET), "telegram")
    proven = door.send(PlatformRequest({"x-telegram-bot-api-secret-token": SECRET}, large))
    assert (unproven.status, proven.status) == (413, 200)
    assert "not understood" in caplog.text


def test_a_mistake_of_ours_in_reading_a_body_does_not_bring_it_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(bot: toy.Toy, row: object) -> None:
        raise RecursionError

    monkeypatch.setattr(toy.Toy, "_read", fail)
    answer = Door(toy.Toy(), "toy").send(toy.sign(toy.make_body(toy.make_message(1))))
    assert answer.status == 200
    assert "unreadable" in caplog.text
