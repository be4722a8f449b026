"""Telegram's updates: a sample is an update, whose message need not tell who writes where."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from functions.channels.base import PlatformRequest
from functions.channels.telegram.channel import SECRET_HEADER
from tests.fakes.bot_api import BotApi
from tests.functions.channels.updates.platform import INVOICE, PICTURE, WebhookPlatform

SECRET = "a-secret-of-the-webhook"
OWNER = 42
_NUMBERS = count(700_001)
_ADA = {"id": OWNER, "is_bot": False, "first_name": "Ada", "language_code": "en"}


class TelegramUpdates(WebhookPlatform):
    def __init__(self, api: BotApi) -> None:
        self._api = api
        self.files = api.sent_files
        self.settings = {
            "telegram_token": api.token,
            "telegram_secret": SECRET,
            "telegram_api": api.url,
            "owners": (f"telegram:{OWNER}",),
            "access": "open",
            "guest_turns": 0,
            "guest_tokens": 0,
        }

    def sign(self, sample: Any) -> PlatformRequest:
        number = next(_NUMBERS)
        update = {"update_id": number, **sample}
        for kind in sample.keys() & {"message", "edited_message"}:
            around = {
                "message_id": number,
                "from": _ADA,
                "chat": {"id": OWNER, "type": "private"},
                "date": 1_780_000_000,
            }
            update[kind] = around | sample[kind]
        return PlatformRequest({SECRET_HEADER: SECRET}, json.dumps(update).encode())

    def list_said(self) -> list[str]:
        return [message["text"] for message in self._api.messages]


@contextmanager
def open_platform() -> Iterator[TelegramUpdates]:
    with BotApi() as api:
        archive = b"PK\x05\x06" + bytes(18)
        api.sent_files |= {"photo": PICTURE, "invoice": INVOICE, "archive": archive}
        yield TelegramUpdates(api)
