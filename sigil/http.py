"""Sigil's HTTP API: its verbs behind a bearer token, as routes that any app can carry."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from sigil import verbs, wire
from sigil.errors import BackendError, Refused, SigilError, UsageError, one_line
from sigil.protocol import Caller
from sigil.statuses import BUG, status_of
from sigil.verbs import Ask, answer
from sigil.version import version
from sigil.wire import Keeper

BODY_BYTES, DEPLOY_BYTES = 1 << 20, 4 << 20
RETRY_SECONDS = 5


def app(registry: Keeper, token: str, agent: str = "main") -> FastAPI:
    """An app with Sigil's routes alone. `agent`: the namespace of whoever asks without naming one."""
    made = FastAPI(title="Sigil", docs_url=None, redoc_url=None, openapi_url=None)
    made.include_router(router(registry, token, agent))
    furnish(made)
    return made


def router(registry: Keeper, token: str, agent: str = "main") -> APIRouter:
    """Sigil's routes, to be mounted beside others. With an empty token everything but the health checks is closed."""
    routes = APIRouter()
    for path in ("/_health", "/health"):
        routes.add_api_route(path, health, methods=["GET"])
    for method, path, action, most in _ROUTES:
        routes.add_api_route(path, _guarded(action, registry, (token, agent), most), methods=[method])
    return routes


def furnish(app: FastAPI) -> None:
    """Answer unknown routes, wrong methods and our own bugs as every other failure is answered."""

    async def refused(request: Request, problem: Any) -> Response:
        return failure(_of_route(problem, request))

    async def broken(request: Request, problem: Exception) -> Response:
        return failure(SigilError("EBUG", "the server made a mistake", suggestion="its log says more"))

    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(Exception, broken)


def failure(problem: SigilError) -> Response:
    """The answer to a failed request: its status and `{"error": {source, code, message, suggestion}}`."""
    status = status_of(problem)
    headers = {"WWW-Authenticate": 'Bearer realm="sigil"'} if status == 401 else {}
    if status in (429, 503):
        headers["Retry-After"] = str(RETRY_SECONDS)
    return answer({"error": problem.as_dict()}, status, headers)


async def health() -> Response:
    """That the server answers; asks for no token and opens nothing."""
    return answer({"ok": True, "version": version()})


Action = Callable[[Ask], Response]
_ROUTES: tuple[tuple[str, str, Action, int], ...] = (
    ("POST", "/_api/deploy", verbs.deploy, DEPLOY_BYTES),
    ("DELETE", "/_api/remove", verbs.remove, BODY_BYTES),
    ("GET", "/_api/query", verbs.query, BODY_BYTES),
    ("GET", "/_api/inspect/{ref}", verbs.inspect, BODY_BYTES),
    ("GET", "/_api/list", verbs.everything, BODY_BYTES),
    ("GET", "/run/{ref}", verbs.run, BODY_BYTES),
    ("POST", "/run/{ref}", verbs.run, BODY_BYTES),
)


def _guarded(action: Action, registry: Keeper, who: tuple[str, str], most: int) -> Callable[[Request], Awaitable[Response]]:
    token, agent = who

    async def door(request: Request) -> Response:
        try:
            _authorise(request, token)
            ask = _ask(request, registry, wire.caller_of(request.headers, agent), await _body(request, most))
            return await run_in_threadpool(action, ask)
        except SigilError as problem:
            return failure(problem)

    return door


def _authorise(request: Request, token: str) -> None:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    same = hmac.compare_digest(given.strip().encode("latin-1", "replace"), token.encode())
    if not token or scheme.lower() != "bearer" or not same:
        what = "the bearer token is missing or wrong" if token else "no token is set, so the API is closed"
        raise Refused("EAUTH", what, source="http", suggestion="send `Authorization: Bearer TOKEN`" if token else "set UNCAGED_TOKEN")


def _ask(request: Request, registry: Keeper, caller: Caller, body: bytes) -> Ask:
    parameters: dict[str, list[str]] = {}
    for name, value in request.query_params.multi_items():
        parameters.setdefault(name, []).append(value)
    accept = request.headers.get("accept", "*/*")
    return Ask(registry, caller, request.method, str(request.base_url), request.path_params.get("ref", ""), parameters, accept, body)


async def _body(request: Request, most: int) -> bytes:
    """The request's body, counted as it arrives: what a header claims about its length is not trusted."""
    chunks, size = [], 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > most:
                raise UsageError("ETOOBIG", f"the request's body is over {most >> 20} MiB", source="http")
            chunks.append(chunk)
    except ClientDisconnect:
        raise UsageError("EBODY", "the request ended before its body did", source="http") from None
    return b"".join(chunks)


def _of_route(problem: HTTPException, request: Request) -> SigilError:
    place = one_line(f"{request.method} {request.url.path}", 120)
    see = "docs/sigil.md lists the routes"
    match problem.status_code:
        case 404:
            return UsageError("EROUTE", f"no such route: {place}", source="http", suggestion=see)
        case 405:
            return UsageError("EMETHOD", f"this route does not take {place}", source="http", suggestion=see)
        case status if status < BUG:
            return UsageError("EINVAL", "this is no request", source="http")
    return BackendError("EUNAVAILABLE", "the request failed", source="http")
