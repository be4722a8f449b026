"""The whole agent in one process: webhooks, Sigil's API, `/chat`, the queue's workers and the
scheduler.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.background import BackgroundTask

from functions import admin, log, scheduler, webhook, worker
from functions.channels.replies.unread_replies import MOST, UnreadReply
from functions.events import TEXT_LIMIT, Event, Sender, order_of
from functions.hooks import Hooks
from functions.ingress.hook_endpoint import HookEndpoint
from functions.ingress.ingress import Ingress
from functions.ingress.poller import PolledBot, Poller
from functions.ingress.socket_listener import ListenedBot, SocketListener
from functions.queues.base import Queue
from functions.queues.turn_lock import TurnLock
from functions.reply_sender import read_kept_file
from functions.settings import Settings
from functions.status_alerts import alert_chat_closed
from functions.turns_in_progress import TurnsInProgress, open_turns
from functions.wiring import AgentRuntime
from sigil import strict_json
from sigil.access.authentication import Authenticator, require_admin
from sigil.errors import BackendError, Refused, SigilError, UsageError
from sigil.http import app as sigil_http
from sigil.http.body import read_body
from sigil.http.capabilities import file_response
from sigil.http.credentials import admit_request
from sigil.http.response import add_error_handling, failure_response
from sigil.protocol import Json
from sigil.registry import LocalRegistry
from sigil.storage.kv import keys

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from functions.live_turns import LiveTurns
    from functions.page.frame import PageDeps
    from functions.page.live import LiveChats
    from sigil.cli.doctor import Finding

CHAT_BYTES = 1 << 20
WAIT_SECONDS = 25.0
DRAIN_SECONDS = 30.0
CONTROL_WORKERS = 2
"""There are two, so that a control event's answer that is slow to leave delays no `/stop`."""
LOOK_SECONDS = 0.25
RENEWALS = 4
"""A lease is renewed so many times before it would end, so that a short outage loses none."""
STREAM = "text/event-stream"
STREAM_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
"""What comes as a stream is kept nowhere, and no proxy waits for the rest of it."""
PAGE = 50
"""Unread replies that a page has, unless the client says another number."""
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_UNREAD = re.compile(r"[0-9]{15,20}", re.ASCII)
_LIMIT = re.compile(r"[0-9]{1,3}", re.ASCII)
_NUMBERS = itertools.count()


class QueueWorkers:
    """The threads that work on the queue.

    Two of them take control events only, and those for background work take nothing else: whatever
    waits in its lane, all others are there for chats.

    `stop` lets running turns end and starts no new ones.
    """

    def __init__(self, runtime: AgentRuntime) -> None:
        self._runtime = runtime = replace(runtime, turns=TurnLock())
        self._stopping = threading.Event()
        self._idle = threading.Event()
        counts: list[tuple[str, Queue | None, int]] = [
            ("control", runtime.control, CONTROL_WORKERS),
            ("worker", runtime.queue, runtime.settings.workers),
            ("background", runtime.work, runtime.settings.background_workers),
        ]
        lanes = [(name, side, count) for name, side, count in counts if side is not None]
        self._sides = [side for _, side, _ in lanes]
        self._workers = [
            threading.Thread(
                target=self._run_worker,
                args=(replace(runtime, queue=side),),
                name=f"{name}-{number}",
                daemon=True,
            )
            for name, side, count in lanes
            for number in range(count)
        ]
        self._timers = [
            threading.Thread(target=self._run_scheduler, name="scheduler", daemon=True),
            threading.Thread(target=self._renew_leases, name="lease-renewal", daemon=True),
        ]

    def start(self) -> None:
        """Start every thread."""
        for thread in (*self._workers, *self._timers):
            thread.start()

    def stop(self, seconds: float = DRAIN_SECONDS) -> bool:
        """Stop the workers; False when a turn was still running after `seconds`."""
        self._stopping.set()
        self._runtime.due.set()
        self._runtime.turns.close()
        end = time.monotonic() + seconds
        for thread in self._workers:
            thread.join(max(end - time.monotonic(), 0.0))
        self._idle.set()
        return not any(thread.is_alive() for thread in self._workers)

    def _run_scheduler(self) -> None:
        """Tick whenever something is due, and when the scheduler is woken."""
        runtime = self._runtime
        wait = LOOK_SECONDS  # what was due while nobody ran
        full = time.monotonic() + scheduler.TICK_SECONDS
        while True:
            runtime.due.wait(wait)
            runtime.due.clear()
            if self._stopping.is_set():
                return
            wait = scheduler.WAKE_SECONDS
            try:
                settings = runtime.settings
                tick: Callable[..., scheduler.Tick] = scheduler.wake
                if time.monotonic() >= full:
                    full = time.monotonic() + scheduler.TICK_SECONDS
                    tick = partial(
                        scheduler.tick,
                        zone=settings.timezone,
                        team_idle=settings.team_idle,
                        look=partial(scheduler.look_at_models, settings, runtime.stores.kv),
                    )
                ticked = tick(
                    runtime.stores,
                    runtime.queue,
                    settings.agent,
                    late_most=settings.catch_up_seconds,
                )
                wait = min(max(ticked.due - time.time(), LOOK_SECONDS), wait)
                runtime.inputs.tell_heartbeats(runtime.stores.kv, time.time())
            except SigilError as problem:
                log.note("unswept", code=problem.code)
            except Exception:  # noqa: BLE001  entry point: an unexpected error must not end the clock
                log.failure("unswept")

    def _renew_leases(self) -> None:
        """Renew the leases of this process until its last turn has ended."""
        while not self._idle.wait(self._runtime.settings.lease / RENEWALS):
            for side in self._sides:
                try:
                    side.renew()
                except SigilError as problem:
                    log.note("not renewed", code=problem.code)

    def _run_worker(self, runtime: AgentRuntime) -> None:
        while not self._stopping.is_set():
            try:
                self._process_next(runtime)
            except BackendError as problem:
                log.note("unread", code=problem.code, message=problem.message)
                self._stopping.wait(5.0)
            except Exception:  # noqa: BLE001  entry point: an unexpected error must not end the worker
                log.failure("unread")
                self._stopping.wait(1.0)

    def _process_next(self, runtime: AgentRuntime) -> None:
        """Process the next event.

        While a turn runs alone, none is taken: a crash would lose what this process held.
        """
        # a control worker runs no turns, and waits for none
        is_control = runtime.queue is self._runtime.control
        if not is_control and not runtime.turns.enter(LOOK_SECONDS):
            return
        try:
            delivery = runtime.queue.take(LOOK_SECONDS)
            if delivery:
                worker.process(delivery, runtime)
        finally:
            runtime.turns.leave()


def build_app(
    runtime: AgentRuntime,
    token: str,
    ready: Callable[[], None] = lambda: None,
    polled: Sequence[PolledBot] = (),
    listened: Sequence[ListenedBot] = (),
    *,
    has_page: bool = True,
    check: Callable[[], list[Finding]] | None = None,
) -> FastAPI:
    """Return the whole server as an ASGI app; `ready` is called once its workers run.

    `polled`: the bots whose updates it fetches; `listened`: those for which it listens. `has_page`:
    with the pages for a browser, of which one shows what `check` finds. Its `state.end_streams`
    lets the streams of turns end, for which a server that stops would wait.
    """
    from functions.live_turns import LiveTurns
    from functions.page.live import LiveChats

    live = LiveTurns()
    chats = LiveChats(live, runtime.stores.kv, runtime.app.root)
    runtime.replies.tell = chats.note_reply
    runtime = replace(runtime, live=chats)
    if runtime.settings.is_measured:
        # nothing of it is there where nobody wants it
        from functions.metrics.endpoint import watch_words

        runtime = replace(runtime, live=watch_words(chats, runtime.stores.kv))
    workers = QueueWorkers(runtime)
    receivers: list[Poller | SocketListener] = [
        *(Poller(bot, runtime) for bot in polled),
        *(SocketListener(bot, runtime) for bot in listened),
    ]

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        workers.start()
        for receiver in receivers:
            receiver.start()
        ready()
        yield
        await asyncio.gather(*(run_in_threadpool(receiver.stop) for receiver in receivers))
        if not await run_in_threadpool(workers.stop):
            log.note("a turn was still running; it goes on at the next start")

    server = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    server.state.end_streams = chats.close
    registry = runtime.app.registry
    local_registry = registry if isinstance(registry, LocalRegistry) else None
    gate = Authenticator(
        token,
        (lambda: local_registry.keys) if local_registry else None,
        runtime.settings.agent,
        runtime.settings.rate,
    )
    if local_registry:
        server.include_router(sigil_http.build_router(lambda: local_registry, gate))
    server.include_router(chat_routes(runtime, gate, live))
    if runtime.settings.is_measured:
        from functions.metrics import endpoint

        server.router.routes.extend(
            endpoint.build_routes(runtime.settings, runtime.app, runtime.queue, chats, gate)
        )
    turns = open_turns(runtime.app.sessions, runtime.settings, runtime.stores.kv)
    control = admin.AdminDeps(
        runtime.app, runtime.notifier, gate, runtime.agents, runtime.queue, turns
    )
    server.router.routes.extend(admin.build_routes(lambda: control))
    if has_page:
        server.router.routes.extend(open_page_routes(runtime, gate, turns, chats, check))
    hooks = open_hooks(runtime)
    ingress = Ingress(
        runtime.channels,
        runtime.queue,
        runtime.stores.kv,
        tell_closed=partial(alert_chat_closed, runtime=runtime),
        open_hooks=lambda: hooks,
    )
    server.router.routes.extend(webhook.build_routes(lambda: ingress))
    add_error_handling(server)
    return server


def open_page_routes(
    runtime: AgentRuntime,
    gate: Authenticator,
    turns: TurnsInProgress,
    live: LiveChats,
    check: Callable[[], list[Finding]] | None = None,
) -> list[BaseRoute]:
    """Return the routes of the pages for a browser. What they need is opened by the first one."""
    from functions.page.mount import build_routes

    @cache
    def open_deps() -> PageDeps:
        from functions.page.frame import PageDeps

        return PageDeps(
            app=runtime.app,
            settings=runtime.settings,
            kv=runtime.stores.kv,
            artifacts=runtime.stores.artifacts,
            notifier=runtime.notifier,
            gate=gate,
            agents=runtime.agents,
            queue=runtime.queue,
            turns=turns,
            replies=runtime.replies,
            put=runtime.queue.put,
            live=live,
            is_live=True,
            check=check,
        )

    return build_routes(open_deps)


def open_hooks(runtime: AgentRuntime) -> HookEndpoint:
    """Return the door of the hooks, which knows at once of people who may not talk any more."""
    app = runtime.app

    def may_work(event: Event) -> bool:
        return app.rules.may_work(app.people.find_role(event))

    hooks = Hooks(runtime.stores.kv, app.root)
    return HookEndpoint(hooks, runtime.queue.put, app.clock.now, may_work)


def chat_routes(runtime: AgentRuntime, gate: Authenticator, live: LiveTurns) -> APIRouter:
    """Return POST /chat and the routes that read answers; they need the admin token.

    A client that accepts a stream of events is told of the turn while it goes on.
    """
    routes = APIRouter()

    @routes.post("/chat")
    async def chat(request: Request) -> Response:
        try:
            require_admin(await admit_request(request, gate), "may chat")
            event = await _read_message(request, runtime)
        except (Refused, UsageError, BackendError) as problem:
            return failure_response(problem)
        if _accepts_stream(request):
            return await _stream_answer(runtime, live, event.session, event.id, event)
        try:
            answer = await run_in_threadpool(_enqueue_and_wait, runtime, event)
        except asyncio.CancelledError:
            # the server stops before the answer is there: the event is kept, and answered at the
            # next start
            return _make_answer({"waiting": True}, *_poll_names(event))
        return await _mark_read_when_sent(answer, event.session, event.id, request)

    @routes.get("/chat/{session}/{event}")
    async def poll(session: str, event: str, request: Request) -> Response:
        try:
            require_admin(await admit_request(request, gate), "may chat")
            key = _session_key(runtime, f"http:admin:{session}")
            reply = await run_in_threadpool(runtime.replies.get, key, f"http:{event}")
        except UsageError:  # no key is that long, so no such message can exist
            reply = None
        except (Refused, BackendError) as problem:
            return failure_response(problem)
        if reply and _accepts_stream(request):
            return await _stream_answer(runtime, live, f"http:admin:{session}", f"http:{event}")
        answer = _make_answer(reply, session, event)
        return await _mark_read_when_sent(answer, f"http:admin:{session}", f"http:{event}", request)

    @routes.get("/chat/{session}")
    async def list_unread(session: str, request: Request) -> Response:
        try:
            require_admin(await admit_request(request, gate), "may chat")
            after, limit = _parse_page(session, request.query_params)
            key = _session_key(runtime, f"http:admin:{session}")
            unread = runtime.replies.unread
            found = await run_in_threadpool(unread.list_from, key, after, limit + 1)
        except (Refused, UsageError, BackendError) as problem:
            return failure_response(problem)
        return JSONResponse(_make_page(found, after, limit))

    async def _mark_read_when_sent(
        answer: JSONResponse, session: str, event: str, request: Request
    ) -> Response:
        """Return the answer; its reply is read once it was sent to a client that is still there."""
        if answer.status_code == 200 and not await request.is_disconnected():
            key = _session_key(runtime, session)
            answer.background = BackgroundTask(_mark_read, runtime, key, event)
        return answer

    @routes.get("/chat/{session}/files/{id}")
    async def get_file(session: str, id: str, request: Request) -> Response:
        try:
            require_admin(await admit_request(request, gate), "may chat")
            body = await run_in_threadpool(_read_file, runtime, f"http:admin:{session}", id)
        except (Refused, UsageError, BackendError) as problem:
            return failure_response(problem)
        return file_response(id, body)

    return routes


def _accepts_stream(request: Request) -> bool:
    """Return whether a client accepts a stream of events."""
    kinds = request.headers.get("accept", "").lower().split(",")
    return any(kind.partition(";")[0].strip() == STREAM for kind in kinds)


async def _stream_answer(
    runtime: AgentRuntime, live: LiveTurns, session: str, event: str, begun: Event | None = None
) -> Response:
    """Return the stream of the turn that answers an event; where that is `begun` only now, it is
    put into the queue.
    """
    from functions.live_turns import stream_turn

    key = _session_key(runtime, session)
    waiting = _wait_at(session.rpartition(":")[2], event.partition(":")[2])

    def begin() -> None:
        if begun:
            runtime.replies.expect(key, event)
            runtime.queue.put(begun)

    def find_reply() -> dict[str, Json] | None:
        try:
            reply = runtime.replies.get(key, event)
        except BackendError:  # the event is durable all the same, and will be answered
            return waiting
        return waiting if reply and reply.get("waiting") else reply

    async def go_on(first: bytes) -> AsyncIterator[bytes]:
        yield first
        async for part in parts:
            yield part
            if part.startswith(b"event: reply"):  # it was sent
                await run_in_threadpool(_mark_read, runtime, key, event)

    parts = stream_turn(live, session, event, begin, find_reply)
    try:
        first = await anext(parts)
    except BackendError as problem:
        return webhook.retry_later_response(problem)
    return StreamingResponse(go_on(first), media_type=STREAM, headers=STREAM_HEADERS)


def _read_file(runtime: AgentRuntime, session: str, id: str) -> bytes:
    """Return a file of a reply in a chat, which the agent that answers there has kept, or the root
    before it was bound; `UsageError` ENOENT when there is none.
    """
    found = runtime.agents.find_current(session, runtime.app).app
    try:
        return read_kept_file(id, found.make_caller(session), found)
    except UsageError:
        if found.is_root:
            raise
        return read_kept_file(id, runtime.app.make_caller(session), found)


def _mark_read(runtime: AgentRuntime, session: str, event: str) -> None:
    """Note that a reply was sent; when that fails it comes again among the unread ones."""
    with suppress(BackendError):
        runtime.replies.mark_read(session, event)


def _parse_page(session: str, query: Mapping[str, str]) -> tuple[str, int]:
    """Return the id behind which a page of unread replies begins, and how many it has."""
    after = query.get("after", "")
    limit = query.get("limit", str(PAGE))
    if not _SESSION.fullmatch(session):
        problem = "session is a name of letters, digits, dot, hyphen and underscore"
    elif after and not _UNREAD.fullmatch(after):
        problem = "after is the id of a reply, such as `next` of the page before"
    elif not _LIMIT.fullmatch(limit) or not 1 <= int(limit) <= MOST:
        problem = f"limit is a number from 1 to {MOST}"
    else:
        return after, int(limit)
    raise UsageError("EINVAL", problem, source="chat")


def _make_page(
    found: Sequence[tuple[str, UnreadReply]], after: str, limit: int
) -> dict[str, object]:
    """Return a page of unread replies; one more than `limit` says that there is another page."""
    page = found[:limit]
    return {
        "replies": [
            {"id": name, "at": unread.at, "event": unread.event, **unread.reply}
            for name, unread in page
        ],
        "next": page[-1][0] if page else after,
        "more": len(found) > limit,
        "lost": sum(unread.lost for _, unread in page),
    }


async def _read_message(request: Request, runtime: AgentRuntime) -> Event:
    """Return the event of a message, whose files are those of its chat."""
    if not request.headers.get("content-type", "").lower().startswith("multipart/"):
        body = strict_json.loads(await read_body(request, CHAT_BYTES))
        return _parse_chat_message(body, runtime.settings)
    # most messages have no files
    from functions.chat_form import read_form
    from functions.message_files import attach_files

    fields, files = await read_form(request)
    event = _parse_chat_message({**fields}, runtime.settings, needs_text=not files)
    app = (await run_in_threadpool(runtime.agents.find_route, event, runtime.app)).app
    return await run_in_threadpool(attach_files, event, files, app) if files else event


def _parse_chat_message(body: Json, settings: Settings, *, needs_text: bool = True) -> Event:
    name: Json = None
    text: Json = None
    if isinstance(body, dict):
        name = body.get("session", "main")
        text = body.get("text", None if needs_text else "")
    if not isinstance(name, str) or not _SESSION.fullmatch(name):
        raise UsageError(
            "EINVAL",
            "session is a name of letters, digits, dot, hyphen and underscore",
            source="chat",
        )
    has_text = isinstance(text, str) and (bool(text.strip()) or not needs_text)
    if not isinstance(text, str) or not has_text or len(text) > TEXT_LIMIT:
        raise UsageError(
            "EINVAL", f"text is a string of 1 to {TEXT_LIMIT:,} characters", source="chat"
        )
    now = time.time()
    return Event(
        id=f"http:{uuid.uuid4().hex}",
        kind="message",
        agent=settings.agent,
        session=f"http:admin:{name}",
        sender=Sender("http:admin", "admin"),
        text=text,
        at=now,
        order=order_of(now, next(_NUMBERS)),
        private=True,
        language=settings.language,
    )


def _session_key(runtime: AgentRuntime, session: str) -> str:
    return keys.session_of(runtime.settings.agent, session)


def _enqueue_and_wait(runtime: AgentRuntime, event: Event) -> JSONResponse:
    """Enqueue the event; answer with the reply, or with where to poll after `WAIT_SECONDS`."""
    key = _session_key(runtime, event.session)
    try:
        runtime.replies.expect(key, event.id)
        runtime.queue.put(event)
    except BackendError as problem:
        return webhook.retry_later_response(problem)
    reply: dict[str, Json] | None
    try:
        reply = runtime.replies.wait(key, event.id, WAIT_SECONDS)
    except BackendError:  # the event is durable all the same, and will be answered
        reply = {"waiting": True}
    return _make_answer(reply, *_poll_names(event))


def _poll_names(event: Event) -> tuple[str, str]:
    """Return the session and the event as the poll's path has them."""
    return event.session.rpartition(":")[2], event.id.partition(":")[2]


def _make_answer(reply: Mapping[str, Json] | None, session: str, event: str) -> JSONResponse:
    """Return a reply as the answer, or where to poll for one that is not there yet."""
    if reply is None:
        problem = UsageError("ENOENT", "no such message, or its answer is too old", source="chat")
        return webhook.error_response(404, problem)
    if reply.get("waiting"):
        return JSONResponse(_wait_at(session, event), 202)
    return JSONResponse(reply)


def _wait_at(session: str, event: str) -> dict[str, Json]:
    """Return what stands for an answer that is not there yet, with the path that reads it then."""
    return {"waiting": True, "poll": f"/chat/{session}/{event}"}
