"""The person's own switch over HTTP: halt, unlock and status, for the admin token alone."""

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
from sigil.access.authentication import Gate, demand_admin
from sigil.errors import SigilError, UsageError
from sigil.http import app as sigil_http
from sigil.http.body import read_body
from sigil.http.request import answer
from sigil.storage.kv import keys
from sigil.storage.stored import row

BY = "http:admin"


def router(runtime: AgentRuntime, gate: Gate) -> APIRouter:
    """POST /halt and /unlock with {"session"?}, GET /status?session=."""
    routes = APIRouter()

    def route(method: str, path: str, act: Callable[[AgentRuntime, str], dict[str, Any]]) -> None:
        async def door(request: Request) -> Response:
            try:
                demand_admin(await sigil_http.admit(request, gate), "does this")
                session = (
                    await _asked(request)
                    if method == "POST"
                    else request.query_params.get("session", "")
                )
                return answer(await run_in_threadpool(act, runtime, _session(session)))
            except SigilError as problem:
                return sigil_http.failure(problem)

        routes.add_api_route(path, door, methods=[method])

    route("POST", "/halt", _halt)
    route("POST", "/unlock", _unlock)
    route("GET", "/status", _status)
    return routes


async def _asked(request: Request) -> Any:
    text = await read_body(request, webhook.BODY_BYTES)
    body = strict_json.loads(text) if text.strip() else {}
    return body.get("session", "") if isinstance(body, dict) and set(body) <= {"session"} else None


def _session(session: Any) -> str:
    if (
        not isinstance(session, str)
        or len(session) > control.SESSION_CHARACTERS
        or (session and ":" not in session)
    ):
        raise UsageError(
            "EINVAL", "session is PLATFORM:CHAT, or left out for every chat", source="http"
        )
    return session


def _key(app: App, session: str) -> str:
    return keys.session_of(app.name, session) if session else ""


def _halt(runtime: AgentRuntime, session: str) -> dict[str, Any]:
    app = runtime.app
    control.halt(_key(app, session), app, BY)
    send_alert(halt_alert(app.name, session, app.clock.now()), runtime.notifier)
    return {"halted": session or "*"}


def _unlock(runtime: AgentRuntime, session: str) -> dict[str, Any]:
    control.unlock(_key(runtime.app, session), runtime.app, BY)
    return {"unlocked": session or "*"}


def _status(runtime: AgentRuntime, session: str) -> dict[str, Any]:
    app, name = runtime.app, session or "http:admin:main"
    key = _key(app, name)
    return {
        "agent": app.name,
        "session": name,
        **row(status.report(key, app.sessions.open(key).document, app)),
    }
