"""LINE's events: a sample is an event, without the fields that all have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from functions.channels.base import PlatformRequest
from tests.fakes.line import PERSON, SECRET, TOKEN, LineServer, make_body, make_event, sign
from tests.functions.channels.updates.platform import PICTURE, WebhookPlatform

_NUMBERS = count(1)


class LineUpdates(WebhookPlatform):
    def __init__(self, server: LineServer) -> None:
        self._server = server
        self.files = server.files
        self.settings = {
            "line_token": TOKEN,
            "line_secret": SECRET,
            "line_api": server.url,
            "owners": (f"line:{PERSON}",),
        }

    def sign(self, sample: Any) -> PlatformRequest:
        number = next(_NUMBERS)
        fields = dict(sample)
        if "message" in fields:
            fields["message"] = {"id": str(500_000 + number), **fields["message"]}
        return sign(make_body(make_event(fields.pop("type"), number, **fields)))

    def list_said(self) -> list[str]:
        return self._server.texts()


@contextmanager
def open_platform() -> Iterator[LineUpdates]:
    with LineServer() as server:
        server.language = "en"
        server.files |= {"900001": b"buy milk", "900002": PICTURE}
        yield LineUpdates(server)
