"""An MCP server behind an address, spoken to in JSON-RPC over the guarded network.

A handshake is made where the server's revision has one, and its session is remembered.
"""

from __future__ import annotations

import base64
import re
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from sigil.access.sign_in import PREFIX, server_of_secret
from sigil.errors import Refused, SigilError, ToolError, one_line
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
    encode_name,
    request_envelope,
    server_info,
)
from sigil.network.exchange import BodyWatch
from sigil.protocol import Json
from sigil.run.host_calls.fetch_messages import FetchReply
from sigil.run.host_calls.placeholders import names_in
from sigil.run.mcp_client.answers import REMOTE, find_reply, invalid_reply, refused_call
from sigil.run.mcp_client.document import WebAddress
from sigil.run.mcp_client.progress import ProgressWatch, StreamWatch, ask_for_progress
from sigil.running_call import RunningCall, interrupted_error, run_as
from sigil.strict_json import dumps

CANCEL_SECONDS = 2.0
"""A server has so long to take that a call was cancelled."""


class Fetch(Protocol):
    """Sends one request to the web, within what is granted and the time that is left, and returns
    the answer; see `host_calls.fetch`. `follow` gets the answer's body as it comes.

    Secrets go into the server's own headers alone: arguments, names and cursors come from other
    authors.
    """

    def __call__(self, argument: Json, follow: BodyWatch | None = None) -> FetchReply: ...


_SESSION = re.compile(r"[\x21-\x7e]{1,512}", re.ASCII)
_GONE = 404
_REFUSED = 400
_NO_SESSION = -32001
"""The code that the SDKs of servers give a session that they do not know."""
_UNAUTHORIZED = 401
_STATUS_MEANINGS = {
    _UNAUTHORIZED: ": it wants other credentials",
    403: ": it refuses these credentials",
    429: ": it is asked too often",
}


@dataclass(frozen=True, slots=True)
class _ServerSession:
    """The revision that a server speaks, and the id of its session, empty for none."""

    revision: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class _HttpReply:
    """An answer over HTTP; `reply` is None where there was none in it."""

    status: int
    session: str
    reply: RpcReply | None

    def tells_end_of(self, session: _ServerSession) -> bool:
        """Return whether the server does not know the session any more: 404, or 400 and words."""
        if not session.id:
            return False
        error = self.reply.error if self.reply else None
        if self.status != _REFUSED or error is None:
            return self.status == _GONE
        words = error.message.lower()
        return error.code == _NO_SESSION or "session" in words or "not initialized" in words

    def require_result(self) -> Json:
        """Return the result of the method; raise `ToolError` EREMOTE when there is none."""
        if self.reply and self.reply.error:
            raise refused_call(self.reply.error)
        if self.status >= 300 or self.reply is None:
            meaning = _STATUS_MEANINGS.get(self.status, "")
            raise ToolError(REMOTE, f"the server answers with status {self.status}{meaning}")
        return self.reply.result


class WebServer:
    """One server as one agent speaks to it.

    It is thread-safe: a handshake is made once, and calls go side by side.
    """

    def __init__(self, server: WebAddress) -> None:
        self.server = server
        self._session: _ServerSession | None = None
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._handshake = threading.Lock()

    def ask(
        self,
        fetch: Fetch,
        method: str,
        params: Mapping[str, Json],
        seconds: float,
        watch: ProgressWatch | None = None,
    ) -> Json:
        """Return the result of a method; with a `watch` the server is asked how far it has come.

        `seconds` bounds the wait for another call's handshake. Raises `ToolError` EREMOTE with what
        the server says, ETIMEDOUT, EINTERRUPTED when the call is cancelled, which the server is
        told, and what `fetch` raises.
        """
        end = time.monotonic() + seconds
        session = self._open_session(fetch, end)
        answer = self._call_method(fetch, method, params, session, watch)
        error = answer.reply.error if answer.reply else None
        if answer.tells_end_of(session) or (error and error.code == REVISION):
            # The server did not look at the call, so it may be sent again.
            with self._lock:
                if self._session is session:
                    self._session = None
            session = self._open_session(fetch, end)
            answer = self._call_method(fetch, method, params, session, watch)
        return answer.require_result()

    def _open_session(self, fetch: Fetch, end: float) -> _ServerSession:
        """Return the session that is open, or open one."""
        known = self._session
        if known:
            return known
        if not self._handshake.acquire(timeout=max(end - time.monotonic(), 0)):
            raise ToolError("ETIMEDOUT", "the server did not answer in time", source="mcp")
        try:
            session = self._session or self._negotiate_session(fetch)
            with self._lock:
                self._session = session
            return session
        finally:
            self._handshake.release()

    def _negotiate_session(self, fetch: Fetch) -> _ServerSession:
        """Return a session of the newest revision that the server speaks.

        Servers of older ones do not know the question, and want a handshake.
        """
        try:
            answer = self._call_method(fetch, "server/discover", {}, _ServerSession(STATELESS))
            result = answer.reply.result if answer.reply else None
        except ToolError as problem:
            if problem.code != REMOTE:
                raise
            result = None
        versions = result.get("supportedVersions") if isinstance(result, dict) else None
        if isinstance(versions, list) and STATELESS in versions:
            return _ServerSession(STATELESS)
        params = {
            "protocolVersion": NEWEST_HANDSHAKE,
            "capabilities": {},
            "clientInfo": server_info(),
        }
        answer = self._call_method(fetch, "initialize", params, None)
        result = answer.require_result()
        revision = result.get("protocolVersion") if isinstance(result, dict) else None
        if revision not in HANDSHAKE:
            raise ToolError(
                REMOTE,
                "the server speaks a revision that is not known here:"
                f" {one_line(str(revision), 40)}",
            )
        session = _ServerSession(revision, answer.session)
        message = jsonrpc.make_notification("notifications/initialized")
        self._send_message(fetch, message, _list_headers(session))
        return session

    def _call_method(
        self,
        fetch: Fetch,
        method: str,
        params: Mapping[str, Json],
        session: _ServerSession | None,
        watch: ProgressWatch | None = None,
    ) -> _HttpReply:
        headers = _list_headers(session)
        if session and session.revision == STATELESS:
            headers.append([METHOD_HEADER, method])
            name = params.get("name")
            if isinstance(name, str):
                headers.append([NAME_HEADER, encode_name(name)])
            params = {**params, "_meta": request_envelope({})}
        number = next(self._numbers)
        if watch is None:
            message = jsonrpc.make_request(number, method, params)
            return self._send_message(fetch, message, headers)
        message = jsonrpc.make_request(number, method, ask_for_progress(params, number))
        follow = StreamWatch(watch, number).feed
        try:
            return self._send_message(fetch, message, headers, follow)
        except SigilError:
            if not watch.call.is_cancelled:
                raise
            if session and session.revision != STATELESS:
                self._cancel_request(fetch, number, headers)
            raise interrupted_error() from None

    def _cancel_request(self, fetch: Fetch, number: int, headers: list[list[str]]) -> None:
        """Tell the server that nobody waits for a request any more; one without a session is told
        by the end of the connection alone.
        """
        params: dict[str, Json] = {"requestId": number}
        message = jsonrpc.make_notification("notifications/cancelled", params)
        # not as a part of the call, which may send nothing any more
        apart = RunningCall()
        timer = threading.Timer(CANCEL_SECONDS, apart.cancel)
        timer.daemon = True
        timer.start()
        with run_as(apart), suppress(SigilError):
            self._send_message(fetch, message, headers)
        timer.cancel()

    def _send_message(
        self,
        fetch: Fetch,
        message: dict[str, Json],
        headers: list[list[str]],
        follow: BodyWatch | None = None,
    ) -> _HttpReply:
        answer = fetch(
            {
                "url": self.server.url,
                "method": "POST",
                "headers": [
                    ["content-type", "application/json"],
                    ["accept", "application/json, text/event-stream"],
                    *headers,
                    *map(list, self.server.headers),
                ],
                "body": base64.b64encode(dumps(message)).decode("ascii"),
                "redirect": "error",
            },
            follow,
        )
        fields = dict(answer["headers"])
        kind = fields.get("content-type", "").partition(";")[0].strip().lower()
        body = base64.b64decode(answer["body"])
        status = int(answer["status"])
        self._require_signed_in(status)
        id = jsonrpc.id_of(message)
        reply = None
        if id is not None and body and (status < 300 or kind == "application/json"):
            if kind not in ("application/json", "text/event-stream"):
                raise invalid_reply(f"it is {kind or 'of no type'}")
            try:
                reply = find_reply(body, id, streamed=kind == "text/event-stream")
            except ToolError:
                if status < 300:
                    raise
        session = fields.get(SESSION_HEADER, "")
        return _HttpReply(status, session if _SESSION.fullmatch(session) else "", reply)

    def _require_signed_in(self, status: int) -> None:
        """Raise `Refused` EPERM with the command when only a sign-in can help."""
        if status != _UNAUTHORIZED:
            return
        name = self.server.name
        header = dict(self.server.headers).get("authorization", "")
        if not header:
            command = f"sigil mcp login {name} {self.server.url}"
            raise Refused("EPERM", f"the server wants a sign-in: `{command}`", source="mcp")
        for secret in names_in(header):
            if secret.startswith(PREFIX):
                command = f"sigil mcp login {server_of_secret(secret)}"
                raise Refused("EPERM", f"the server rejects the sign-in: `{command}`", source="mcp")


def _list_headers(session: _ServerSession | None) -> list[list[str]]:
    """Return the headers that name the revision and the session; none before a handshake."""
    if session is None:
        return []
    headers = [[VERSION_HEADER, session.revision]]
    if session.id:
        headers.append([SESSION_HEADER, session.id])
    return headers
