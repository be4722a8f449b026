"""All doors in one process: webhooks, Sigil's API, `/chat`, the queue's workers and the ticker."""

from __future__ import annotations

import asyncio
import itertools
import re
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from functions import admin, log, scheduler, webhook, worker
from functions.events import TEXT_LIMIT, Event, Sender, order_of
from functions.turn_lock import TurnLock
from functions.wiring import AgentRuntime
from sigil import strict_json
from sigil.access.authentication import Gate, demand_admin
from sigil.errors import BackendError, Refused, SigilError, UsageError
from sigil.http import app as sigil_http
from sigil.http.body import read_body
from sigil.protocol import Json
from sigil.registry import LocalRegistry
from sigil.storage.kv import keys

WAIT_SECONDS = 25.0
DRAIN_SECONDS = 30.0
TICK_SECONDS = 60.0
CONTROL_WORKERS = 2
"""An answer that is slow to leave keeps a `/stop` from nobody."""
LOOK_SECONDS = 0.25
RENEWALS = 4
"""How often a lease is renewed before it would end: a store that is away for a moment costs none.
"""
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NUMBERS = itertools.count()


class QueueWorkers:
    """The threads that work on the queue, two of them on what goes beside it alone. `stop` lets
    running turns end and takes no new ones.
    """

    def __init__(self, runtime: AgentRuntime) -> None:
        self._runtime = runtime = replace(runtime, turns=TurnLock())
        self._over, self._idle = threading.Event(), threading.Event()
        direct = replace(runtime, queue=runtime.control)
        places = [
            *((f"control-{n}", direct) for n in range(CONTROL_WORKERS)),
            *((f"worker-{n}", runtime) for n in range(runtime.settings.workers)),
        ]
        self._workers = [
            threading.Thread(target=self._work, args=(at,), name=name, daemon=True)
            for name, at in places
        ]
        self._beats = [
            threading.Thread(target=beat, name=beat.__name__, daemon=True)
            for beat in (self._tick, self._renew)
        ]

    def start(self) -> None:
        for thread in (*self._workers, *self._beats):
            thread.start()

    def stop(self, seconds: float = DRAIN_SECONDS) -> bool:
        """End the crew; False when a turn was still running after `seconds`."""
        self._over.set()
        self._runtime.turns.close()
        end = time.monotonic() + seconds
        for thread in self._workers:
            thread.join(max(end - time.monotonic(), 0.0))
        self._idle.set()
        return not any(thread.is_alive() for thread in self._workers)

    def _tick(self) -> None:
        while not self._over.wait(TICK_SECONDS):
            try:
                scheduler.tick(self._runtime.stores.kv)
            except SigilError as problem:
                log.note("unswept", code=problem.code)
            except Exception:  # noqa: BLE001  a door: what nobody expected must not end the clock
                log.failure("unswept")

    def _renew(self) -> None:
        """Keep the chats that this process works on, until its last turn has ended."""
        while not self._idle.wait(self._runtime.settings.lease / RENEWALS):
            for queue in (self._runtime.queue, self._runtime.control):
                try:
                    queue.renew()
                except SigilError as problem:
                    log.note("not renewed", code=problem.code)

    def _work(self, runtime: AgentRuntime) -> None:
        while not self._over.is_set():
            try:
                self._take(runtime)
            except BackendError as problem:
                log.note("unread", code=problem.code, message=problem.message)
                self._over.wait(5.0)
            except Exception:  # noqa: BLE001  a door: what nobody expected must not end the worker
                log.failure("unread")
                self._over.wait(1.0)

    def _take(self, runtime: AgentRuntime) -> None:
        """Work on the next event. While a turn runs alone none is taken: whatever this process held
        would be lost with it in a crash.
        """
        control = runtime.queue is self._runtime.control  # waits for no turn, and runs none
        if not control and not runtime.turns.enter(LOOK_SECONDS):
            return
        try:
            delivery = runtime.queue.take(LOOK_SECONDS)
            if delivery:
                worker.process(delivery, runtime)
        finally:
            runtime.turns.leave()


def app(runtime: AgentRuntime, token: str, ready: Callable[[], None] = lambda: None) -> FastAPI:
    """The whole server. `ready` is called once it works."""
    crew = QueueWorkers(runtime)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        crew.start()
        ready()
        yield
        if not await run_in_threadpool(crew.stop):
            log.note("a turn was still running; it goes on at the next start")

    served = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=life)
    registry = runtime.app.registry
    here = registry if isinstance(registry, LocalRegistry) else None
    gate = Gate(
        token, (lambda: here.keys) if here else None, runtime.settings.agent, runtime.settings.rate
    )
    if here:
        served.include_router(sigil_http.router(lambda: here, gate))
    served.include_router(chat_routes(runtime, gate))
    served.include_router(admin.router(runtime, gate))
    served.include_router(
        webhook.router(lambda: webhook.WebhookDeps(runtime.channels, runtime.queue))
    )
    sigil_http.furnish(served)
    return served


def chat_routes(runtime: AgentRuntime, gate: Gate) -> APIRouter:
    """POST /chat and the poll of an answer that takes long; for the admin token alone."""
    routes = APIRouter()

    @routes.post("/chat")
    async def chat(request: Request) -> Response:
        try:
            demand_admin(await sigil_http.admit(request, gate), "may chat")
            event = _event(
                strict_json.loads(await read_body(request, webhook.BODY_BYTES)),
                runtime.settings.agent,
            )
        except (Refused, UsageError, BackendError) as problem:
            return sigil_http.failure(problem)
        try:
            return await run_in_threadpool(_ask, runtime, event)
        except asyncio.CancelledError:
            # the server ends before the answer is there: the event is kept, and answered at the
            # next start
            return _answer({"waiting": True}, *_names(event))

    @routes.get("/chat/{session}/{event}")
    async def poll(session: str, event: str, request: Request) -> Response:
        try:
            demand_admin(await sigil_http.admit(request, gate), "may chat")
            reply = await run_in_threadpool(
                runtime.replies.get, _key(runtime, f"http:admin:{session}"), f"http:{event}"
            )
        except UsageError:  # no key is that long: nothing can be known of it
            reply = None
        except (Refused, BackendError) as problem:
            return sigil_http.failure(problem)
        return _answer(reply, session, event)

    return routes


def _event(body: Json, agent: str) -> Event:
    name, text = (
        (body.get("session", "main"), body.get("text")) if isinstance(body, dict) else (None, None)
    )
    if not isinstance(name, str) or not _SESSION.fullmatch(name):
        raise UsageError(
            "EINVAL",
            "session is a name of letters, digits, dot, hyphen and underscore",
            source="chat",
        )
    if not isinstance(text, str) or not text.strip() or len(text) > TEXT_LIMIT:
        raise UsageError(
            "EINVAL", f"text is a string of 1 to {TEXT_LIMIT:,} characters", source="chat"
        )
    now = time.time()
    number = f"http:{uuid.uuid4().hex}"
    order = order_of(now, next(_NUMBERS))
    return Event(
        number,
        "message",
        agent,
        f"http:admin:{name}",
        Sender("http:admin", "admin"),
        text,
        now,
        order,
        private=True,
    )


def _key(runtime: AgentRuntime, session: str) -> str:
    return keys.session_of(runtime.settings.agent, session)


def _ask(runtime: AgentRuntime, event: Event) -> JSONResponse:
    try:
        runtime.replies.expect(_key(runtime, event.session), event.id)
        runtime.queue.put(event)
    except BackendError as problem:
        return webhook.retry_later_response(problem)
    try:
        reply = runtime.replies.wait(_key(runtime, event.session), event.id, WAIT_SECONDS)
    except BackendError:  # it is kept all the same, and will be answered
        reply = {"waiting": True}
    return _answer(reply, *_names(event))


def _names(event: Event) -> tuple[str, str]:
    """The session and the event, as the poll's address has them."""
    return event.session.rpartition(":")[2], event.id.partition(":")[2]


def _answer(reply: dict[str, Any] | None, session: str, event: str) -> JSONResponse:
    if reply is None:
        return webhook.error_response(
            404, UsageError("ENOENT", "no such message, or its answer is too old", source="chat")
        )
    if reply.get("waiting"):
        return JSONResponse({"waiting": True, "poll": f"/chat/{session}/{event}"}, 202)
    return JSONResponse(reply)
