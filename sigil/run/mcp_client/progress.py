"""How far a server says that a call has come, and until when the call waits for it therefore."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping

from sigil.mcp import jsonrpc
from sigil.mcp.jsonrpc import RpcError, RpcNotification
from sigil.protocol import Json
from sigil.running_call import RunningCall, read_progress

PROGRESS = "notifications/progress"
TOKEN = "progressToken"
SAID_CHARACTERS = 2_000
"""A longer message is not read. It is not cut either: half a secret is not known as one."""
EVENT_BYTES = 16 << 10
"""The most bytes of an event that tells of progress."""
_EVENT_END = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2,}")
_EVENT_ENDS = (b"\n\n", b"\r\r", b"\r\n\r\n")
_END_BYTES = 4


class ProgressWatch:
    """Reads how far a server says that one call has come.

    The call ends at `end`, a time of the monotonic clock, and before that, `idle` seconds after the
    server last told that it goes on. `scrub` takes secrets out of a message.
    """

    def __init__(
        self, call: RunningCall, end: float, idle: float, scrub: Callable[[str], str]
    ) -> None:
        self.call = call
        self._last = end
        self._idle = idle
        self._scrub = scrub
        self.end = min(end, time.monotonic() + idle)

    def read(self, params: Mapping[str, Json]) -> None:
        """Take the parameters of a notification about this call; what makes no sense is ignored."""
        message = params.get("message")
        if isinstance(message, str):
            message = self._scrub(message) if len(message) <= SAID_CHARACTERS else ""
        progress = read_progress(params.get("progress"), params.get("total"), message)
        if progress and self.call.report(progress):
            self.end = min(self._last, time.monotonic() + self._idle)


class StreamWatch:
    """Reads the progress of the request `token` out of a stream of events, as its bytes come.

    The whole answer is read once it is there: what is damaged here is ignored.
    """

    def __init__(self, watch: ProgressWatch, token: int) -> None:
        self._watch = watch
        self._token = token
        self._rest = b""

    def feed(self, piece: bytes) -> float:
        """Take the next bytes; return until when the rest may come."""
        data = self._rest + piece
        events: list[bytes] = []
        if PROGRESS.encode() in data:
            *events, self._rest = _EVENT_END.split(data)
        else:  # no look at each line: a stream may be nothing but line ends
            self._rest = data[max(0, *map(data.rfind, _EVENT_ENDS)) :]
        if len(self._rest) > EVENT_BYTES:
            self._rest = self._rest[-_END_BYTES:]
        told = [event for event in events if PROGRESS.encode() in event]
        if told and len(told[-1]) <= EVENT_BYTES:
            # the newest alone: a flood costs no more than its bytes
            lines = told[-1].splitlines()
            texts = [line.removeprefix(b"data:") for line in lines if line.startswith(b"data:")]
            self._read_event(b"\n".join(texts))
        return self._watch.end

    def _read_event(self, data: bytes) -> None:
        try:
            message = jsonrpc.parse_message(jsonrpc.parse_body(data))
        except RpcError:
            return
        if isinstance(message, RpcNotification) and is_about(message, self._token):
            self._watch.read(message.params)


def is_about(message: RpcNotification, token: int) -> bool:
    """Return whether a notification tells of the progress of the request with this token."""
    found = message.params.get(TOKEN)
    return message.method == PROGRESS and type(found) is int and found == token


def ask_for_progress(params: Mapping[str, Json], token: int) -> dict[str, Json]:
    """Return the parameters of a request with the token by which the server tells its progress."""
    meta = params.get("_meta")
    return {**params, "_meta": {**(meta if isinstance(meta, dict) else {}), TOKEN: token}}
