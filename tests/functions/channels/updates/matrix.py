"""Matrix' updates: a sample is an event of a room, of which the kind and the content are enough, and
may have the `original` of what it changes, which the homeserver did not tell us.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from functions.channels.base import PlatformRequest
from tests.fakes.matrix import ADA, BOT, DIRECT, SECRET, TOKEN, Homeserver, encode, make_event, push
from tests.functions.channels.updates.platform import INVOICE, PICTURE, WebhookPlatform

_NUMBERS = count(1)


class MatrixUpdates(WebhookPlatform):
    def __init__(self, homeserver: Homeserver) -> None:
        self._homeserver = homeserver
        self.files = homeserver.files
        self.settings = {
            "matrix_homeserver": homeserver.url,
            "matrix_user": BOT,
            "matrix_token": TOKEN,
            "matrix_secret": SECRET,
            "owners": (f"matrix:{ADA}",),
            "access": "open",
            "guest_turns": 0,
            "guest_tokens": 0,
        }

    def sign(self, sample: Any) -> PlatformRequest:
        original = sample.pop("original", None)
        if original:
            self._homeserver.say(make_event(original["content"]) | original)
        event = make_event(sample.get("content", {}), ADA, DIRECT, sample["type"]) | sample
        if event["room_id"] in self._homeserver.rooms:
            self._homeserver.say(event)
        else:
            self._homeserver.invite(event["room_id"])
        return push(encode(event), str(next(_NUMBERS)))

    def list_said(self) -> list[str]:
        return [message["content"]["body"] for message in self._homeserver.messages]


@contextmanager
def open_platform() -> Iterator[MatrixUpdates]:
    with Homeserver() as homeserver:
        homeserver.files["mxc://example.org/picture"] = PICTURE
        homeserver.files["mxc://example.org/invoice"] = INVOICE
        yield MatrixUpdates(homeserver)
