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


def build_app(open: OpenRegistry, authenticator: Authenticator) -> FastAPI:
    """An app with Sigil's routes alone, over a registry that is opened by the first request that
    needs it.
    """
    made = FastAPI(title="Sigil", docs_url=None, redoc_url=None, openapi_url=None)
    made.include_router(router(open, authenticator))
    add_error_handling(made)
    return made


def router(open: OpenRegistry, authenticator: Authenticator) -> APIRouter:
    """Sigil's routes, to be mounted beside others: one for each path, so that a wrong method is
    told all the right ones.
    """
    routes = APIRouter()
    described = ApiDescription(ROUTES)
    makers = {
        Access.PUBLIC: partial(_public_endpoint, described),
        Access.OPTIONAL_TOKEN: partial(_optional_token_endpoint, open, authenticator),
    }
    take_token = partial(_token_endpoint, open, authenticator, Workers())
    by_path = sorted(ROUTES, key=lambda route: route.path)
    for path, here in groupby(by_path, key=lambda route: route.path):
        methods = {route.method: makers.get(route.access, take_token)(route) for route in here}
        # plain routes: FastAPI's own read the annotations and load pydantic's first version for it,
        # and know no HEAD
        routes.add_route(path, _by_method(methods), methods=[*methods])
    return routes


def add_error_handling(app: FastAPI) -> None:
    """Number every request, and answer unknown routes, wrong methods and our own bugs as every
    other failure is answered.
    """

    async def refused(request: Request, problem: Any) -> Response:
        return failure_response(_routing_error(problem, request), headers=_allow_header(problem))

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
    """Return the answer to a failed request: its status and `{"error": {source, code, message,
    suggestion}}`.

    `logs`: with the lines that the run had logged, as one more field; for owners alone.
    """
    status = status_of(problem)
    given = dict(headers)
    if status == 401:
        given["WWW-Authenticate"] = 'Bearer realm="sigil"'
    if status in (429, 503):
        given["Retry-After"] = str(max(math.ceil(problem.retry_after or RETRY_SECONDS), 1))
    error: dict[str, object] = {**problem.as_dict()}
    if logs and problem.logs:
        error["logs"] = [one_line(line, 1_000) for line in problem.logs]
    return json_response({"error": error}, status, given)


def _by_method(endpoints: Mapping[str, Endpoint]) -> Endpoint:
    """Return the endpoint of a path, which answers a HEAD as the GET that it stands for."""

    async def endpoint(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        return await endpoints[method](request)

    return endpoint


def _public_endpoint(description: ApiDescription, route: Route) -> Endpoint:
    """Return the endpoint of a route that takes no token."""

    async def endpoint(request: Request) -> Response:
        if not route.kept:
            # the check of health never waits for a thread: it tells that the server answers while
            # all of them run something
            return route.action()
        response = await run_in_threadpool(route.action, description)
        return add_etag(response, request.headers.get("if-none-match", ""), own=False)

    return endpoint


def _optional_token_endpoint(
    open: OpenRegistry, authenticator: Authenticator, route: Route
) -> Endpoint:
    """Return the endpoint of a route that tells more to a good token than to none."""

    async def endpoint(request: Request) -> Response:
        try:
            holder = await admit(request, authenticator)
            caller = _require_caller(holder, request, Access.DEPLOY_TOKEN)

            def act() -> Response:
                return route.action(_authorized_request(request, open(), holder, caller))

            return await run_in_threadpool(act)
        except Refused:
            return route.action(None)
        except SigilError as problem:
            return failure_response(problem)

    return endpoint


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
        """Return what `action` returns; `Refused` ERATE when the tenant has as much under way as it
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


def _token_endpoint(
    open: OpenRegistry, authenticator: Authenticator, workers: Workers, route: Route
) -> Endpoint:
    """Return the endpoint of a route that takes a token."""

    async def respond(request: Request, holder: TokenHolder, caller: Caller) -> Response:
        require_unconditional(request)
        body = b""
        if route.takes:
            zipped = route.takes is BUNDLE_FILE
            body = await read_checked_body(request, route.most, zipped=zipped)
        admit_again = partial(authenticator.admit, *_credentials(request))

        def act() -> Response:
            return route.action(
                _authorized_request(
                    request, open(), holder, caller, body=body, admit_again=admit_again
                )
            )

        if route.works:
            response = await workers.run(tenant_of(caller), act)
        else:
            response = await run_in_threadpool(act)
        if route.kept:
            return add_etag(response, request.headers.get("if-none-match", ""))
        return response

    async def endpoint(request: Request) -> Response:
        holder = None
        sees_logs = False
        try:
            holder = await admit(request, authenticator)
            caller = _require_caller(holder, request, route.access)
            sees_logs = holder.kind == ADMIN and caller.owner
            response = await respond(request, holder, caller)
        except SigilError as problem:
            response = failure_response(problem, logs=sees_logs)
        response.headers.update(_rate_headers(authenticator, holder))
        return response

    return endpoint


async def admit(request: Request, authenticator: Authenticator) -> TokenHolder:
    """Return the token's holder; `Refused` EAUTH or ERATE when the token is not good."""
    shown, address = _credentials(request)
    admin = authenticator.find_admin(shown, address)
    return admin if admin else await run_in_threadpool(authenticator.admit, shown, address)


def _credentials(request: Request) -> tuple[str, str]:
    """Return what a client shows as its token, and its address.

    Two tokens are none: they are joined as RFC 9110 does it.
    """
    token = ", ".join(request.headers.getlist("authorization"))
    address = request.client.host if request.client else ""
    return token, address


def _rate_headers(authenticator: Authenticator, holder: TokenHolder | None) -> dict[str, str]:
    """Return what is left of the token's rate, as draft-ietf-httpapi-ratelimit-headers has it;
    nothing for the admin, who has no rate.
    """
    left = authenticator.rate_left(holder) if holder else None
    if left is None:
        return {}
    return {
        "RateLimit-Policy": f'"token";q={left.most};w=60',
        "RateLimit": f'"token";r={left.left};t={left.seconds}',
    }


def _require_caller(holder: TokenHolder, request: Request, access: Access) -> Caller:
    """Return on whose behalf the request is made; `Refused` EPERM when the token may not do this.

    What the headers say is believed of the admin alone; what would be widened by not believing it
    is refused.
    """
    if holder.kind == ADMIN:
        return replace(read_caller(request.headers, holder.namespace), token=ADMIN)
    if access is Access.ADMIN_TOKEN:
        require_admin(holder, "does this")
    if access is Access.DEPLOY_TOKEN and holder.kind != "deploy":
        raise Refused(
            "EPERM",
            "this takes a deploy token",
            source="http",
            suggestion="`sigil whoami` shows what yours may",
        )
    if access is Access.DEPLOY_TOKEN and request.headers.get(AUTHOR, "") == "model":
        raise Refused(
            "EPERM",
            "only the admin token speaks for a model",
            source="http",
            suggestion="an agent needs the admin token",
        )
    return holder.to_caller()


def _authorized_request(
    request: Request,
    registry: ServedRegistry,
    holder: TokenHolder,
    caller: Caller,
    *,
    body: bytes = b"",
    admit_again: Callable[[], object] = lambda: None,
) -> AuthorizedRequest:
    parameters: dict[str, list[str]] = {}
    for name, value in request.query_params.multi_items():
        parameters.setdefault(name, []).append(value)
    headers = MappingProxyType(dict(request.headers))
    return AuthorizedRequest(
        registry=registry,
        holder=holder,
        caller=caller,
        method="GET" if request.method == "HEAD" else request.method,
        base=str(request.base_url),
        ref=request.path_params.get("ref", ""),
        query=parameters,
        accept=headers.get("accept", "*/*"),
        body=body,
        url=str(request.url.replace(query="", fragment="")),
        headers=headers,
        again=admit_again,
    )


def _allow_header(problem: HTTPException) -> dict[str, str]:
    allow = (problem.headers or {}).get("Allow", "")
    return {"Allow": ", ".join(sorted(allow.split(", ")))} if allow else {}


def _routing_error(problem: HTTPException, request: Request) -> SigilError:
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
