"""MCP over HTTP, without sessions: a request has one message or a list, and is answered in JSON.

Nothing is kept between two requests.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from starlette.responses import Response

from sigil.catalog.owner import ADMIN
from sigil.errors import Refused, SigilError, UsageError
from sigil.http.request import AuthorizedRequest
from sigil.http.response import QUIET, json_response
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
from sigil.mcp.tools import Toolbox
from sigil.protocol import Json

SESSION = "mcp"
"""The chat of a model that comes with the admin token and names no chat."""
BATCH = 20
"""Messages of a list at most."""
BATCH_SECONDS = 30.0
"""After so many seconds no further message of a list is begun: the longest that a single call may
take.
"""


def answer_mcp(request: AuthorizedRequest) -> Response:
    """Answer a message of the Model Context Protocol: 200 with JSON, 202 when it wants no answer,
    400 or 404 with the error where the revision says so.
    """
    _require_origin(request.headers)
    kinds = {part.partition(";")[0].strip().lower() for part in request.accept.split(",")}
    if kinds.isdisjoint({"application/json", "application/*", "*/*", ""}):
        raise UsageError(
            "EINVAL", "answers are application/json, which Accept leaves out", source="mcp"
        )
    revision = request.headers.get(VERSION_HEADER, UNSAID)
    answer: dict[str, Json] | list[dict[str, Json]] | None
    try:
        if revision not in KNOWN:
            raise unknown_revision(revision)
        value = jsonrpc.parse_body(request.body)
        if isinstance(value, list):
            answer = _answer_batch(request, value, revision)
        else:
            answer = _answer_message(request, value, revision)
    except RpcError as problem:
        return json_response(jsonrpc.make_failure(None, problem), 400)
    if not answer:
        return Response(status_code=202, headers=QUIET)
    return json_response(answer, _choose_status(answer, revision))


def _answer_batch(
    request: AuthorizedRequest, values: list[Json], revision: str
) -> list[dict[str, Json]]:
    """Return the answers to a list of messages.

    Each after the first is admitted like a request of its own, while there is time for the list.
    """
    if revision not in BATCHED:
        raise RpcError(REQUEST, "send one message")
    if not 0 < len(values) <= BATCH:
        raise RpcError(REQUEST, f"send 1 to {BATCH} messages")
    end = time.monotonic() + BATCH_SECONDS
    answers = [_answer_message(request, values[0], revision)]
    for value in values[1:]:
        try:
            if time.monotonic() >= end:
                raise Refused(
                    "ETIMEDOUT", "the list took too long", suggestion="send what is left anew"
                )
            request.again()
        except SigilError as problem:
            if isinstance(value, dict) and "id" in value:
                refusal = RpcError(
                    REFUSED, f"{problem.code}: {problem.message}", {"error": problem.as_dict()}
                )
                answers.append(jsonrpc.make_failure(jsonrpc.id_of(value), refusal))
        else:
            answers.append(_answer_message(request, value, revision))
    return [answer for answer in answers if answer]


def _answer_message(
    request: AuthorizedRequest, value: Json, revision: str
) -> dict[str, Json] | None:
    """Return the answer to one message, None when it wants none.

    With the admin token a model asks, whose deploys never replace what somebody else deployed.
    """
    try:
        message = jsonrpc.parse_message(value)
        if not isinstance(message, RpcRequest):
            return None
        if is_stateless(message.params) or revision == STATELESS:
            _require_agreement(request.headers, message)
        caller = request.caller
        if request.holder.kind == ADMIN:
            caller = replace(caller, author="model", session=caller.session or SESSION)
        may_deploy = request.holder.kind in (ADMIN, "deploy")
        require_deploy = request.require_deploy if may_deploy else None
        managed = request.registry if request.holder.kind == "deploy" else None
        toolbox = Toolbox(request.registry, caller, require_deploy=require_deploy, managed=managed)
        methods = Methods(toolbox)
        return jsonrpc.make_result(message.id, methods.answer(message))
    except RpcError as problem:
        return jsonrpc.make_failure(jsonrpc.id_of(value), problem)


def _choose_status(answer: Json, revision: str) -> int:
    """Return the HTTP status of an answer.

    An invalid request is 400; up to 2025-11-25 everything else is 200.
    """
    code = answer.get("error", {}).get("code") if isinstance(answer, dict) else None
    if code in (REQUEST, HEADERS, REVISION):
        return 400
    if code is None or revision != STATELESS:
        return 200
    return 404 if code == METHOD else 400


def _require_origin(headers: Mapping[str, str]) -> None:
    """Raise `Refused` EPERM when a page of another origin asks: its reader's browser would carry
    the request to where the page itself cannot.
    """
    origin = headers.get("origin")
    if not origin:
        return
    try:
        host = urlsplit(origin).netloc.lower()
    except ValueError:
        host = None
    if host != headers.get("host", "").lower():
        raise Refused(
            "EPERM",
            "a page of another origin may not ask here",
            source="mcp",
            suggestion="ask from a program, or from a page of this server",
        )


def _require_agreement(headers: Mapping[str, str], message: RpcRequest) -> None:
    """Raise `RpcError` unless the headers say the same as the body: a proxy may have decided by
    them.
    """
    version_agrees = headers.get(VERSION_HEADER) == STATELESS and is_stateless(message.params)
    checks = {
        VERSION_HEADER: version_agrees,
        METHOD_HEADER: headers.get(METHOD_HEADER) == message.method,
        NAME_HEADER: message.method != "tools/call"
        or headers.get(NAME_HEADER) == message.params.get("name"),
    }
    for header, agrees in checks.items():
        if not agrees:
            raise RpcError(HEADERS, f"the header {header} does not say what the body says")
