"""The owner's switch over HTTP: halt, unlock and status; all need the admin token.

It is a function of its own, and a part of `uncaged serve`. It uses neither model nor registry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from mangum import Mangum

from functions import log, wiring
from functions.agent.agents.directory import AgentDirectory
from functions.agent.app import App
from functions.agent.commands import control, status
from functions.alerts import Notifier, halt_alert, send_alert
from functions.settings import Settings
from sigil import strict_json
from sigil.access.authentication import Authenticator, require_admin
from sigil.errors import BackendError, SigilError, UsageError
from sigil.http.body import read_body
from sigil.http.credentials import admit_request
from sigil.http.response import add_error_handling, failure_response, json_response
from sigil.settings import find_unknown_variables
from sigil.storage.kv import keys
from sigil.storage.stored import row
from sigil.wiring import admin_token, open_stores

BY = "http:admin"
BODY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class AdminDeps:
    """The agent to switch, those below it, who hears of a halt, and who checks the token."""

    app: App
    notifier: Notifier
    gate: Authenticator
    agents: AgentDirectory


Act = Callable[[AdminDeps, str], dict[str, object]]


def router(open_deps: Callable[[], AdminDeps]) -> APIRouter:
    """Return the routes POST /halt and /unlock with {"session"?}, GET /status?session=.

    `open_deps` is called by each request.
    """
    routes = APIRouter()

    def add_route(method: str, path: str, act: Act) -> None:
        async def endpoint(request: Request) -> Response:
            try:
                deps = await run_in_threadpool(open_deps)
                require_admin(await admit_request(request, deps.gate), "does this")
                session = await _read_session(request)
                return json_response(await run_in_threadpool(act, deps, session))
            except SigilError as problem:
                return failure_response(problem)

        # plain routes: see functions/webhook.py
        routes.add_route(path, endpoint, methods=[method])

    add_route("POST", "/halt", _halt_agent)
    add_route("POST", "/unlock", _unlock_agent)
    add_route("GET", "/status", _report_status)
    return routes


async def _read_session(request: Request) -> str:
    """Return the session that the request names, empty when it names none; `UsageError` with EINVAL
    for a name that no session can have.
    """
    session: object
    if request.method in ("GET", "HEAD"):
        session = request.query_params.get("session", "")
    else:
        text = await read_body(request, BODY_BYTES)
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


def _halt_agent(deps: AdminDeps, session: str) -> dict[str, object]:
    app = _find_agent(deps, session)
    control.halt(_session_key(app, session), app, BY)
    send_alert(halt_alert(app.name, session, app.clock.now()), deps.notifier)
    return {"halted": session or "*"}


def _unlock_agent(deps: AdminDeps, session: str) -> dict[str, object]:
    app = _find_agent(deps, session)
    control.unlock(_session_key(app, session), app, BY)
    return {"unlocked": session or "*"}


def _report_status(deps: AdminDeps, session: str) -> dict[str, object]:
    app = _find_agent(deps, session)
    name = session or "http:admin:main"
    key = _session_key(app, name)
    report = status.make_report(key, app.sessions.open(key).document, app)
    return {"agent": app.name, "session": name, **row(report)}


def _find_agent(deps: AdminDeps, session: str) -> App:
    """Return the agent that answers in a chat; for every chat that is the root."""
    return deps.agents.find_current(session, deps.app).app if session else deps.app


def _session_key(app: App, session: str) -> str:
    return keys.session_of(app.name, session) if session else ""


@lru_cache(maxsize=1)
def _open_deps() -> AdminDeps:
    """Open the agent of the settings. Without a token every request is refused."""
    log.start()
    try:
        settings = Settings.read()
    except UsageError as problem:  # not for strangers: no token was checked yet
        log.note("unusable settings", code=problem.code, message=problem.message)
        raise BackendError("ESETTING", "the settings cannot be used; the log says why") from None
    for unknown in find_unknown_variables(Settings):
        log.note("no setting", name=unknown.name, meant=unknown.meant)
    try:
        token = admin_token(settings)
    except UsageError:
        token = ""
    stores = open_stores(settings)
    return AdminDeps(
        wiring.open_control_app(settings, stores),
        wiring.open_notifier(settings),
        Authenticator(token, None, settings.agent, settings.rate),
        wiring.open_directory(wiring.AgentMaker(settings, stores)),
    )


app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
app.include_router(router(_open_deps))
add_error_handling(app)
handler = Mangum(app, lifespan="off")
