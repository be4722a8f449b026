"""DingTalk's stream mode as a local server: it gives a ticket for each connection, and sends again
what was not acknowledged.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

from tests.fakes.dingtalk import APP, SECRET, DingTalkServer
from tests.fakes.server import Answer, json_answer
from tests.fakes.websocket_server import WebsocketServer

TOPIC = "/v1.0/im/bot/messages/get"


class DingTalkStream(WebsocketServer):
    """`waiting` are the frames that were not acknowledged, by id; `pongs` what pings brought
    back.
    """

    def __init__(self, server: DingTalkServer) -> None:
        super().__init__()
        self.waiting: dict[str, dict[str, Any]] = {}
        self.pongs: list[str] = []
        self.told_url: str | None = None
        self._tickets: set[str] = set()
        self._numbers = itertools.count(1)
        self._ready: ServerConnection | None = None
        server.open_stream = self.open

    def open(self, body: Mapping[str, Any]) -> Answer:
        """The answer to whoever asks for a connection."""
        if (body.get("clientId"), body.get("clientSecret")) != (APP, SECRET):
            return json_answer({"code": "authFailed", "message": "no"}, 401)
        assert body["subscriptions"] == [{"type": "CALLBACK", "topic": TOPIC}]
        ticket = f"ticket+{next(self._numbers)}="
        self._tickets.add(ticket)
        return json_answer({"endpoint": self.told_url or f"{self.url}/connect", "ticket": ticket})

    # ---- for tests

    def emit(self, message: Mapping[str, Any] | str, topic: str = TOPIC) -> None:
        """Send a message; it waits when nobody is connected."""
        data = message if isinstance(message, str) else json.dumps(message)
        with self.changed:
            frame = self._make_frame("CALLBACK", topic, data)
            self.waiting[frame["headers"]["messageId"]] = frame
            self.send(frame)

    def emit_system(self, topic: str, data: str = "{}") -> None:
        """Send a frame of the system's own."""
        self.send(self._make_frame("SYSTEM", topic, data))

    def send(self, frame: object) -> None:
        """Send a frame as it is."""
        if self._ready:
            with suppress(ConnectionClosed):
                self._ready.send(frame if isinstance(frame, str | bytes) else json.dumps(frame))

    def wait_for_acknowledgement(self) -> None:
        """Wait until everything was acknowledged."""
        self.wait_until(lambda: not self.waiting, "all is acknowledged")

    # ---- the server

    def converse(self, connection: ServerConnection) -> None:
        assert connection.request
        [ticket] = parse_qs(urlsplit(connection.request.path).query)["ticket"]
        assert ticket in self._tickets, "a ticket counts once"
        self._tickets.remove(ticket)
        with self.changed:
            self._ready = connection
            for frame in list(self.waiting.values()):
                self.send(frame)
        try:
            for message in connection:
                answer = self.record(message)
                assert answer["code"] == 200, answer
                assert set(answer) == {"code", "headers", "message", "data"}, answer
                assert answer["headers"]["contentType"] == "application/json", answer
                with self.changed:
                    self.waiting.pop(answer["headers"]["messageId"], None)
                    self.pongs.append(answer["data"])
                    self.changed.notify_all()
        finally:
            with self.changed:
                if self._ready is connection:
                    self._ready = None

    def _make_frame(self, kind: str, topic: str, data: str) -> dict[str, Any]:
        headers = {"topic": topic, "messageId": f"m{next(self._numbers)}", "appId": "a"}
        return {"specVersion": "1.0", "type": kind, "headers": headers, "data": data}
