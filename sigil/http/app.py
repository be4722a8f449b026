"""Serve Sigil's HTTP API: its verbs behind a bearer token, as routes that any app can carry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp

from sigil.access.authentication import Authenticator, require_admin
from sigil.access.tokens import TokenHolder
from sigil.admin_protocol import ServedRegistry
from sigil.catalog.owner import ADMIN
from sigil.errors import Refused, SigilError
from sigil.http.body import read_checked_body, require_unconditional
from sigil.http.caller_headers import AUTHOR, read_caller
from sigil.http.credentials import admit_request, read_credentials
from sigil.http.etag import add_etag
from sigil.http.public import ApiDescription
from sigil.http.request import AuthorizedRequest
from sigil.http.response import add_error_handling, failure_response
from sigil.http.route import BUNDLE_FILE, Access, Route
from sigil.http.routes import OPEN_ROUTES, TOKEN_ROUTES
from sigil.protocol import Caller
from sigil.sandbox.tenants import AdmissionControl, Tenant, tenant_of

WORKER_COUNT = 64
"""Requests that may run or compile something at once; one namespace alone has at most half of them,
and one token a quarter.
"""
BUSY_SECONDS = 1.0
_Result = TypeVar("_Result")

RegistryOpener = Callable[[], ServedRegistry]
"""Gives the registry; called in a thread that may wait."""
ROUTES = (*OPEN_ROUTES, *TOKEN_ROUTES)
Endpoint = Callable[[Request], Awaitable[Response]]


def build_registry_app(registry: ServedRegistry, token: str, agent: str = "main") -> FastAPI:
    """Return an app with Sigil's routes alone over an open registry.

    `agent` is the namespace of a caller that names none.
    """
    return build_app(lambda: registry, Authenticator(token, lambda: registry.keys, agent))


def build_app(
    open: RegistryOpener,
    authenticator: Authenticator,
    *,
    open_pages: Callable[[], ASGIApp] | None = None,
) -> FastAPI:
    """Return an app with Sigil's routes alone, whose registry the first request opens.

    `open_pages` opens the pages for a browser, None for none.
    """
    app = FastAPI(title="Sigil", docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(build_router(open, authenticator))
    if open_pages:
        from sigil.http.page.mount import build_routes

        app.router.routes.extend(build_routes(open_pages))
    add_error_handling(app)
    return app


def build_router(open: RegistryOpener, authenticator: Authenticator) -> APIRouter:
    """Return Sigil's routes, to be mounted beside others.

    There is one for each path, so that the answer to a wrong method names all the right ones.
    """
    router = APIRouter()
    description = ApiDescription(ROUTES)
    workers = WorkerThreads()
    paths: dict[str, dict[str, Endpoint]] = {}
    for route in ROUTES:
        if route.access is Access.PUBLIC:
            endpoint = _make_public_endpoint(description, route)
        elif route.access is Access.OPTIONAL_TOKEN:
            endpoint = _make_optional_token_endpoint(open, authenticator, route)
        else:
            endpoint = _make_token_endpoint(open, authenticator, workers, route)
        paths.setdefault(route.path, {})[route.method] = endpoint
    for path, endpoints in sorted(paths.items()):
        # plain routes: FastAPI's own read the annotations and load pydantic's first version for it,
        # and know no HEAD
        router.add_route(path, _dispatch_method(endpoints), methods=[*endpoints])
    return router


def _dispatch_method(endpoints: Mapping[str, Endpoint]) -> Endpoint:
    """Return the endpoint of a path, which answers a HEAD as a GET."""

    async def endpoint(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        return await endpoints[method](request)

    return endpoint


def _make_public_endpoint(description: ApiDescription, route: Route) -> Endpoint:
    """Return the endpoint of a route that takes no token."""

    async def endpoint(request: Request) -> Response:
        if not route.has_etag:
            # the health check never waits for a thread, so that it is answered while all of them
            # run something
            return route.handler()
        response = await run_in_threadpool(route.handler, description)
        return add_etag(response, request.headers.get("if-none-match", ""), own=False)

    return endpoint


def _make_optional_token_endpoint(
    open: RegistryOpener, authenticator: Authenticator, route: Route
) -> Endpoint:
    """Return the endpoint of a route that tells more to a good token than to none."""

    async def endpoint(request: Request) -> Response:
        try:
            holder = await admit_request(request, authenticator)
            caller = _require_caller(holder, request, Access.DEPLOY_TOKEN)

            def act() -> Response:
                return route.handler(_authorized_request(request, open(), holder, caller))

            return await run_in_threadpool(act)
        except Refused:
            return route.handler(None)
        except SigilError as problem:
            return failure_response(problem)

    return endpoint


class WorkerThreads:
    """The threads of slow requests, apart from the others, so that a read never waits behind them.

    A request is admitted before it takes a thread: a tenant beyond its share is refused at once and
    holds no thread.
    """

    def __init__(self, count: int = WORKER_COUNT) -> None:
        self._count = count
        self._admission = AdmissionControl(count)
        self._threads: CapacityLimiter | None = None

    async def run(self, tenant: Tenant, action: Callable[[], _Result]) -> _Result:
        """Return what `action` returns; `Refused` ERATE when the tenant has as many running as it
        may.
        """
        if not self._admission.enter(tenant):
            message = "too many requests of this token, or of its namespace, are running already"
            raise Refused(
                "ERATE",
                message,
                source="http",
                suggestion="wait for one of them to end",
                retry_after=BUSY_SECONDS,
            )
        if self._threads is None:
            self._threads = CapacityLimiter(self._count)  # belongs to the loop that serves
        try:
            return await to_thread.run_sync(action, limiter=self._threads)
        finally:
            self._admission.leave(tenant)


def _make_token_endpoint(
    open: RegistryOpener, authenticator: Authenticator, workers: WorkerThreads, route: Route
) -> Endpoint:
    """Return the endpoint of a route that takes a token."""

    async def respond(request: Request, holder: TokenHolder, caller: Caller) -> Response:
        require_unconditional(request)
        body = b""
        if route.body:
            zipped = route.body is BUNDLE_FILE
            body = await read_checked_body(request, route.body_bytes, zipped=zipped)
        admit_again = partial(authenticator.admit, *read_credentials(request))

        def act() -> Response:
            return route.handler(
                _authorized_request(
                    request, open(), holder, caller, body=body, admit_again=admit_again
                )
            )

        if route.slow:
            response = await workers.run(tenant_of(caller), act)
        else:
            response = await run_in_threadpool(act)
        if route.has_etag:
            return add_etag(response, request.headers.get("if-none-match", ""))
        return response

    async def endpoint(request: Request) -> Response:
        holder = None
        sees_logs = False
        try:
            holder = await admit_request(request, authenticator)
            caller = _require_caller(holder, request, route.access)
            sees_logs = holder.kind == ADMIN and caller.owner
            response = await respond(request, holder, caller)
        except SigilError as problem:
            response = failure_response(problem, logs=sees_logs)
        left = authenticator.rate_left(holder) if holder else None
        if left:  # the admin has no rate
            # as draft-ietf-httpapi-ratelimit-headers has it
            response.headers["RateLimit-Policy"] = f'"token";q={left.most};w=60'
            response.headers["RateLimit"] = f'"token";r={left.left};t={left.seconds}'
        return response

    return endpoint


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
