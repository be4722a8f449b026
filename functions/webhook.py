"""ANY /webhook/{name} verifies what a platform sends, enqueues its events and answers; POST
/hooks/{name} does so with what a program posts, and answers 202.

A platform waits for its answer for two or three seconds, and a function may have to start first. So
this module loads little: what a request needs is loaded when `open_ingress` opens it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sigil.errors import BackendError, Refused, SigilError, UsageError
from sigil.http.body import read_body, refuse_claimed_length
from sigil.http.status_codes import status_of

if TYPE_CHECKING:
    from functions.channels.base import Channel, PlatformAnswer, PlatformRequest
    from functions.ingress.ingress import Ingress

METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD")


def build_routes(open_ingress: Callable[[], Ingress]) -> list[Route]:
    """Return the webhook's routes; `open_ingress` is called by each request."""

    async def webhook(request: Request) -> Response:
        name = request.path_params["name"]
        try:
            ingress = open_ingress()
            channel = ingress.channels.get(name)
            if channel is None:
                raise UsageError(
                    "ENOENT",
                    "this platform is not set up here",
                    source=name,
                    suggestion="set its token first",
                )
            return await _receive(request, channel, ingress)
        except BackendError as problem:
            return retry_later_response(problem)
        except (Refused, UsageError) as problem:
            return error_response(status_of(problem), problem)

    async def hook(request: Request) -> Response:
        # a platform's update waits for neither of them
        from functions import log
        from functions.ingress import hook_endpoint
        from sigil.http.response import failure_response

        name = request.path_params["name"]
        try:
            open_hooks = open_ingress().open_hooks
            if open_hooks is None:
                raise UsageError("ENOENT", "no hooks are taken here", source="hook")
            headers = _join_headers(request)
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

    return [
        Route("/health", health, methods=["GET"]),
        Route("/webhook/{name}", webhook, methods=METHODS),
        Route("/webhook/{name}/{rest:path}", webhook, methods=METHODS),
        Route("/hooks/{name}", hook, methods=["POST"]),
    ]


async def health(request: Request) -> Response:
    """Answer that the server is up; no token is needed."""
    return JSONResponse({"ok": True})


def error_response(status: int, problem: SigilError) -> JSONResponse:
    """Return the JSON answer for a failure; every route answers failures in this form."""
    return JSONResponse({"error": problem.as_dict()}, status)


def retry_later_response(problem: BackendError) -> JSONResponse:
    """Return a 503 with `retry-after`, for a store or a queue that does not answer right now."""
    return JSONResponse({"error": problem.as_dict()}, 503, {"retry-after": "5"})


async def _receive(request: Request, channel: Channel, ingress: Ingress) -> Response:
    """Answer what the platform waits for once every event is durable; it sends the rest again.

    What is surely the platform's and yet cannot be understood is answered as taken: the platform
    would send the same for days, and some send nothing else meanwhile.
    """
    from functions import log
    from functions.channels.base import TAKEN, AnswersRefused, PlatformRequest

    name = request.path_params["name"]
    head = PlatformRequest(
        _join_headers(request),
        query=dict(request.query_params),
        method=request.method,
        path=request.path_params.get("rest", ""),
    )
    try:
        # before the body is read: a stranger's request costs neither memory nor time
        proven = channel.verify_head(head)
        try:
            body = await read_body(request, channel.body_most, to_end=proven)
        except UsageError as problem:
            if not proven or problem.code != "ETOOBIG":
                raise
            log.note("not understood", channel=name, code=problem.code, problem=problem.message)
            return make_response(TAKEN)
        whole = replace(head, body=body)
        return await run_in_threadpool(_enqueue_events, name, channel, ingress, whole)
    except Refused as problem:
        if not isinstance(channel, AnswersRefused):
            raise
        return make_response(channel.answer_refused(problem))


def _enqueue_events(
    name: str, channel: Channel, ingress: Ingress, request: PlatformRequest
) -> Response:
    from functions import log
    from functions.channels.base import TAKEN

    try:
        received = channel.receive(request)
    except UsageError as problem:
        log.note("not understood", channel=name, code=problem.code, problem=problem.message)
        return make_response(TAKEN)
    except SigilError:
        raise
    except Exception:  # noqa: BLE001  entry point: a body that we fail to read would come for ever
        log.failure("unreadable", channel=name)
        return make_response(TAKEN)
    ingress.enqueue(received, name)
    return make_response(received.answer)


def make_response(answer: PlatformAnswer) -> Response:
    """Return an answer to a platform as a response."""
    return Response(answer.body, answer.status, media_type=answer.media)


def _join_headers(request: Request) -> dict[str, str]:
    """Return the headers by their names in lower case.

    A repeated header has all its values joined (RFC 9110), so that a secret which only one of two
    values holds never passes.
    """
    return {name: ", ".join(request.headers.getlist(name)) for name in request.headers}
