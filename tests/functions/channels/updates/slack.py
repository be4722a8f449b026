"""Slack's updates: a sample is an `event`, whose messages need not tell who writes where, a whole
`payload`, or a `form`, which may have a `payload` of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from functions.channels.base import PlatformRequest
from tests.fakes import slack as fake
from tests.fakes.slack import ADA, SECRET, TEAM, SlackWorkspace
from tests.functions.channels.updates.platform import PICTURE, WebhookPlatform

_NUMBERS = count(1)


class SlackUpdates(WebhookPlatform):
    def __init__(self, workspace: SlackWorkspace) -> None:
        self._workspace = workspace
        self.files = workspace.sent_files
        self.settings = {
            "slack_token": workspace.token,
            "slack_secret": SECRET,
            "slack_api": workspace.api,
            "owners": (f"slack:{TEAM}.{ADA}",),
            "access": "open",
            "guest_turns": 0,
            "guest_tokens": 0,
        }

    def sign(self, sample: Any) -> PlatformRequest:
        if "form" in sample:
            form = dict(sample["form"])
            if "payload" in form:
                form["payload"] = json.dumps(form["payload"])
            else:
                form = fake.command(**form)
            return PlatformRequest(*fake.form_request(form))
        if "payload" in sample:
            return PlatformRequest(*fake.json_request(sample["payload"]))
        event = sample["event"]
        if event["type"] in ("message", "app_mention"):
            event = fake.message("", f"1780000000.{next(_NUMBERS):06d}") | event
        return PlatformRequest(*fake.json_request(fake.event_payload(event)))

    def list_said(self) -> list[str]:
        said = (*self._workspace.messages, *self._workspace.responses)
        return [message["seen"] for message in said]


@contextmanager
def open_platform() -> Iterator[SlackUpdates]:
    with SlackWorkspace() as workspace:
        workspace.sent_files["F0FILE001"] = PICTURE
        yield SlackUpdates(workspace)
