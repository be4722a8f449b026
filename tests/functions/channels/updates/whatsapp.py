"""WhatsApp's updates: a sample is a message, or the fields of a `value` beside messages, or a whole
`change`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from functions.channels.base import PlatformRequest
from tests.fakes.graph_api import (
    NUMBER,
    PERSON,
    SECRET,
    TOKEN,
    VERIFY_TOKEN,
    GraphApi,
    make_body,
    sign,
)
from tests.functions.channels.updates.platform import PICTURE, WebhookPlatform

_NUMBERS = count(1)


class WhatsAppUpdates(WebhookPlatform):
    def __init__(self, api: GraphApi) -> None:
        self._api = api
        self.files = api.sent_files
        self.settings = {
            "whatsapp_number": NUMBER,
            "whatsapp_token": TOKEN,
            "whatsapp_secret": SECRET,
            "whatsapp_verify_token": VERIFY_TOKEN,
            "whatsapp_api": api.url,
            "owners": (f"whatsapp:{PERSON}",),
        }

    def sign(self, sample: Any) -> PlatformRequest:
        if "change" in sample:
            entry = {"id": "102290129340398", "changes": [sample["change"]]}
            body = {"object": "whatsapp_business_account", "entry": [entry]}
            return sign(json.dumps(body).encode())
        if "value" in sample:
            return sign(make_body(**sample["value"]))
        now = str(int(time.time()))
        own = {"from": PERSON, "id": f"wamid.TEST{next(_NUMBERS)}", "timestamp": now}
        return sign(make_body(own | sample["message"]))

    def list_said(self) -> list[str]:
        return [message["text"]["body"] for message in self._api.messages]


@contextmanager
def open_platform() -> Iterator[WhatsAppUpdates]:
    with GraphApi() as api:
        api.sent_files |= {"900001": b"buy milk", "65463453": PICTURE}
        yield WhatsAppUpdates(api)
