"""The owner's switch over HTTP: halt, unlock and status; all need the admin token."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from functions import webhook
from functions.agent.app import App
from functions.agent.commands import control, status
from functions.alerts import halt_alert, send_alert
from functions.wiring import AgentRuntime
from sigil import strict_json
from sigil.access.authentication import Authenticator, require_admin
from sigil.errors import SigilError, UsageError
from sigil.http import app as sigil_http
from sigil.http.body import read_body
from sigil.http.request import json_response
from sigil.storage.kv import keys
from sigil.storage.stored import row

BY = "http:admin"


def router(runtime: AgentRuntime, gate: Authenticator) -> APIRouter:
    """Return the routes POST /halt and /unlock with {"session"?}, GET /status?session=."""
    routes = APIRouter()

    def add_route(
        method: str, path: str, act: Callable[[AgentRuntime, str], dict[str, object]]
    ) -> None:
        async def endpoint(request: Request) -> Response:
            try:
                require_admin(await sigil_http.admit_request(request, gate), "does this")
                session = await _read_session(request)
                return json_response(await run_in_threadpool(act, runtime, session))
            except SigilError as problem:
                return sigil_http.failure_response(problem)

        routes.add_api_route(path, endpoint, methods=[method])

    add_route("POST", "/halt", _halt_agent)
    add_route("POST", "/unlock", _unlock_agent)
    add_route("GET", "/status", _report_status)
    return routes


async def _read_session(request: Request) -> str:
    """Return the session that the request names, empty when it names none; `UsageError` with EINVAL
    for a name that no session can have.
    """
    session: object
    if request.method == "GET":
        session = request.query_params.get("session", "")
    else:
        text = await read_body(request, webhook.BODY_BYTES)
        body = strict_json.loads(text) if text.strip() else {}
        session = None
        if isinstance(body, dict) and set(body) <= {"session"}:
            session = body.get("session", "")
    if (
        not isinstance(session, str)
        or len(session) > control.SESSION_CHARACTERS
        or (session and ":" not in session)
    ):
        raise UsageError(
            "EINVAL", "session is PLATFORM:CHAT, or left out for every chat", source="http"
        )
    return session


def _halt_agent(runtime: AgentRuntime, session: str) -> dict[str, object]:
    app = runtime.app
    control.halt(_session_key(app, session), app, BY)
    send_alert(halt_alert(app.name, session, app.clock.now()), runtime.notifier)
    return {"halted": session or "*"}


def _unlock_agent(runtime: AgentRuntime, session: str) -> dict[str, object]:
    control.unlock(_session_key(runtime.app, session), runtime.app, BY)
    return {"unlocked": session or "*"}


def _report_status(runtime: AgentRuntime, session: str) -> dict[str, object]:
    app = runtime.app
    name = session or "http:admin:main"
    key = _session_key(app, name)
    report = status.make_report(key, app.sessions.open(key).document, app)
    return {"agent": app.name, "session": name, **row(report)}


def _session_key(app: App, session: str) -> str:
    return keys.session_of(app.name, session) if session else ""
