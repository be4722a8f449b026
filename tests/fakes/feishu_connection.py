"""Feishu's long connection as a local server. Its frames are written with another encoder than
ours: by fields, in the order of the schema of Feishu's own libraries (`pbbp2.proto`).

`with FeishuServer() as feishu, FeishuConnection(feishu) as connection: …`
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

from tests.fakes.feishu import APP, APP_SECRET, FeishuServer
from tests.fakes.server import Answer, Recorded, json_answer
from tests.fakes.websocket_server import WebsocketServer

SERVICE = 33554678


def varint(value: int) -> bytes:
    digits = []
    while True:
        digits.append(value % 128)
        value //= 128
        if not value:
            break
    return bytes([digit + 128 for digit in digits[:-1]] + digits[-1:])


def text_field(number: int, value: bytes) -> bytes:
    return varint(number * 8 + 2) + varint(len(value)) + value


def encode(
    headers: Mapping[str, str], payload: bytes, *, method: int = 1, sequence: int = 7
) -> bytes:
    """A frame as Feishu sends it."""
    frame = b""
    for number, value in ((1, sequence), (2, (1 << 63) + 5), (3, SERVICE), (4, method)):
        frame += varint(number * 8) + varint(value)
    for key, value in headers.items():
        frame += text_field(5, text_field(1, key.encode()) + text_field(2, value.encode()))
    return frame + text_field(6, b"json") + text_field(8, payload) + text_field(9, b"log-id")


def decode(frame: bytes) -> dict[int, Any]:
    """The fields of a frame: numbers, bytes, and the headers under 5."""
    fields: dict[int, Any] = {5: {}}
    place = 0

    def read() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = frame[place]
            place += 1
            value += (byte % 128) << shift
            shift += 7
            if byte < 128:
                return value

    while place < len(frame):
        tag = read()
        if tag % 8 == 0:
            fields[tag // 8] = read()
            continue
        assert tag % 8 == 2, tag
        size = read()
        content = frame[place : place + size]
        place += size
        if tag // 8 == 5:
            header = decode(content)
            fields[5][header[1].decode()] = header[2].decode()
        else:
            fields[tag // 8] = content
    return fields


class FeishuConnection(WebsocketServer):
    """`waiting` are the events that were not acknowledged, by message id. `interval`: the seconds
    between pings.
    """

    def __init__(self, feishu: FeishuServer) -> None:
        super().__init__()
        self.waiting: dict[str, bytes] = {}
        self.pings = 0
        self.answers_pings = True
        self.interval: Any = 120
        self.refused: tuple[int, str] | None = None
        self.told_url: str | None = None
        self._numbers = itertools.count(1)
        self._ready: ServerConnection | None = None
        feishu.connection = self

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def open(self, request: Recorded) -> Answer:
        """The answer to the request for an address."""
        if self.refused:
            return json_answer({"code": self.refused[0], "msg": self.refused[1]})
        if request.json() != {"AppID": APP, "AppSecret": APP_SECRET}:
            return json_answer({"code": 514, "msg": "auth failed"})
        url = self.told_url or f"{self.url}/ws/v2?device_id=7&service_id={SERVICE}&ticket=t"
        config = {"ReconnectCount": -1, "ReconnectInterval": 120, "PingInterval": self.interval}
        return json_answer({"code": 0, "msg": "", "data": {"URL": url, "ClientConfig": config}})

    # ---- for tests

    def emit(self, payload: object, parts: int = 1, kind: str = "event") -> None:
        """Send an event, in so many parts; it waits when nobody is connected."""
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        id = f"message-{next(self._numbers)}"
        with self.changed:
            self.waiting[id] = body
            for frame in reversed(_cut(id, body, parts, kind)):  # in another order
                self.send(frame)

    def send(self, frame: str | bytes) -> None:
        """Send a frame as it is."""
        if self._ready:
            with suppress(ConnectionClosed):
                self._ready.send(frame)

    # ---- the server

    def converse(self, connection: ServerConnection) -> None:
        assert connection.request
        query = parse_qs(urlsplit(connection.request.path).query)
        assert query["ticket"] == ["t"]
        with self.changed:
            self._ready = connection
            for id, body in self.waiting.items():
                for frame in _cut(id, body, 1, "event"):
                    self.send(frame)
        try:
            for message in connection:
                assert isinstance(message, bytes)
                self._take(connection, decode(message))
        finally:
            with self.changed:
                if self._ready is connection:
                    self._ready = None

    def _take(self, connection: ServerConnection, fields: dict[int, Any]) -> None:
        assert fields[3] == SERVICE
        with self.changed:
            if fields.get(4, 0) == 0:
                assert fields[5] == {"type": "ping"}
                self.pings += 1
                if self.answers_pings:
                    config = json.dumps({"PingInterval": self.interval}).encode()
                    connection.send(encode({"type": "pong"}, config, method=0))
            else:
                assert json.loads(fields[8]) == {"code": 200}
                assert (fields[1], fields[2], fields[9]) == (7, (1 << 63) + 5, b"log-id")
                self.waiting.pop(fields[5].get("message_id", ""), None)
            self.changed.notify_all()


def _cut(id: str, body: bytes, parts: int, kind: str) -> Sequence[bytes]:
    size = -(-len(body) // parts)
    return [
        encode(
            {
                "type": kind,
                "message_id": id,
                "sum": str(parts),
                "seq": str(number),
                "trace_id": "t",
            },
            body[number * size : (number + 1) * size],
        )
        for number in range(parts)
    ]
