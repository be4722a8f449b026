"""Socket Mode sends over a websocket what Slack else posts to an address
(https://docs.slack.dev/apis/events-api/using-socket-mode).

Each message comes in an envelope, which we acknowledge by its id. Slack sends again what was not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import orjson

from functions.channels.base import Received
from functions.channels.listening.sockets import CannotListen, Listener, Message, is_own_socket
from functions.channels.slack.api import HOSTS, SlackApi, SlackRejected
from sigil.errors import BackendError
from sigil.json_fields import as_mapping, as_string
from sigil.protocol import Json

Payload = Mapping[str, Json]
MESSAGE_BYTES: Final = 4 << 20
QUIET_SECONDS: Final = 3_600.0
"""Nothing need be said for so long: pings show whether Slack is there."""
_SOURCE: Final = "slack"
_ID_CHARACTERS: Final = 200


def listen(
    listener: Listener, api: SlackApi, base: str, read: Callable[[str, Payload], Received]
) -> None:
    """Receive over one connection, until Slack asks for another one.

    `api` has the app-level token, and is at `base`. `read` returns what a payload of a kind brings.
    """
    with listener.connect(_find_url(api, base), MESSAGE_BYTES, pings=True) as socket:
        while True:
            message = socket.receive(QUIET_SECONDS)
            if message is None:
                continue
            frame = _parse(message)
            kind = as_string(frame.get("type"))
            id = as_string(frame.get("envelope_id"))
            if kind == "hello":
                listener.note_listening()
            elif kind == "disconnect":
                if frame.get("reason") == "link_disabled":
                    raise CannotListen(
                        "Socket Mode is switched off in the app",
                        source=_SOURCE,
                        suggestion="switch it on in the app's settings, Socket Mode, and start"
                        " again",
                    )
                return
            elif id and len(id) <= _ID_CHARACTERS:
                payload = as_mapping(frame.get("payload"))
                listener.put(lambda kind=kind, payload=payload: read(kind, payload))  # type: ignore[misc]
                # also what cannot be read: the same again would not help
                socket.send(orjson.dumps({"envelope_id": id}).decode())
            else:
                listener.note_unreadable("it is no envelope of Socket Mode")


def _find_url(api: SlackApi, base: str) -> str:
    """Return where to connect, by a ticket that counts once."""
    try:
        answer, _ = api.call("apps.connections.open", {})
    except SlackRejected as problem:
        raise BackendError("EUNAVAILABLE", problem.message, source=_SOURCE) from None
    except BackendError as problem:
        if not problem.suggestion:
            raise
        raise CannotListen(
            problem.message,
            source=_SOURCE,
            suggestion="check SLACK_APP_TOKEN: Basic Information, App-Level Tokens, with the scope"
            " connections:write",
        ) from None
    url = as_string(answer.get("url"))
    if not is_own_socket(url, base, HOSTS):
        raise BackendError(
            "EUNAVAILABLE", "Slack names an address that is not its own", source=_SOURCE
        )
    return url


def _parse(message: Message) -> Payload:
    """Return a frame, empty for what is none."""
    try:
        return as_mapping(orjson.loads(message))
    except orjson.JSONDecodeError:
        return {}
