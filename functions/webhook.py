"""The door for platforms: POST /webhook/{platform} verifies, parses, enqueues and answers 200."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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

BODY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Entrance:
    """What the door needs: who may knock, and where events go."""

    channels: Mapping[str, Channel]
    queue: Queue


class TooLarge(Exception):
    """The body is over the limit."""


def router(entrance: Callable[[], Entrance]) -> APIRouter:
    """The webhook's routes; `entrance` is asked at the first request."""
    routes = APIRouter()

    async def webhook(request: Request) -> Response:
        platform = request.path_params["platform"]
        try:
            body = await read(request, BODY_BYTES)
        except TooLarge:
            return refusal(413, UsageError("ETOOBIG", f"the body is over {BODY_BYTES:,} bytes", source=platform))
        incoming = Incoming(_headers(request), body, dict(request.query_params))
        return await run_in_threadpool(_enqueue, entrance, platform, incoming)

    # plain routes: FastAPI's own read the annotations and load all of pydantic's first version for it, 20 ms of a cold start
    routes.add_route("/health", health, methods=["GET"])
    routes.add_route("/webhook/{platform}", webhook, methods=["POST"])
    return routes


async def health(request: Request) -> Response:
    """That the door is open; asks for no token."""
    return JSONResponse({"ok": True})


async def read(request: Request, most: int) -> bytes:
    """The body, counted while it comes in."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise TooLarge
        parts.append(part)
    return b"".join(parts)


def refusal(status: int, problem: SigilError) -> JSONResponse:
    """A failure as every door answers it."""
    return JSONResponse({"error": problem.as_dict()}, status)


def away(problem: BackendError) -> JSONResponse:
    """A store or queue that does not answer: try again."""
    return JSONResponse({"error": problem.as_dict()}, 503, {"retry-after": "5"})


def _headers(request: Request) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers.items()}


def _enqueue(entrance: Callable[[], Entrance], platform: str, incoming: Incoming) -> Response:
    """200 only once every event is durable; the platform sends again what we could not keep."""
    try:
        channel = entrance().channels.get(platform)
        if channel is None:
            return refusal(404, UsageError("ENOENT", "no such platform here", source=platform, suggestion="set its token first"))
        channel.verify(incoming)
        for event in channel.parse(incoming.body):
            entrance().queue.put(event)
            log.step("enqueued", event)
    except Refused as problem:
        return refusal(401, problem)
    except UsageError as problem:
        return refusal(400, problem)
    except BackendError as problem:
        return away(problem)
    return JSONResponse({"ok": True})


@lru_cache(maxsize=1)
def _entrance() -> Entrance:
    log.start()
    settings = Settings.read()
    return Entrance(wiring.open_channels(settings), wiring.open_inlet(settings))


app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
app.include_router(router(_entrance))
handler = Mangum(app, lifespan="off")
