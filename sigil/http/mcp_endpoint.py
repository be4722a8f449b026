"""MCP over HTTP, without sessions: one message in a request, its answer in JSON, and nothing that
is kept in between.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import NoReturn
from urllib.parse import urlsplit

from fastapi import Response

from sigil.access.tokens import ADMIN
from sigil.errors import Refused, SigilError, UsageError
from sigil.http.request import QUIET, AuthorizedRequest, json_response
from sigil.mcp import jsonrpc
from sigil.mcp.jsonrpc import HEADERS, METHOD, REFUSED, REQUEST, REVISION, RpcError, RpcRequest
from sigil.mcp.methods import Methods
from sigil.mcp.revisions import (
    BATCHED,
    KNOWN,
    METHOD_HEADER,
    NAME_HEADER,
    STATELESS,
    UNSAID,
    VERSION_HEADER,
    is_stateless,
    unknown_revision,
)
from sigil.mcp.tools import DeployCheck, Toolbox
from sigil.protocol import Caller, Json

SESSION = "mcp"
"""The chat in whose name a model speaks that comes with the admin token and names none."""
BATCH, BATCH_SECONDS = 20, 30.0
"""Messages of a list, and after how many seconds none of them is begun any more: the longest that a
single call may take.
"""


def serve(ask: AuthorizedRequest) -> Response:
    """The answer to a POST: 200 with JSON, 202 to what wants no answer, 400 or 404 with the error
    where the revision says so.
    """
    _require_origin(ask.headers)
    _require_json(ask.accept)
    spoken = ask.headers.get(VERSION_HEADER, UNSAID)
    try:
        if spoken not in KNOWN:
            raise unknown_revision(spoken)
        value = jsonrpc.parse_body(ask.body)
        said = _batch(ask, value, spoken) if isinstance(value, list) else _one(ask, value, spoken)
    except RpcError as problem:
        return json_response(jsonrpc.make_failure(None, problem), 400)
    if not said:
        return Response(status_code=202, headers=QUIET)
    return json_response(said, _status(said, spoken))


def _batch(ask: AuthorizedRequest, values: list[Json], spoken: str) -> list[Json]:
    if spoken not in BATCHED or not 0 < len(values) <= BATCH:
        raise RpcError(
            REQUEST, "send one message" if spoken not in BATCHED else f"send 1 to {BATCH} messages"
        )
    end = time.monotonic() + BATCH_SECONDS
    said = [
        _one(ask, value, spoken) if number == 0 else _next(ask, value, spoken, end)
        for number, value in enumerate(values)
    ]
    return [each for each in said if each]


def _next(ask: AuthorizedRequest, value: Json, spoken: str, end: float) -> dict[str, Json] | None:
    """The answer to one more message of a list: let in like a request of its own, as long as there
    is time for the list.
    """
    try:
        if time.monotonic() >= end:
            raise Refused(
                "ETIMEDOUT", "the list took too long", suggestion="send what is left anew"
            )
        ask.again()
    except SigilError as problem:
        refused = RpcError(
            REFUSED, f"{problem.code}: {problem.message}", {"error": problem.as_dict()}
        )
        return (
            jsonrpc.make_failure(jsonrpc.id_of(value), refused)
            if isinstance(value, dict) and "id" in value
            else None
        )
    return _one(ask, value, spoken)


def _one(ask: AuthorizedRequest, value: Json, spoken: str) -> dict[str, Json] | None:
    try:
        message = jsonrpc.parse_message(value)
        if not isinstance(message, RpcRequest):
            return None
        if is_stateless(message.params) or spoken == STATELESS:
            _require_agreement(ask.headers, message)
        return jsonrpc.result(message.id, Methods(_toolbox(ask)).answer(message))
    except RpcError as problem:
        return jsonrpc.make_failure(jsonrpc.id_of(value), problem)


def _status(said: Json, spoken: str) -> int:
    """What is no request is 400; up to 2025-11-25 everything else is 200."""
    code = said.get("error", {}).get("code") if isinstance(said, dict) else None
    if code in (REQUEST, HEADERS, REVISION):
        return 400
    if code is None or spoken != STATELESS:
        return 200
    return 404 if code == METHOD else 400


def _toolbox(ask: AuthorizedRequest) -> Toolbox:
    return Toolbox(ask.registry, _caller(ask), demand=_demand(ask))


def _caller(ask: AuthorizedRequest) -> Caller:
    """Who speaks: with the admin token a model, whose deploys replace nobody's; else whatever the
    token's holder may.
    """
    if ask.holder.kind != ADMIN:
        return ask.caller
    return replace(ask.caller, author="model", session=ask.caller.session or SESSION)


def _demand(ask: AuthorizedRequest) -> DeployCheck | None:
    return ask.require_deploy if ask.holder.kind in (ADMIN, "deploy") else None


def _require_origin(headers: Mapping[str, str]) -> None:
    """`Refused` EPERM when a page of another place asks: its reader's browser would carry the
    request to where the page itself cannot.
    """
    origin = headers.get("origin")
    if origin and _place(origin) != headers.get("host", "").lower():
        raise Refused(
            "EPERM",
            "a page of another place may not ask here",
            source="mcp",
            suggestion="ask from a program, or from here",
        )


def _place(origin: str) -> str | None:
    """Where a page is from; None of what is no origin."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _require_json(accept: str) -> None:
    kinds = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    if kinds.isdisjoint({"application/json", "application/*", "*/*", ""}):
        raise UsageError(
            "EINVAL", "answers are application/json, which Accept leaves out", source="mcp"
        )


def _require_agreement(headers: Mapping[str, str], message: RpcRequest) -> None:
    """`RpcError` unless the headers say the same as the body: what stands between may have gone by
    them.
    """
    if not is_stateless(message.params) or headers.get(VERSION_HEADER) != STATELESS:
        _disagree(VERSION_HEADER)
    if headers.get(METHOD_HEADER) != message.method:
        _disagree(METHOD_HEADER)
    if message.method == "tools/call" and headers.get(NAME_HEADER) != message.params.get("name"):
        _disagree(NAME_HEADER)


def _disagree(header: str) -> NoReturn:
    raise RpcError(HEADERS, f"the header {header} does not say what the body says")
