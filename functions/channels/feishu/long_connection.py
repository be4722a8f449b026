"""The long connection sends over a websocket what Feishu else posts to an address
(https://open.feishu.cn/document/server-docs/event-subscription-guide/event-subscription-configure-/request-url-configuration-case).

Its frames are those of Feishu's own libraries. Feishu sends again what was not acknowledged.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final
from urllib.parse import parse_qs, urlsplit

import orjson

from functions.channels.base import Received
from functions.channels.feishu.api import FeishuApi
from functions.channels.feishu.frames import CONTROL, DATA, Frame, read_frame, write_frame
from functions.channels.listening.sockets import Listener, is_own_socket
from sigil.errors import BackendError
from sigil.json_fields import as_mapping, as_number
from sigil.protocol import Json

HOSTS: Final = (".feishu.cn", ".larksuite.com", ".larkoffice.com")
MESSAGE_BYTES: Final = 4 << 20
PINGS: Final = (1.0, 600.0)
"""The pause between two pings is one of these at least and at most, in seconds."""
PING_SECONDS: Final = 120.0
PARTS_MOST: Final = 100
PARTED_MOST: Final = 20
"""So many messages may have come in part."""
_SOURCE: Final = "feishu"
_ACKNOWLEDGED: Final = b'{"code":200}'


def listen(
    listener: Listener, api: FeishuApi, base: str, read: Callable[[bytes], Received]
) -> None:
    """Receive over one connection. `read` returns what the plain body of an event brings."""
    url, pause = _find_url(api, base)
    [service] = parse_qs(urlsplit(url).query).get("service_id", ["0"])[:1]
    ping = write_frame(Frame(CONTROL, int(service) if service.isdecimal() else 0, {"type": "ping"}))
    parts: dict[str, list[bytes]] = {}
    with listener.connect(url, MESSAGE_BYTES) as socket:
        listener.note_listening()
        next_ping = time.monotonic()
        is_answered = True
        while True:
            now = time.monotonic()
            if now >= next_ping:
                if not is_answered:
                    raise BackendError("EUNAVAILABLE", "Feishu answers no pings", source=_SOURCE)
                socket.send(ping)
                is_answered = False
                next_ping = now + pause
            message = socket.receive(next_ping - now)
            if message is None:
                continue
            # whatever comes shows that Feishu is there
            is_answered = True
            try:
                frame = read_frame(message if isinstance(message, bytes) else b"\xff")
                whole = _join(frame, parts) if frame.method == DATA else None
            except ValueError:
                listener.note_unreadable("it is no frame of the long connection")
                continue
            if frame.method == CONTROL and frame.headers.get("type") == "pong":
                pause = _read_pause(_parse(frame.payload), pause)
            elif whole is not None:
                kind = frame.headers.get("type")
                if kind == "event":
                    listener.put(lambda whole=whole: read(whole))  # type: ignore[misc]
                else:
                    ignored = Received(ignored=(f"frame of {kind}",))
                    listener.put(lambda ignored=ignored: ignored)  # type: ignore[misc]
                # also what cannot be read: the same again would not help
                socket.send(write_frame(replace(frame, payload=_ACKNOWLEDGED)))


def _find_url(api: FeishuApi, base: str) -> tuple[str, float]:
    """Return where to connect, by a ticket, and the pause between two pings."""
    data = api.open_connection()
    url = data.get("URL")
    if not isinstance(url, str) or not is_own_socket(url, base, HOSTS):
        raise BackendError(
            "EUNAVAILABLE", "Feishu names an address that is not its own", source=_SOURCE
        )
    return url, _read_pause(data.get("ClientConfig"), PING_SECONDS)


def _read_pause(config: Json, otherwise: float) -> float:
    seconds = as_number(as_mapping(config).get("PingInterval")) or otherwise
    return min(max(seconds, PINGS[0]), PINGS[1])


def _join(frame: Frame, parts: dict[str, list[bytes]]) -> bytes | None:
    """Return the payload of a message once all its parts are there; `ValueError` for an odd
    part.
    """
    count = _read_number(frame.headers.get("sum", "1"))
    number = _read_number(frame.headers.get("seq", "0"))
    if count <= 1:
        return frame.payload
    if count > PARTS_MOST or number >= count:
        raise ValueError("no part")
    id = frame.headers.get("message_id", "")
    there = parts.setdefault(id, [b""] * count)
    if len(there) != count:
        raise ValueError("no part")
    there[number] = frame.payload
    if sum(map(len, there)) > MESSAGE_BYTES:
        parts.pop(id)
        raise ValueError("too large")
    if all(there):
        return b"".join(parts.pop(id))
    if len(parts) > PARTED_MOST:
        parts.pop(next(iter(parts)))
    return None


def _read_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 7):
        raise ValueError("no number")
    return int(text)


def _parse(payload: bytes) -> Json:
    try:
        parsed: Json = orjson.loads(payload)
    except orjson.JSONDecodeError:
        return None
    return parsed
