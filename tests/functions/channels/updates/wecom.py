"""WeCom's messages: a sample has the fields of the XML; those that are none have fields below."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any

from functions.channels.base import PlatformRequest
from tests.fakes.wecom import (
    AES_KEY,
    AGENT,
    ALICE,
    CORP,
    SECRET,
    TOKEN,
    WeComServer,
    pack,
)
from tests.functions.channels.updates.platform import PICTURE, WebhookPlatform

_NUMBERS = count(1)


class WeComUpdates(WebhookPlatform):
    def __init__(self, server: WeComServer) -> None:
        self._server = server
        self.files = server.sent_files
        self.settings = {
            "wecom_corp_id": CORP,
            "wecom_agent_id": AGENT,
            "wecom_secret": SECRET,
            "wecom_token": TOKEN,
            "wecom_aes_key": AES_KEY,
            "wecom_api": server.url,
            "owners": (f"wecom:{ALICE}",),
        }

    def sign(self, sample: Any) -> PlatformRequest:
        now = time.time()
        fields = {"ToUserName": CORP, "FromUserName": ALICE, "CreateTime": int(now)}
        if sample["MsgType"] != "event":
            fields |= {"MsgId": next(_NUMBERS)}
        fields |= {"AgentID": AGENT} | sample
        return pack(_write_xml({"xml": fields}).encode(), now)

    def list_said(self) -> list[str]:
        return self._server.texts()


def _write_xml(fields: Mapping[str, Any]) -> str:
    return "".join(
        f"<{name}>{_write_xml(value)}</{name}>"
        if isinstance(value, dict)
        else f"<{name}><![CDATA[{value}]]></{name}>"
        for name, value in fields.items()
    )


@contextmanager
def open_platform() -> Iterator[WeComUpdates]:
    with WeComServer() as server:
        server.sent_files |= {"notes": b"buy milk", "image1": PICTURE}
        yield WeComUpdates(server)
