"""The door for platforms: POST /webhook/{platform} verifies, parses, enqueues and answers 200."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from mangum import Mangum

from functions import log, wiring
from functions.channels.base import Channel
from functions.channels.base import Request as Incoming
from functions.queues.base import Queue
from functions.settings import Settings
from sigil.errors import BackendError, Refused, SigilError, UsageError
from sigil.http.body import read_body
from sigil.http.status_codes import status_of

BODY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class WebhookDeps:
    """What the door needs: who may knock, and where events go."""

    channels: Mapping[str, Channel]
    queue: Queue


def router(entrance: Callable[[], WebhookDeps]) -> APIRouter:
    """The webhook's routes; `entrance` is asked at the first request."""
    routes = APIRouter()

    async def webhook(request: Request) -> Response:
        platform = request.path_params["platform"]
        try:
            here = entrance()
            channel = here.channels.get(platform)
            if channel is None:
                raise UsageError(
                    "ENOENT",
                    "no such platform here",
                    source=platform,
                    suggestion="set its token first",
                )
            incoming = Incoming(_headers(request), b"", dict(request.query_params))
            channel.verify_head(
                incoming
            )  # before the body: a stranger's costs neither memory nor time
            incoming = replace(incoming, body=await read_body(request, BODY_BYTES))
            return await run_in_threadpool(_enqueue, channel, here.queue, incoming)
        except BackendError as problem:
            return retry_later_response(problem)
        except (Refused, UsageError) as problem:
            return error_response(status_of(problem), problem)

    # plain routes: FastAPI's own read the annotations and load all of pydantic's first version for
    # it, 20 ms of a cold start
    routes.add_route("/health", health, methods=["GET"])
    routes.add_route("/webhook/{platform}", webhook, methods=["POST"])
    return routes


async def health(request: Request) -> Response:
    """That the door is open; asks for no token."""
    return JSONResponse({"ok": True})


def error_response(status: int, problem: SigilError) -> JSONResponse:
    """A failure as every door answers it."""
    return JSONResponse({"error": problem.as_dict()}, status)


def retry_later_response(problem: BackendError) -> JSONResponse:
    """A store or queue that does not answer: try again."""
    return JSONResponse({"error": problem.as_dict()}, 503, {"retry-after": "5"})


def _headers(request: Request) -> dict[str, str]:
    """The headers by name. A repeated one is all of its values, as RFC 9110 joins them, so that no
    secret is found in one of two.
    """
    return {name: ", ".join(request.headers.getlist(name)) for name in request.headers}


def _enqueue(channel: Channel, queue: Queue, incoming: Incoming) -> Response:
    """200 only once every event is durable; the platform sends again what we could not keep."""
    channel.verify(incoming)
    for event in channel.parse(incoming.body):
        queue.put(event)
        log.step("enqueued", event)
    return JSONResponse({"ok": True})


@lru_cache(maxsize=1)
def _entrance() -> WebhookDeps:
    log.start()
    settings = Settings.read()
    return WebhookDeps(wiring.open_channels(settings), wiring.open_inlet(settings))


app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
app.include_router(router(_entrance))
handler = Mangum(app, lifespan="off")
