"""The owner's switch over HTTP: halt, unlock and status; all need the admin token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
        method: str, path: str, act: Callable[[AgentRuntime, str], dict[str, Any]]
    ) -> None:
        async def endpoint(request: Request) -> Response:
            try:
                require_admin(await sigil_http.admit_request(request, gate), "does this")
                if method == "POST":
                    session = await _read_session(request)
                else:
                    session = request.query_params.get("session", "")
                _require_session(session)
                return json_response(await run_in_threadpool(act, runtime, session))
            except SigilError as problem:
                return sigil_http.failure_response(problem)

        routes.add_api_route(path, endpoint, methods=[method])

    add_route("POST", "/halt", _halt)
    add_route("POST", "/unlock", _unlock)
    add_route("GET", "/status", _report_status)
    return routes


async def _read_session(request: Request) -> Any:
    """Return the body's `session` (empty without one), or None for any other body."""
    text = await read_body(request, webhook.BODY_BYTES)
    body = strict_json.loads(text) if text.strip() else {}
    if not isinstance(body, dict) or not set(body) <= {"session"}:
        return None
    return body.get("session", "")


def _require_session(session: Any) -> None:
    if (
        not isinstance(session, str)
        or len(session) > control.SESSION_CHARACTERS
        or (session and ":" not in session)
    ):
        raise UsageError(
            "EINVAL", "session is PLATFORM:CHAT, or left out for every chat", source="http"
        )


def _session_key(app: App, session: str) -> str:
    return keys.session_of(app.name, session) if session else ""


def _halt(runtime: AgentRuntime, session: str) -> dict[str, Any]:
    app = runtime.app
    control.halt(_session_key(app, session), app, BY)
    send_alert(halt_alert(app.name, session, app.clock.now()), runtime.notifier)
    return {"halted": session or "*"}


def _unlock(runtime: AgentRuntime, session: str) -> dict[str, Any]:
    control.unlock(_session_key(runtime.app, session), runtime.app, BY)
    return {"unlocked": session or "*"}


def _report_status(runtime: AgentRuntime, session: str) -> dict[str, Any]:
    app = runtime.app
    name = session or "http:admin:main"
    key = _session_key(app, name)
    report = status.make_report(key, app.sessions.open(key).document, app)
    return {"agent": app.name, "session": name, **row(report)}
