"""Only what Feishu signed and encrypted is read, or what has its token where it does neither."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from functions.channels.base import PlatformAnswer, PlatformRequest
from functions.channels.feishu.channel import Feishu
from functions.channels.feishu.encryption import decrypt
from functions.channels.feishu.signature import STALE_SECONDS, WebhookSecrets
from sigil.errors import Refused, UsageError
from tests.fakes.feishu import (
    APP,
    BOT,
    GROUP,
    NOW,
    SECRETS,
    encrypt,
    make_message,
    make_payload,
    make_press,
    sign,
)
from tests.functions.channels.contract import ChannelContract

SIGNED = json.loads((Path(__file__).parents[3] / "events/feishu/signed.json").read_text())
FEISHU = Feishu(APP, "", SECRETS, now=lambda: NOW)
UNENCRYPTED = WebhookSecrets("", SECRETS.verification_token)


def challenge(token: str = SECRETS.verification_token) -> dict[str, Any]:
    return {"type": "url_verification", "challenge": "ajls384k", "token": token}


def refuse(bot: Feishu, request: PlatformRequest) -> None:
    with pytest.raises(Refused) as refused:
        bot.receive(request)
    assert refused.value.code == "EAUTH"


def test_what_the_official_library_verifies_is_read() -> None:
    secrets = WebhookSecrets(SIGNED["encrypt_key"], SIGNED["verification_token"])
    bot = Feishu(SIGNED["app"], "", secrets, now=lambda: 1_770_000_003.0)
    request = PlatformRequest(SIGNED["headers"], SIGNED["body"].encode())
    (event,) = bot.receive(request).events
    assert event.text == "你好"
    assert event.id.endswith(":om_5ce6d572455d361153b7cb51da133945")


@pytest.mark.parametrize("age", [STALE_SECONDS + 1, -301])
def test_a_request_of_another_time_is_refused(age: int) -> None:
    refuse(FEISHU, sign(encrypt(make_message("1", "hello")), time=NOW - age))


def test_the_last_repeat_of_an_event_is_read() -> None:
    late = sign(encrypt(make_message("1", "hello")), time=NOW - 26_000)
    assert FEISHU.receive(late).events


def test_what_is_not_encrypted_is_refused_where_there_is_a_key() -> None:
    body = json.dumps(make_message("1", "hello")).encode()
    refuse(FEISHU, PlatformRequest({}, body))
    refuse(FEISHU, PlatformRequest({}, json.dumps(challenge()).encode()))
    refuse(FEISHU, PlatformRequest({}, encrypt(make_message("1", "hello"))))


def test_what_is_signed_and_unreadable_is_not_refused() -> None:
    for body in (b"\xff", b"[]", b'{"encrypt":"YWJj"}', encrypt(challenge())[:-3] + b'"}'):
        with pytest.raises(UsageError):
            FEISHU.receive(sign(body))


def test_a_challenge_is_answered_to_who_knows_the_token() -> None:
    for bot, body in (
        (FEISHU, encrypt(challenge())),
        (Feishu(APP, "", UNENCRYPTED), json.dumps(challenge()).encode()),
    ):
        received = bot.receive(PlatformRequest({}, body))
        assert json.loads(received.answer.body) == {"challenge": "ajls384k"}
        assert not received.events
    refuse(FEISHU, PlatformRequest({}, encrypt(challenge("another-token"))))
    refuse(FEISHU, PlatformRequest({}, encrypt(challenge(""))))


def test_without_a_key_the_token_is_needed() -> None:
    bot = Feishu(APP, "", UNENCRYPTED)
    message = make_message("1", "hello")
    assert bot.receive(PlatformRequest({}, json.dumps(message).encode())).events
    for token in ("", "another-token", "\udcff", None, ["the-verification-token"]):
        message["header"]["token"] = token
        refuse(bot, PlatformRequest({}, json.dumps(message).encode()))
    for body in (b"", b"[]", b"{}", b"\xff", b'{"encrypt":"YWJj"}'):
        refuse(bot, PlatformRequest({}, body))


def test_without_any_secret_nothing_passes() -> None:
    bot = Feishu(APP, "", WebhookSecrets("", ""))
    message = make_message("1", "hello")
    message["header"]["token"] = ""
    refuse(bot, PlatformRequest({}, json.dumps(message).encode()))
    refuse(bot, PlatformRequest({}, json.dumps(challenge("")).encode()))


def test_secrets_are_not_shown() -> None:
    assert "token" not in repr(SECRETS).replace("verification_token", "")


class TestFeishu(ChannelContract):
    name = "feishu"
    proofs = ("x-lark-signature", "x-lark-request-nonce", "x-lark-request-timestamp")

    def open_channel(self) -> Feishu:
        return Feishu(APP, "", SECRETS, now=lambda: NOW)

    def list_samples(self) -> dict[str, tuple[bytes, tuple[str, ...]]]:
        mentions = {"@_user_1": (BOT, "Sigil")}
        named = make_message("2", "@_user_1 hi", group=GROUP, mentions=mentions)
        value = {"command": "/approve a1b2c3", "session": f"feishu:{GROUP}"}
        press = make_press("p1", value, chat=GROUP)
        return {
            "private": (encrypt(make_message("1", "hello")), (f"feishu:{APP}:om_1",)),
            "mention": (encrypt(named), (f"feishu:{APP}:om_2",)),
            "press": (encrypt(press), (f"feishu:{APP}:p1",)),
        }

    def list_silent(self) -> dict[str, bytes]:
        robot = make_message("1", "hello")
        robot["event"]["sender"]["sender_type"] = "app"
        reaction = make_payload("im.message.reaction.created_v1", {"message_id": "om_1"})
        unaddressed = make_message("1", "lunch?", group=GROUP)
        silent = {"a bot": robot, "a reaction": reaction, "unaddressed": unaddressed}
        return {name: encrypt(payload) for name, payload in silent.items()}

    def sign(self, body: bytes, age: float = 0.0) -> PlatformRequest:
        return sign(body, time=int(NOW - age))

    def unseal(self, body: bytes) -> bytes:
        return decrypt(json.loads(body)["encrypt"], SECRETS.encrypt_key)

    def seal(self, text: bytes) -> bytes:
        payload = json.loads(text)
        # a request with another token is refused
        if isinstance(payload, dict) and isinstance(payload.get("header"), dict):
            payload["header"]["token"] = SECRETS.verification_token
        return encrypt(payload)

    def list_handshakes(self) -> list[tuple[PlatformRequest, PlatformAnswer]]:
        expected = PlatformAnswer(body=b'{"challenge":"ajls384k"}')
        return [(PlatformRequest({}, encrypt(challenge())), expected)]


def test_receiving_loads_no_client_and_only_a_key_the_cipher() -> None:
    code = (
        "import sys\n"
        "from functions.channels.base import PlatformRequest\n"
        "from functions.channels.feishu.channel import Feishu\n"
        "from functions.channels.feishu.signature import WebhookSecrets\n"
        "bot = Feishu(sys.argv[1], '', WebhookSecrets('', sys.argv[2]))\n"
        "assert bot.receive(PlatformRequest({}, sys.argv[3].encode())).events\n"
        "print(*sys.modules)\n"
        "Feishu(sys.argv[1], '', WebhookSecrets('a-key', ''))\n"
        "print('cryptography' in sys.modules)"
    )
    body = json.dumps(make_message("1", "hello"))
    command = [sys.executable, "-c", code, APP, SECRETS.verification_token, body]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded, with_key = ran.stdout.splitlines()
    assert not {"httpx", "markdown_it", "cryptography"} & set(loaded.split())
    assert with_key == "True"
