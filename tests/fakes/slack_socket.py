"""Slack's Socket Mode as a local server: it gives a ticket for each connection, and sends again what
was not acknowledged.

`with SlackWorkspace() as workspace, SlackSocket(workspace) as socket: …`
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

from tests.fakes.server import Answer, Recorded, json_answer
from tests.fakes.slack import SlackWorkspace
from tests.fakes.websocket_server import WebsocketServer

APP_TOKEN = "xapp-1-A0APP0001-4242-TESTtokenOfAnApp"


class SlackSocket(WebsocketServer):
    """`waiting` are the envelopes that were not acknowledged, by id."""

    def __init__(self, workspace: SlackWorkspace) -> None:
        super().__init__()
        self.waiting: dict[str, dict[str, Any]] = {}
        self.told_url: str | None = None
        self.error = ""
        self._tickets: set[str] = set()
        self._numbers = itertools.count(1)
        self._ready: ServerConnection | None = None
        workspace.socket = self

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def open(self, request: Recorded) -> Answer:
        """The answer to `apps.connections.open`."""
        if request.headers.get("authorization") != f"Bearer {APP_TOKEN}":
            return json_answer({"ok": False, "error": "not_allowed_token_type"})
        if self.error:
            return json_answer({"ok": False, "error": self.error})
        ticket = f"ticket-{next(self._numbers)}"
        self._tickets.add(ticket)
        url = self.told_url or f"{self.url}/link/?ticket={ticket}&app_id=A0APP0001"
        return json_answer({"ok": True, "url": url})

    # ---- for tests

    def emit(self, kind: str, payload: Mapping[str, Any]) -> str:
        """Send an envelope, and return its id; it waits when nobody is connected."""
        id = f"envelope-{next(self._numbers)}"
        with self.changed:
            self.waiting[id] = {
                "envelope_id": id,
                "type": kind,
                "payload": dict(payload),
                "accepts_response_payload": kind != "events_api",
            }
            self._send(self.waiting[id])
        return id

    def send(self, frame: object) -> None:
        """Send a frame as it is."""
        self._send(frame)

    def wait_for_acknowledgement(self) -> None:
        """Wait until everything was acknowledged."""
        self.wait_until(lambda: not self.waiting, "all is acknowledged")

    # ---- the server

    def converse(self, connection: ServerConnection) -> None:
        assert connection.request
        query = parse_qs(urlsplit(connection.request.path).query)
        ticket = query["ticket"][0]
        assert ticket in self._tickets, "a ticket counts once"
        self._tickets.remove(ticket)
        hello = {"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A0APP0001"}}
        with self.changed:
            self._ready = connection
            self._send(hello)
            for envelope in list(self.waiting.values()):
                self._send(envelope | {"retry_attempt": 1, "retry_reason": "timeout"})
        try:
            for message in connection:
                frame = self.record(message)
                assert set(frame) == {"envelope_id"}, frame
                with self.changed:
                    self.waiting.pop(frame["envelope_id"], None)
                    self.changed.notify_all()
        finally:
            with self.changed:
                if self._ready is connection:
                    self._ready = None

    def _send(self, frame: object) -> None:
        if self._ready:
            with suppress(ConnectionClosed):
                self._ready.send(frame if isinstance(frame, str | bytes) else json.dumps(frame))
