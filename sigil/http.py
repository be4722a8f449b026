"""Sigil's HTTP API: its verbs behind a bearer token, as routes that any app can carry."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from enum import Enum, auto
from typing import Any, NamedTuple

from fastapi import APIRouter, FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from sigil import desk, verbs, wire
from sigil.asks import Ask, answer
from sigil.errors import BackendError, Refused, SigilError, UsageError, one_line
from sigil.gate import Gate, demand_admin
from sigil.keeper import Served
from sigil.protocol import Caller
from sigil.statuses import BUG, status_of
from sigil.tokens import ADMIN, Holder
from sigil.version import version

BODY_BYTES, DEPLOY_BYTES, BUNDLE_BYTES = 1 << 20, 4 << 20, 32 << 20
RETRY_SECONDS = 5

Open = Callable[[], Served]
"""Gives the registry; called in a thread that may wait."""


def app(registry: Served, token: str, agent: str = "main") -> FastAPI:
    """An app with Sigil's routes alone. `agent`: the namespace of whoever asks without naming one."""
    return app_of(lambda: registry, Gate(token, lambda: registry.keys, agent))


def app_of(open: Open, gate: Gate) -> FastAPI:
    """An app with Sigil's routes alone, over a registry that is opened by the first request that needs it."""
    made = FastAPI(title="Sigil", docs_url=None, redoc_url=None, openapi_url=None)
    made.include_router(router(open, gate))
    furnish(made)
    return made


def router(open: Open, gate: Gate) -> APIRouter:
    """Sigil's routes, to be mounted beside others. Everything but the health checks asks the gate."""
    routes = APIRouter()
    routes.add_api_route("/health", health, methods=["GET"])
    routes.add_api_route("/_health", _health(open, gate), methods=["GET"])
    for route in _ROUTES:
        routes.add_api_route(route.path, _guarded(route, open, gate), methods=[route.method])
    return routes


def furnish(app: FastAPI) -> None:
    """Answer unknown routes, wrong methods and our own bugs as every other failure is answered."""

    async def refused(request: Request, problem: Any) -> Response:
        return failure(_of_route(problem, request))

    async def broken(request: Request, problem: Exception) -> Response:
        return failure(SigilError("EBUG", "the server made a mistake", suggestion="its log says more"))

    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(Exception, broken)


def failure(problem: SigilError, *, logs: bool = False) -> Response:
    """The answer to a failed request: its status and `{"error": {source, code, message, suggestion}}`.

    `logs`: with what the run had said before it failed, as one more field; for owners alone.
    """
    status = status_of(problem)
    headers = {"WWW-Authenticate": 'Bearer realm="sigil"'} if status == 401 else {}
    if status in (429, 503):
        headers["Retry-After"] = str(max(math.ceil(problem.retry_after or RETRY_SECONDS), 1))
    said = {"logs": [one_line(line, 1_000) for line in problem.logs]} if logs and problem.logs else {}
    return answer({"error": {**problem.as_dict(), **said}}, status, headers)


async def health() -> Response:
    """That the server answers; asks for no token and opens nothing."""
    return answer({"ok": True, "version": version()})


class Right(Enum):
    """What a route asks of a token."""

    USE = auto()
    """Any token; what it reaches is the registry's matter."""
    WORK = auto()
    """A deploy token or the admin's."""
    KEEP = auto()
    """The admin token alone."""


class Route(NamedTuple):
    method: str
    path: str
    action: Callable[[Ask], Response]
    right: Right
    most: int = BODY_BYTES


_ROUTES: tuple[Route, ...] = (
    Route("POST", "/_api/deploy", verbs.deploy, Right.WORK, DEPLOY_BYTES),
    Route("DELETE", "/_api/remove", verbs.remove, Right.KEEP),
    Route("GET", "/_api/query", verbs.query, Right.USE),
    Route("GET", "/_api/inspect/{ref:path}", verbs.inspect, Right.USE),
    Route("GET", "/_api/list", verbs.everything, Right.USE),
    Route("GET", "/run/{ref:path}", verbs.run, Right.USE),
    Route("POST", "/run/{ref:path}", verbs.run, Right.USE),
    Route("GET", "/_api/versions/{ref}", desk.versions, Right.WORK),
    Route("GET", "/_api/diff/{ref}", desk.diff, Right.WORK),
    Route("POST", "/_api/rollback", desk.rollback, Right.KEEP),
    Route("POST", "/_api/yank", desk.yank, Right.KEEP),
    Route("POST", "/_api/publish", desk.publish, Right.KEEP),
    Route("POST", "/_api/export", desk.export, Right.WORK),
    Route("POST", "/_api/import", desk.import_bundle, Right.KEEP, BUNDLE_BYTES),
    Route("GET", "/_api/grants", desk.grants, Right.KEEP),
    Route("GET", "/_api/grants/{ref:path}", desk.asked, Right.KEEP),
    Route("POST", "/_api/grant", desk.grant, Right.KEEP),
    Route("POST", "/_api/revoke", desk.revoke, Right.KEEP),
    Route("GET", "/_api/secrets", desk.secrets, Right.KEEP),
    Route("PUT", "/_api/secrets/{ref}", desk.set_secret, Right.KEEP),
    Route("DELETE", "/_api/secrets/{ref}", desk.remove_secret, Right.KEEP),
    Route("GET", "/_api/keys", desk.keys, Right.KEEP),
    Route("POST", "/_api/keys", desk.create_key, Right.KEEP),
    Route("DELETE", "/_api/keys", desk.revoke_key, Right.KEEP),
    Route("GET", "/_api/audit", desk.audit, Right.KEEP),
    Route("GET", "/_api/whoami", desk.whoami, Right.USE),
    Route("GET", "/_api/status", desk.status, Right.WORK),
)


def _guarded(route: Route, open: Open, gate: Gate) -> Callable[[Request], Awaitable[Response]]:
    async def door(request: Request) -> Response:
        owner = False
        try:
            holder = await admit(request, gate)
            caller = _caller(holder, request, route.right)
            owner = holder.kind == ADMIN and caller.owner
            body = await _body(request, route.most)
            return await run_in_threadpool(lambda: route.action(_ask(request, open(), (holder, caller), body)))
        except SigilError as problem:
            return failure(problem, logs=owner)

    return door


def _health(open: Open, gate: Gate) -> Callable[[Request], Awaitable[Response]]:
    async def door(request: Request) -> Response:
        """What anybody may know; with a good token also how the registry does."""
        try:
            holder = await admit(request, gate)
            caller = _caller(holder, request, Right.WORK)
            detail = await run_in_threadpool(lambda: desk.status_row(open(), caller))
        except Refused:
            return await health()
        except SigilError as problem:
            return failure(problem)
        return answer({"ok": True, "version": version(), **detail})

    return door


async def admit(request: Request, gate: Gate) -> Holder:
    """Who asks; `Refused` EAUTH or ERATE when the token is not good."""
    shown, address = request.headers.get("authorization", ""), request.client.host if request.client else ""
    admin = gate.admin(shown, address)
    return admin if admin else await run_in_threadpool(gate.admit, shown, address)


def _caller(holder: Holder, request: Request, right: Right) -> Caller:
    """On whose behalf. What the headers say is believed of the admin alone; what would be widened by not believing it is refused."""
    if holder.kind == ADMIN:
        return replace(wire.caller_of(request.headers, holder.namespace), token=ADMIN)
    if right is Right.KEEP:
        demand_admin(holder, "does this")
    if right is Right.WORK and holder.kind != "deploy":
        raise Refused("EPERM", "this takes a deploy token", source="http", suggestion="`sigil whoami` shows what yours may")
    if right is Right.WORK and request.headers.get(wire.AUTHOR, "") == "model":
        raise Refused("EPERM", "only the admin token speaks for a model", source="http", suggestion="an agent needs the admin token")
    return holder.caller()


def _ask(request: Request, registry: Served, who: tuple[Holder, Caller], body: bytes) -> Ask:
    parameters: dict[str, list[str]] = {}
    for name, value in request.query_params.multi_items():
        parameters.setdefault(name, []).append(value)
    accept = request.headers.get("accept", "*/*")
    return Ask(registry, *who, request.method, str(request.base_url), request.path_params.get("ref", ""), parameters, accept, body)


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
