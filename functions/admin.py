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
from functions.agent.agents.directory import AbsentAgent, AgentDirectory
from functions.agent.agents.record import is_name, join_name
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


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a request is about: a chat, an agent below the root by its short name, or the root
    (neither).
    """

    session: str = ""
    agent: str = ""


Act = Callable[[AdminDeps, Target], dict[str, object]]


def router(open_deps: Callable[[], AdminDeps]) -> APIRouter:
    """Return the routes POST /halt and /unlock with {"session"} or {"agent"} or neither, and GET
    /status?session= or ?agent=.

    `open_deps` is called by each request.
    """
    routes = APIRouter()

    def add_route(method: str, path: str, act: Act) -> None:
        async def endpoint(request: Request) -> Response:
            try:
                deps = await run_in_threadpool(open_deps)
                require_admin(await admit_request(request, deps.gate), "does this")
                target = await _read_target(request)
                return json_response(await run_in_threadpool(act, deps, target))
            except SigilError as problem:
                return failure_response(problem)

        # plain routes: see functions/webhook.py
        routes.add_route(path, endpoint, methods=[method])

    add_route("POST", "/halt", _halt_agent)
    add_route("POST", "/unlock", _unlock_agent)
    add_route("GET", "/status", _report_status)
    return routes


async def _read_target(request: Request) -> Target:
    """Return whom the request names; `UsageError` with EINVAL for a name that nobody can have."""
    fields: object
    if request.method in ("GET", "HEAD"):
        asked = request.query_params
        fields = {name: asked[name] for name in ("session", "agent") if name in asked}
    else:
        text = await read_body(request, BODY_BYTES)
        fields = strict_json.loads(text) if text.strip() else {}
    if not isinstance(fields, dict) or len(fields) > 1 or not set(fields) <= {"session", "agent"}:
        raise UsageError("EINVAL", "name a session, or an agent, or neither", source="http")
    session = fields.get("session", "")
    agent = fields.get("agent", "")
    if (
        not isinstance(session, str)
        or len(session) > control.SESSION_CHARACTERS
        or (session and ":" not in session)
    ):
        raise UsageError(
            "EINVAL", "session is PLATFORM:CHAT, or left out for every chat", source="http"
        )
    if not isinstance(agent, str) or ("agent" in fields and not is_name(agent)):
        raise UsageError("EINVAL", "agent is the short name of an agent", source="http")
    return Target(session, agent)


def _halt_agent(deps: AdminDeps, target: Target) -> dict[str, object]:
    app = _find_agent(deps, target)
    control.halt(_session_key(app, target.session), app, BY)
    send_alert(halt_alert(app.name, target.session, app.clock.now()), deps.notifier)
    return {"halted": target.session or target.agent or "*"}


def _unlock_agent(deps: AdminDeps, target: Target) -> dict[str, object]:
    app = _find_agent(deps, target)
    control.unlock(_session_key(app, target.session), app, BY)
    return {"unlocked": target.session or target.agent or "*"}


def _report_status(deps: AdminDeps, target: Target) -> dict[str, object]:
    app = _find_agent(deps, target)
    name = target.session or ("own:main" if target.agent else "http:admin:main")
    key = _session_key(app, name)
    report = status.make_report(key, app.sessions.open(key).document, app)
    return {"agent": app.name, "session": name, **row(report)}


def _find_agent(deps: AdminDeps, target: Target) -> App:
    """Return the agent that the request names, or that answers in its chat; else the root.

    `UsageError` ENOENT where the agent works on nothing.
    """
    if target.agent:
        found = deps.agents.find(join_name(deps.app.name, target.agent), deps.app)
        if isinstance(found, AbsentAgent):
            raise UsageError("ENOENT", found.reason, source="http")
        return found
    if target.session:
        return deps.agents.find_current(target.session, deps.app).app
    return deps.app


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
