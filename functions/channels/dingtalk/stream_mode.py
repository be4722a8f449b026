"""Stream mode sends over a websocket what DingTalk else posts to an address
(https://open.dingtalk.com/document/orgapp/stream).

Each message comes in a frame, which we acknowledge by its id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlencode

import orjson

from functions.channels.base import Received
from functions.channels.dingtalk.api import DingTalkApi
from functions.channels.listening.sockets import Listener, Message, is_own_socket
from sigil.errors import BackendError, UsageError
from sigil.json_fields import as_mapping, as_string
from sigil.protocol import Json

Fields = Mapping[str, Json]
TOPIC: Final = "/v1.0/im/bot/messages/get"
MESSAGE_BYTES: Final = 1 << 20
QUIET_SECONDS: Final = 3_600.0
"""Nothing need be said for so long: pings show whether DingTalk is there."""
_SOURCE: Final = "dingtalk"
_HOSTS: Final = (".dingtalk.com", ".dingtalk.io")
_ID_CHARACTERS: Final = 200


def listen(
    listener: Listener, api: DingTalkApi, base: str, read: Callable[[Fields], Received]
) -> None:
    """Receive over one connection, until DingTalk asks for another one.

    `api` is at `base`; `read` returns what a message brings.
    """
    endpoint, ticket = api.open_stream(TOPIC)
    if not is_own_socket(endpoint, base, _HOSTS):
        raise BackendError(
            "EUNAVAILABLE", "DingTalk names an address that is not its own", source=_SOURCE
        )
    url = f"{endpoint}?{urlencode({'ticket': ticket})}"
    with listener.connect(url, MESSAGE_BYTES, pings=True) as socket:
        listener.note_listening()
        while True:
            message = socket.receive(QUIET_SECONDS)
            if message is None:
                continue
            frame = _parse(message)
            headers = as_mapping(frame.get("headers"))
            topic = as_string(headers.get("topic"))
            id = as_string(headers.get("messageId"))
            data = as_string(frame.get("data"))
            if frame.get("type") == "SYSTEM":
                if topic == "disconnect":
                    return
                answer = data if topic == "ping" else "{}"
            elif id and len(id) <= _ID_CHARACTERS:
                if frame.get("type") == "CALLBACK" and topic == TOPIC:
                    listener.put(lambda data=data: read(_read_data(data)))  # type: ignore[misc]
                else:
                    kind = as_string(headers.get("eventType")) or topic or "no topic"
                    listener.put(lambda kind=kind: Received(ignored=(kind,)))  # type: ignore[misc]
                # also what cannot be read: the same again would not help
                answer = '{"response":{}}'
            else:
                listener.note_unreadable("it is no frame of stream mode")
                continue
            socket.send(_acknowledge(id, answer))


def _acknowledge(id: str, data: str) -> str:
    headers = {"messageId": id[:_ID_CHARACTERS], "contentType": "application/json"}
    answer = {"code": 200, "headers": headers, "message": "OK", "data": data}
    return orjson.dumps(answer).decode()


def _read_data(data: str) -> Fields:
    """Return a frame's message; `UsageError` EINVAL when it is none."""
    try:
        return as_mapping(orjson.loads(data))
    except orjson.JSONDecodeError:
        raise UsageError("EINVAL", "the message is no JSON", source=_SOURCE) from None


def _parse(message: Message) -> Fields:
    """Return a frame, empty for what is none."""
    try:
        return as_mapping(orjson.loads(message))
    except orjson.JSONDecodeError:
        return {}
