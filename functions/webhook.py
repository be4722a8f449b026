"""POST /webhook/{platform} verifies, parses and enqueues an update, then answers 200; POST
/hooks/{name} does so with what a program posts, and answers 202.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from mangum import Mangum

from functions import log, wiring
from functions.channels.base import Channel
from functions.channels.base import PlatformRequest as Incoming
from functions.overheard import keep_message, make_event
from functions.queues.base import Queue
from functions.settings import Settings
from sigil.errors import BackendError, Refused, SigilError, UsageError
from sigil.http.body import read_body, refuse_claimed_length
from sigil.http.status_codes import status_of
from sigil.settings import find_unknown_variables
from sigil.storage.kv import KV

if TYPE_CHECKING:
    from functions.hook_endpoint import HookEndpoint

BODY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class WebhookDeps:
    """The channels that may send events, by platform, and the queue that takes them.

    `kv` keeps what people of a group say to each other, where an owner said so. Without it,
    `passes_on` lets a worker keep it: the queue gets all of it, since nobody here knows which
    groups are listened to. With neither nothing is kept.

    `open_hooks` opens the door of hooks, which alone needs a store to find their tokens in.
    """

    channels: Mapping[str, Channel]
    queue: Queue
    kv: KV | None = None
    passes_on: bool = False
    open_hooks: Callable[[], HookEndpoint] | None = None


def router(open_deps: Callable[[], WebhookDeps]) -> APIRouter:
    """Return the webhook's routes; `open_deps` is called by each request."""
    routes = APIRouter()

    async def webhook(request: Request) -> Response:
        platform = request.path_params["platform"]
        try:
            deps = open_deps()
            channel = deps.channels.get(platform)
            if channel is None:
                raise UsageError(
                    "ENOENT",
                    "this platform is not set up here",
                    source=platform,
                    suggestion="set its token first",
                )
            # a repeated header has all its values joined (RFC 9110), so that a secret which only
            # one of two values holds never passes
            headers = {name: ", ".join(request.headers.getlist(name)) for name in request.headers}
            incoming = Incoming(headers, b"", dict(request.query_params))
            # before the body is read: a stranger's request costs neither memory nor time
            channel.verify_head(incoming)
            incoming = replace(incoming, body=await read_body(request, BODY_BYTES))
            return await run_in_threadpool(_enqueue_events, channel, deps, incoming)
        except BackendError as problem:
            return retry_later_response(problem)
        except (Refused, UsageError) as problem:
            return error_response(status_of(problem), problem)

    async def hook(request: Request) -> Response:
        # a platform's update waits for neither of them
        from functions import hook_endpoint
        from sigil.http.response import failure_response

        name = request.path_params["name"]
        try:
            open_hooks = open_deps().open_hooks
            if open_hooks is None:
                raise UsageError("ENOENT", "no hooks are taken here", source="hook")
            headers = {each: ", ".join(request.headers.getlist(each)) for each in request.headers}
            proof = hook_endpoint.read_proof(headers)
            address = request.client.host if request.client else ""
            door = await run_in_threadpool(open_hooks)
            found = None
            if not proof.is_signature:  # before the body is read, as above
                found = await run_in_threadpool(door.admit, name, proof, address)
                hook_endpoint.require_text_type(headers)
            refuse_claimed_length(request, hook_endpoint.BODY_BYTES)
            body = await read_body(request, hook_endpoint.BODY_BYTES)
            if found is None:
                proof = replace(proof, body=body)
                found = await run_in_threadpool(door.admit, name, proof, address)
                hook_endpoint.require_text_type(headers)
            post = hook_endpoint.read_post(headers, body)
            event = await run_in_threadpool(door.accept, found, post)
        except SigilError as problem:
            return failure_response(problem)
        log.step("enqueued", event)
        return JSONResponse({"event": event.id}, 202)

    # plain routes: FastAPI's own read the annotations and load all of pydantic's first version for
    # it, 20 ms of a cold start
    routes.add_route("/health", health, methods=["GET"])
    routes.add_route("/webhook/{platform}", webhook, methods=["POST"])
    routes.add_route("/hooks/{name}", hook, methods=["POST"])
    return routes


async def health(request: Request) -> Response:
    """Answer that the server is up; no token is needed."""
    return JSONResponse({"ok": True})


def error_response(status: int, problem: SigilError) -> JSONResponse:
    """Return the JSON answer for a failure; every route answers failures in this form."""
    return JSONResponse({"error": problem.as_dict()}, status)


def retry_later_response(problem: BackendError) -> JSONResponse:
    """Return a 503 with `retry-after`, for a store or a queue that does not answer right now."""
    return JSONResponse({"error": problem.as_dict()}, 503, {"retry-after": "5"})


def _enqueue_events(channel: Channel, deps: WebhookDeps, incoming: Incoming) -> Response:
    """Answer 200 only once every event is durable; the platform sends the rest again."""
    channel.verify(incoming)
    enqueue_update(channel, deps, incoming.body)
    return JSONResponse({"ok": True})


def enqueue_update(channel: Channel, deps: WebhookDeps, body: bytes) -> None:
    """Put the events of an update into the queue; they are durable when this returns."""
    events = channel.parse(body)
    for event in events:
        deps.queue.put(event)
        log.step("enqueued", event)
    if not events and (deps.kv is not None or deps.passes_on):
        overheard = channel.parse_overheard(body)
        if overheard and deps.kv is not None:
            keep_message(deps.kv, overheard)
        elif overheard:
            # it is not worth another delivery by the platform
            with suppress(BackendError):
                deps.queue.put(make_event(overheard))


@lru_cache(maxsize=1)
def _open_deps() -> WebhookDeps:
    log.start()
    settings = Settings.read()
    for unknown in find_unknown_variables(Settings):
        log.note("no setting", name=unknown.name, meant=unknown.meant)
    queue = wiring.open_ingress_queue(settings)
    # with another queue than the store's, this function may have no store, and updates need none
    return WebhookDeps(
        wiring.open_channels(settings),
        queue,
        passes_on=settings.listen,
        open_hooks=lru_cache(maxsize=1)(partial(_open_hooks, settings, queue)),
    )


def _open_hooks(settings: Settings, queue: Queue) -> HookEndpoint:
    from functions.hook_endpoint import HookEndpoint
    from functions.hooks import Hooks
    from sigil.wiring import open_stores

    return HookEndpoint(Hooks(open_stores(settings).kv, settings.agent), queue.put, time.time)


app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
app.include_router(router(_open_deps))
handler = Mangum(app, lifespan="off")
