"""A server behind an address: JSON-RPC over the guarded line, with a handshake where its revision
has one, and its session remembered.
"""

from __future__ import annotations

import base64
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count

from sigil.errors import ToolError, one_line
from sigil.mcp import jsonrpc
from sigil.mcp.jsonrpc import REVISION, RpcReply
from sigil.mcp.revisions import (
    HANDSHAKE,
    METHOD_HEADER,
    NAME_HEADER,
    NEWEST_HANDSHAKE,
    SESSION_HEADER,
    STATELESS,
    VERSION_HEADER,
    request_envelope,
    server_info,
)
from sigil.protocol import Json
from sigil.run.mcp_client.answers import REMOTE, find_reply, invalid_reply, refused_call
from sigil.run.mcp_client.document import WebAddress
from sigil.strict_json import dumps

Fetch = Callable[[Json], Json]
"""Sends one request of the web within what is granted and the time that is left, and gives the
answer; see `services.fetch`.

Secrets go into the server's own headers alone: arguments, names and cursors are what somebody else
wrote.
"""
_SESSION = re.compile(r"[\x21-\x7e]{1,512}", re.ASCII)
_GONE = 404


@dataclass(frozen=True, slots=True)
class _Spoken:
    """How a server is spoken to. `session`: what it calls the conversation, empty for none."""

    revision: str
    session: str = ""


@dataclass(frozen=True, slots=True)
class _Got:
    """What came back over HTTP. `reply`: None where there was nothing in it."""

    status: int
    session: str
    reply: RpcReply | None


class WebServer:
    """One server as one agent speaks to it. Thread-safe: a handshake is made once, calls go side by
    side.
    """

    def __init__(self, server: WebAddress) -> None:
        self.server = server
        self._spoken: _Spoken | None = None
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._greeting = threading.Lock()

    def ask(self, fetch: Fetch, method: str, params: Mapping[str, Json], seconds: float) -> Json:
        """The result of a method; `ToolError` EREMOTE with what the server says, ETIMEDOUT, or what
        `fetch` fails with.

        `seconds`: how long it waits at most for another call's handshake.
        """
        end = time.monotonic() + seconds
        spoken = self._known(fetch, end)
        got = self._post(fetch, method, params, spoken)
        if (got.status == _GONE and spoken.session) or _speaks_otherwise(got):
            self._forget(spoken)  # it had not looked at the call
            spoken = self._known(fetch, end)
            got = self._post(fetch, method, params, spoken)
        return _result(got)

    def _known(self, fetch: Fetch, end: float) -> _Spoken:
        spoken = self._spoken
        if spoken:
            return spoken
        if not self._greeting.acquire(timeout=max(end - time.monotonic(), 0)):
            raise ToolError("ETIMEDOUT", "the server did not answer in time", source="mcp")
        try:
            spoken = self._spoken or self._discovered(fetch) or self._shaken(fetch)
            with self._lock:
                self._spoken = spoken
            return spoken
        finally:
            self._greeting.release()

    def _forget(self, spoken: _Spoken) -> None:
        with self._lock:
            if self._spoken is spoken:
                self._spoken = None

    def _discovered(self, fetch: Fetch) -> _Spoken | None:
        """The newest revision, when the server speaks it; older ones do not know the question."""
        try:
            got = self._post(fetch, "server/discover", {}, _Spoken(STATELESS))
        except ToolError as problem:
            if problem.code != REMOTE:
                raise
            return None
        known = (
            got.reply.result.get("supportedVersions")
            if got.reply and isinstance(got.reply.result, dict)
            else None
        )
        return _Spoken(STATELESS) if isinstance(known, list) and STATELESS in known else None

    def _shaken(self, fetch: Fetch) -> _Spoken:
        said = {
            "protocolVersion": NEWEST_HANDSHAKE,
            "capabilities": {},
            "clientInfo": server_info(),
        }
        got = self._post(fetch, "initialize", said, None)
        result = _result(got)
        revision = result.get("protocolVersion") if isinstance(result, dict) else None
        if revision not in HANDSHAKE:
            raise ToolError(
                REMOTE,
                "the server speaks a revision that is not known here:"
                f" {one_line(str(revision), 40)}",
            )
        spoken = _Spoken(revision, got.session)
        self._send(fetch, jsonrpc.make_notification("notifications/initialized"), _headers(spoken))
        return spoken

    def _post(
        self, fetch: Fetch, method: str, params: Mapping[str, Json], spoken: _Spoken | None
    ) -> _Got:
        stateless = spoken is not None and spoken.revision == STATELESS
        given = {**params, "_meta": request_envelope({})} if stateless else params
        message = jsonrpc.make_request(next(self._numbers), method, given)
        routing = (
            [
                [METHOD_HEADER, method],
                *([[NAME_HEADER, params["name"]]] if "name" in params else []),
            ]
            if stateless
            else []
        )
        return self._send(fetch, message, [*_headers(spoken), *routing])

    def _send(self, fetch: Fetch, message: dict[str, Json], headers: list[list[str]]) -> _Got:
        own = [
            ["content-type", "application/json"],
            ["accept", "application/json, text/event-stream"],
            *headers,
        ]
        body = base64.b64encode(dumps(message)).decode("ascii")
        fields = [*own, *map(list, self.server.headers)]
        answer = fetch(
            {
                "url": self.server.url,
                "method": "POST",
                "headers": fields,
                "body": body,
                "redirect": "error",
            }
        )
        kinds = dict(answer["headers"])
        kind, said = (
            kinds.get("content-type", "").partition(";")[0].strip().lower(),
            base64.b64decode(answer["body"]),
        )
        session = kinds.get(SESSION_HEADER, "")
        status, id = int(answer["status"]), message.get("id")
        reply = None
        if id is not None and said and (status < 300 or kind == "application/json"):
            reply = _read(said, id, kind, status)
        return _Got(status, session if _SESSION.fullmatch(session) else "", reply)


def _read(said: bytes, id: int, kind: str, status: int) -> RpcReply | None:
    if kind not in ("application/json", "text/event-stream"):
        raise invalid_reply(f"it is {kind or 'of no type'}")
    try:
        return find_reply(said, id, streamed=kind == "text/event-stream")
    except ToolError:
        if status < 300:
            raise
        return None


def _headers(spoken: _Spoken | None) -> list[list[str]]:
    if spoken is None:
        return []
    return [
        [VERSION_HEADER, spoken.revision],
        *([[SESSION_HEADER, spoken.session]] if spoken.session else []),
    ]


def _speaks_otherwise(got: _Got) -> bool:
    return bool(got.reply and got.reply.error and got.reply.error.code == REVISION)


def _result(got: _Got) -> Json:
    if got.reply and got.reply.error:
        raise refused_call(got.reply.error)
    if got.status >= 300 or got.reply is None:
        raise ToolError(REMOTE, f"the server answers with status {got.status}{_why(got.status)}")
    return got.reply.result


def _why(status: int) -> str:
    return {
        401: ": it wants other credentials",
        403: ": it refuses these credentials",
        429: ": it is asked too often",
    }.get(status, "")
