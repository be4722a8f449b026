"""Feishu's events: a sample is an event with its `event_type`, or a message, whose content is not
yet a text and which is new unless there is an `event_type`, or a whole `payload`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from functions.channels.base import PlatformRequest
from tests.fakes.feishu import (
    ALICE,
    APP,
    APP_SECRET,
    BOT,
    GROUP,
    SECRETS,
    FeishuServer,
    encrypt,
    make_payload,
    sign,
)
from tests.functions.channels.updates.platform import PICTURE, WebhookPlatform

_NUMBERS = count(1)
_SENDER = {"sender_id": {"open_id": ALICE}, "sender_type": "user", "tenant_key": "t1"}
_PLACES = {
    "private": {"chat_id": "oc_private", "chat_type": "p2p"},
    "group": {"chat_id": GROUP, "chat_type": "group"},
    "mention": {
        "chat_id": GROUP,
        "chat_type": "group",
        "mentions": [{"key": "@_user_1", "id": {"open_id": BOT}, "name": "Sigil"}],
    },
}


class FeishuUpdates(WebhookPlatform):
    def __init__(self, server: FeishuServer) -> None:
        self._server = server
        self.files = server.sent_files
        self.settings = {
            "feishu_app_id": APP,
            "feishu_app_secret": APP_SECRET,
            "feishu_encrypt_key": SECRETS.encrypt_key,
            "feishu_verification_token": SECRETS.verification_token,
            "feishu_api": server.url,
            "owners": (f"feishu:{ALICE}",),
        }

    def sign(self, sample: Any) -> PlatformRequest:
        number = next(_NUMBERS)
        payload = sample.get("payload")
        if "message" in sample:
            message = {
                "message_id": f"om_{number}",
                "create_time": str(int(time.time() * 1000)),
                **_PLACES[sample.get("place", "private")],
                **sample["message"],
            }
            message["content"] = json.dumps(message.get("content", {}))
            event = {"sender": _SENDER | sample.get("sender", {}), "message": message}
            kind = sample.get("event_type", "im.message.receive_v1")
            payload = make_payload(kind, event, f"e{number}")
        elif payload is None:
            payload = make_payload(sample["event_type"], sample["event"], f"e{number}")
            payload["header"] |= sample.get("header", {})
        return sign(encrypt(payload), SECRETS, int(time.time()))

    def list_said(self) -> list[str]:
        return self._server.texts()


@contextmanager
def open_platform() -> Iterator[FeishuUpdates]:
    with FeishuServer() as server:
        server.sent_files |= {"file_v3_1": b"buy milk", "img_v3_1": PICTURE}
        yield FeishuUpdates(server)
