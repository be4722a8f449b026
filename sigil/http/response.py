"""Answers in JSON, and those to failed requests, which every server answers in the same form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sigil.errors import BackendError, SigilError, UsageError, one_line
from sigil.http.request_id import NUMBER, RequestIdMiddleware, log_bug
from sigil.http.status_codes import BUG, status_of

if TYPE_CHECKING:
    from starlette.applications import Starlette

RETRY_SECONDS = 5
QUIET = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
SEALED = {**QUIET, "Content-Security-Policy": "default-src 'none'; sandbox"}


def json_response(
    value: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return `value` as JSON that no cache keeps."""
    return Response(
        orjson.dumps(value),
        status,
        {**QUIET, **(headers or {}), "Content-Type": "application/json; charset=utf-8"},
    )


def failure_response(
    problem: SigilError, *, logs: bool = False, headers: Mapping[str, str] = MappingProxyType({})
) -> Response:
    """Return the answer to a failed request: its status and `{"error": {source, code, message,
    suggestion}}`.

    `logs`: with the lines that the run had logged, as one more field; for owners alone.
    """
    status = status_of(problem)
    all_headers = dict(headers)
    if status == 401:
        all_headers["WWW-Authenticate"] = 'Bearer realm="sigil"'
    if status in (429, 503):
        all_headers["Retry-After"] = str(max(math.ceil(problem.retry_after or RETRY_SECONDS), 1))
    error: dict[str, object] = {**problem.as_dict()}
    if logs and problem.logs:
        error["logs"] = [one_line(line, 1_000) for line in problem.logs]
    return json_response({"error": error}, status, all_headers)


def add_error_handling(app: Starlette) -> None:
    """Number every request, and answer unknown routes, wrong methods and our own bugs as every
    other failure is answered.
    """

    async def answer_routing_error(request: Request, problem: Exception) -> Response:
        assert isinstance(problem, HTTPException), "only these are handed to this handler"
        route = one_line(f"{request.method} {request.url.path}", 120)
        see = "GET /_api/docs shows the routes"
        failure: SigilError = BackendError("EUNAVAILABLE", "the request failed", source="http")
        if problem.status_code == 404:
            failure = UsageError("EROUTE", f"no such route: {route}", source="http", suggestion=see)
        elif problem.status_code == 405:
            failure = UsageError(
                "EMETHOD", f"this route does not take {route}", source="http", suggestion=see
            )
        elif problem.status_code < BUG:
            failure = UsageError("EINVAL", "this is not a valid request", source="http")
        allow = (problem.headers or {}).get("Allow", "")
        headers = {"Allow": ", ".join(sorted(allow.split(", ")))} if allow else {}
        return failure_response(failure, headers=headers)

    async def answer_bug(request: Request, problem: Exception) -> Response:
        number = str(request.scope.get(NUMBER, ""))
        log_bug(number, type(problem).__name__)
        bug = SigilError(
            "EBUG",
            "the server made a mistake",
            suggestion=f"its log says more about the request {number}",
        )
        return failure_response(bug, headers={"X-Request-Id": number} if number else {})

    app.router.redirect_slashes = False
    app.add_middleware(RequestIdMiddleware)
    app.add_exception_handler(HTTPException, answer_routing_error)
    app.add_exception_handler(Exception, answer_bug)
