"""Sigil's HTTP API: its verbs behind a bearer token, as routes that any app can carry."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import groupby
from types import MappingProxyType
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from sigil.access.authentication import Authenticator, require_admin
from sigil.access.tokens import ADMIN, TokenHolder
from sigil.admin_protocol import ServedRegistry
from sigil.errors import BackendError, Refused, SigilError, UsageError, one_line
from sigil.http.body import read_checked_body, require_unconditional
from sigil.http.caller_headers import AUTHOR, read_caller
from sigil.http.etag import add_etag
from sigil.http.public import ApiDescription
from sigil.http.request import AuthorizedRequest, json_response
from sigil.http.request_id import NUMBER, RequestIdMiddleware, log_mistake
from sigil.http.route import BUNDLE_FILE, Access, Route
from sigil.http.routes import GUARDED, OPEN
from sigil.http.status_codes import BUG, status_of
from sigil.protocol import Caller
from sigil.sandbox.tenants import AdmissionControl, Tenant, tenant_of

RETRY_SECONDS = 5
PLACES = 64
"""So many requests may run or compile something at once; one namespace alone has at most half of
them, and one token a quarter.
"""
BUSY_SECONDS = 1.0
_Result = TypeVar("_Result")

OpenRegistry = Callable[[], ServedRegistry]
"""Gives the registry; called in a thread that may wait."""
ROUTES = (*OPEN, *GUARDED)
Endpoint = Callable[[Request], Awaitable[Response]]


def app(registry: ServedRegistry, token: str, agent: str = "main") -> FastAPI:
    """An app with Sigil's routes alone. `agent`: the namespace of whoever asks without naming
    one.
    """
    return build_app(lambda: registry, Authenticator(token, lambda: registry.keys, agent))


def build_app(open: OpenRegistry, gate: Authenticator) -> FastAPI:
    """An app with Sigil's routes alone, over a registry that is opened by the first request that
    needs it.
    """
    made = FastAPI(title="Sigil", docs_url=None, redoc_url=None, openapi_url=None)
    made.include_router(router(open, gate))
    add_error_handling(made)
    return made


def router(open: OpenRegistry, gate: Authenticator) -> APIRouter:
    """Sigil's routes, to be mounted beside others: one for each path, so that a wrong method is
    told all the right ones.
    """
    routes = APIRouter()
    described = ApiDescription(ROUTES)
    makers = {
        Access.NONE: partial(_public, described),
        Access.PERHAPS: partial(_half_open, open, gate),
    }
    guarded = partial(_guarded, open, gate, Workers())
    by_path = sorted(ROUTES, key=lambda route: route.path)
    for path, here in groupby(by_path, key=lambda route: route.path):
        methods = {route.method: makers.get(route.right, guarded)(route) for route in here}
        # plain routes: FastAPI's own read the annotations and load pydantic's first version for it,
        # and know no HEAD
        routes.add_route(path, _by_method(methods), methods=[*methods])
    return routes


def add_error_handling(app: FastAPI) -> None:
    """Number every request, and answer unknown routes, wrong methods and our own bugs as every
    other failure is answered.
    """

    async def refused(request: Request, problem: Any) -> Response:
        return failure_response(_of_route(problem, request), headers=_allowed(problem))

    async def broken(request: Request, problem: Exception) -> Response:
        number = str(request.scope.get(NUMBER, ""))
        log_mistake(number, type(problem).__name__)
        bug = SigilError(
            "EBUG",
            "the server made a mistake",
            suggestion=f"its log says more about the request {number}",
        )
        return failure_response(bug, headers={"X-Request-Id": number} if number else {})

    app.router.redirect_slashes = False
    app.add_middleware(RequestIdMiddleware)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(Exception, broken)


def failure_response(
    problem: SigilError, *, logs: bool = False, headers: Mapping[str, str] = MappingProxyType({})
) -> Response:
    """The answer to a failed request: its status and `{"error": {source, code, message,
    suggestion}}`.

    `logs`: with what the run had said before it failed, as one more field; for owners alone.
    """
    status, given = status_of(problem), dict(headers)
    if status == 401:
        given["WWW-Authenticate"] = 'Bearer realm="sigil"'
    if status in (429, 503):
        given["Retry-After"] = str(max(math.ceil(problem.retry_after or RETRY_SECONDS), 1))
    said = (
        {"logs": [one_line(line, 1_000) for line in problem.logs]} if logs and problem.logs else {}
    )
    return json_response({"error": {**problem.as_dict(), **said}}, status, given)


def _by_method(doors: Mapping[str, Endpoint]) -> Endpoint:
    async def door(request: Request) -> Response:
        return await doors["GET" if request.method == "HEAD" else request.method](request)

    return door


def _public(described: ApiDescription, route: Route) -> Endpoint:
    async def door(request: Request) -> Response:
        # the check of health never waits for a thread: it tells that the server answers while all
        # of them run something
        response = (
            await run_in_threadpool(route.action, described) if route.kept else route.action()
        )
        return (
            add_etag(response, request.headers.get("if-none-match", ""), own=False)
            if route.kept
            else response
        )

    return door


def _half_open(open: OpenRegistry, gate: Authenticator, route: Route) -> Endpoint:
    async def door(request: Request) -> Response:
        try:
            holder = await admit(request, gate)
            who = holder, _caller(holder, request, Access.WORK)
            return await run_in_threadpool(lambda: route.action(_ask(request, open(), who, b"")))
        except Refused:
            return route.action(None)
        except SigilError as problem:
            return failure_response(problem)

    return door


class Workers:
    """The threads of requests that may take long: their own, so that whoever reads something never
    waits behind them.

    A place is taken before a thread is: who is beyond his share hears so at once, holds no thread
    and takes nobody's turn.
    """

    def __init__(self, places: int = PLACES) -> None:
        self._places = places
        self._admission = AdmissionControl(places)
        self._threads: CapacityLimiter | None = None

    async def run(self, tenant: Tenant, action: Callable[[], _Result]) -> _Result:
        """What `action` returns; `Refused` ERATE when the tenant has as much under way as it
        may.
        """
        if not self._admission.enter(tenant):
            message = "too many requests of this token, or of its namespace, are at work already"
            raise Refused(
                "ERATE",
                message,
                source="http",
                suggestion="wait for one of them to end",
                retry_after=BUSY_SECONDS,
            )
        self._threads = self._threads or CapacityLimiter(
            self._places
        )  # belongs to the loop that serves
        try:
            return await to_thread.run_sync(action, limiter=self._threads)
        finally:
            self._admission.leave(tenant)


def _guarded(open: OpenRegistry, gate: Authenticator, workers: Workers, route: Route) -> Endpoint:
    async def door(request: Request) -> Response:
        owner, holder = False, None
        try:
            holder = await admit(request, gate)
            caller = _caller(holder, request, route.right)
            owner = holder.kind == ADMIN and caller.owner
            require_unconditional(request)
            body = (
                await read_checked_body(request, route.most, zipped=route.takes is BUNDLE_FILE)
                if route.takes
                else b""
            )
            asked = partial(
                _ask,
                request,
                who=(holder, caller),
                body=body,
                again=partial(gate.admit, *_shown(request)),
            )

            def act() -> Response:
                return route.action(asked(open()))

            response = await (
                workers.run(tenant_of(caller), act) if route.works else run_in_threadpool(act)
            )
            response = (
                add_etag(response, request.headers.get("if-none-match", ""))
                if route.kept
                else response
            )
        except SigilError as problem:
            response = failure_response(problem, logs=owner)
        response.headers.update(_rate(gate, holder))
        return response

    return door


async def admit(request: Request, gate: Authenticator) -> TokenHolder:
    """Who asks; `Refused` EAUTH or ERATE when the token is not good."""
    shown, address = _shown(request)
    admin = gate.admin(shown, address)
    return admin if admin else await run_in_threadpool(gate.admit, shown, address)


def _shown(request: Request) -> tuple[str, str]:
    """What a client shows at the gate, and its address. Two tokens are none: they are joined as RFC
    9110 does it.
    """
    return ", ".join(
        request.headers.getlist("authorization")
    ), request.client.host if request.client else ""


def _rate(gate: Authenticator, holder: TokenHolder | None) -> dict[str, str]:
    """What is left of the token's rate, as draft-ietf-httpapi-ratelimit-headers has it; nothing for
    the admin, who has no rate.
    """
    left = gate.left(holder) if holder else None
    if left is None:
        return {}
    return {
        "RateLimit-Policy": f'"token";q={left.most};w=60',
        "RateLimit": f'"token";r={left.left};t={left.seconds}',
    }


def _caller(holder: TokenHolder, request: Request, right: Access) -> Caller:
    """On whose behalf. What the headers say is believed of the admin alone; what would be widened
    by not believing it is refused.
    """
    if holder.kind == ADMIN:
        return replace(read_caller(request.headers, holder.namespace), token=ADMIN)
    if right is Access.KEEP:
        require_admin(holder, "does this")
    if right is Access.WORK and holder.kind != "deploy":
        raise Refused(
            "EPERM",
            "this takes a deploy token",
            source="http",
            suggestion="`sigil whoami` shows what yours may",
        )
    if right is Access.WORK and request.headers.get(AUTHOR, "") == "model":
        raise Refused(
            "EPERM",
            "only the admin token speaks for a model",
            source="http",
            suggestion="an agent needs the admin token",
        )
    return holder.caller()


def _ask(
    request: Request,
    registry: ServedRegistry,
    who: tuple[TokenHolder, Caller],
    body: bytes,
    again: Callable[[], object] = lambda: None,
) -> AuthorizedRequest:
    parameters: dict[str, list[str]] = {}
    for name, value in request.query_params.multi_items():
        parameters.setdefault(name, []).append(value)
    headers = MappingProxyType(dict(request.headers))
    method = "GET" if request.method == "HEAD" else request.method
    base, url = str(request.base_url), str(request.url.replace(query="", fragment=""))
    ref = request.path_params.get("ref", "")
    return AuthorizedRequest(
        registry,
        *who,
        method,
        base,
        ref,
        parameters,
        headers.get("accept", "*/*"),
        body,
        url,
        headers,
        again,
    )


def _allowed(problem: HTTPException) -> dict[str, str]:
    allow = (problem.headers or {}).get("Allow", "")
    return {"Allow": ", ".join(sorted(allow.split(", ")))} if allow else {}


def _of_route(problem: HTTPException, request: Request) -> SigilError:
    place = one_line(f"{request.method} {request.url.path}", 120)
    see = "GET /_api/docs shows the routes"
    match problem.status_code:
        case 404:
            return UsageError("EROUTE", f"no such route: {place}", source="http", suggestion=see)
        case 405:
            return UsageError(
                "EMETHOD", f"this route does not take {place}", source="http", suggestion=see
            )
        case status if status < BUG:
            return UsageError("EINVAL", "this is no request", source="http")
    return BackendError("EUNAVAILABLE", "the request failed", source="http")
