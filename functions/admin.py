"""The owner's door over HTTP: halt, unlock, status, agents, schedules, documents, skills, files,
the board, sessions, runs and the ledger. All of it needs the admin token. The function has the
pages for a browser as well, which people sign in to.

It is a function of its own, and a part of `uncaged serve`. It uses neither model nor registry.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

import orjson
from mangum import Mangum
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from functions import log, wiring
from functions.agent import approvals
from functions.agent.agent_directory import AbsentAgent, AgentDirectory
from functions.agent.agents.record import (
    AgentRecord,
    fingerprint_record,
    is_name,
    join_name,
    read_agent,
    scan_agents,
)
from functions.agent.app import App
from functions.agent.commands import control, status
from functions.agent.growth.undoing import roll_back
from functions.agent.management import (
    agents,
    board,
    files,
    knowledge,
    ledger,
    runs,
    sessions,
    skills,
    team,
    wakeups,
)
from functions.agent.management.files import FileEditor
from functions.agent.policy.document import describe_policy, open_versions
from functions.agent.policy.proposals import Proposal
from functions.agent.runs.progress import find_progress
from functions.agent.team.board_editor import BoardEditor, Edited
from functions.agent.team.task import TaskConflict
from functions.agent.workspace.file import FileConflict
from functions.agent.workspace.files import FILE_BYTES
from functions.agent.workspace.path import parse_path
from functions.agent.workspace.scope import FileScopes, find_scopes_of_agent, scan_scopes
from functions.agent_data import AgentData
from functions.alerts import Notifier, halt_alert, send_alert
from functions.events import Event
from functions.queues.base import Queue
from functions.settings import Settings
from functions.texts.en import TEXTS
from functions.turns_in_progress import TurnsInProgress, open_turns, stop_turn
from sigil import strict_json
from sigil.access.authentication import Authenticator, require_admin
from sigil.errors import BackendError, SigilError, UsageError, one_line
from sigil.http.body import read_body, read_checked_body, refuse_claimed_length
from sigil.http.credentials import admit_request
from sigil.http.response import SEALED, add_error_handling, failure_response, json_response
from sigil.protocol import Json
from sigil.settings import find_unknown_variables
from sigil.storage.kv import keys
from sigil.storage.stored import row
from sigil.wiring import Stores, admin_token, open_stores

if TYPE_CHECKING:
    from functions.file_links import FileLinks
    from sigil.access.tokens import Tokens

BY = "http:admin"
BODY_BYTES = 1 << 20
ANSWER_BYTES = 5_500_000
"""Lambda takes answers of 6 MB, as JSON, in which a file is longer by a third."""
FORM_FILES_BYTES = 4_000_000
"""The files of a form on AWS together: what Lambda is given has 6 MB as well."""
PURGE_SECONDS = 5.0
"""A purge waits so long for a turn of the agent that is still at work."""


@dataclass(frozen=True, slots=True)
class AdminDeps:
    """The agent to switch, those below it, who hears of a halt, and who checks the token; `queue`
    takes the runs that are asked for, and `turns` are those in progress.
    """

    app: App
    notifier: Notifier
    gate: Authenticator
    agents: AgentDirectory
    queue: Queue
    turns: TurnsInProgress


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a request is about: a chat, an agent below the root by its short name, or the root
    (neither).
    """

    session: str = ""
    agent: str = ""


Act = Callable[[AdminDeps, Target], dict[str, object]]


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """A request about schedules or documents: the agent whose they are, the id in its path, its
    parameters and its body, and the name that makes its repeats the same request.
    """

    app: App
    queue: Queue
    id: str
    query: Mapping[str, str]
    fields: Mapping[str, Json]
    name: str


Answer = Callable[[AgentRequest], Response]


@dataclass(frozen=True, slots=True)
class FileRequest:
    """A request about one file of an agent, by its path, with its parameters, its headers and its
    body.
    """

    files: FileEditor
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


AnswerFile = Callable[[FileRequest], Response]


@dataclass(frozen=True, slots=True)
class BoardRequest:
    """A request about the board of the root, and about one task of it, by its number; 0 for none.

    `name` makes its repeats the same request.
    """

    deps: AdminDeps
    number: int
    query: Mapping[str, str]
    headers: Mapping[str, str]
    fields: Mapping[str, Json]
    name: str

    @property
    def editor(self) -> BoardEditor:
        """Return the board as the owner changes it."""
        return board.open_editor(self.deps.app, BY, self.name)


AnswerBoard = Callable[[BoardRequest], Response]
Decide = Callable[[App, str, str], tuple[Proposal, Event | None]]
"""Approves, denies or rolls back a proposal by its id, and returns it with what follows."""
PLAN_ANSWERS: Final[Mapping[Decide, bool]] = {approvals.approve: True, approvals.deny: False}
"""Whether a decision approves the plan of a teammate."""


def build_routes(open_deps: Callable[[], AdminDeps]) -> list[Route]:
    """Return the routes POST /halt and /unlock with {"session"} or {"agent"} or neither, GET
    /status?session= or ?agent=, those of schedules under /wakeups, of documents under /kb, of
    skills under /skills, of files under /files/{agent} and of tasks under /board/{name}, GET /runs
    and /runs/{id}, POST /runs/{id}/stop, POST /people/{verb}, and GET /people, /sessions, /usage,
    /ledger and /team.

    `open_deps` is called by each request.
    """
    routes: list[Route] = []

    def add_route(method: str, path: str, act: Act) -> None:
        async def endpoint(request: Request) -> Response:
            try:
                deps = await run_in_threadpool(open_deps)
                require_admin(await admit_request(request, deps.gate), "does this")
                target = await _read_target(request)
                return json_response(await run_in_threadpool(act, deps, target))
            except SigilError as problem:
                return failure_response(problem)

        routes.append(Route(path, endpoint, methods=[method]))

    def add_agent_route(method: str, path: str, answer: Answer) -> None:
        async def endpoint(request: Request) -> Response:
            try:
                deps = await run_in_threadpool(open_deps)
                require_admin(await admit_request(request, deps.gate), "does this")
                text = b""
                if method in ("POST", "PATCH", "PUT"):
                    text = await read_checked_body(request, BODY_BYTES)
                return await run_in_threadpool(_answer_for_agent, deps, request, text, answer)
            except SigilError as problem:
                return failure_response(problem)

        routes.append(Route(path, endpoint, methods=[method]))

    def add_reading_route(path: str, read: Callable[[AdminDeps, Request], object]) -> None:
        async def endpoint(request: Request) -> Response:
            try:
                deps = await run_in_threadpool(open_deps)
                require_admin(await admit_request(request, deps.gate), "does this")
                return json_response(await run_in_threadpool(read, deps, request))
            except SigilError as problem:
                return failure_response(problem)

        routes.append(Route(path, endpoint, methods=["GET"]))

    def add_skill_route(
        method: str, path: str, answer: Callable[[App, str, bytes], object]
    ) -> None:
        async def endpoint(request: Request) -> Response:
            try:
                deps = await run_in_threadpool(open_deps)
                require_admin(await admit_request(request, deps.gate), "does this")
                text = b""
                if method in ("PUT", "PATCH"):
                    text = await read_checked_body(request, BODY_BYTES)
                return json_response(
                    await run_in_threadpool(_answer_skills, deps, request, text, answer)
                )
            except SigilError as problem:
                return failure_response(problem)

        routes.append(Route(path, endpoint, methods=[method]))

    shared: list[FileLinks] = []  # it reads its key once

    async def share_file(request: Request) -> Response:
        # whoever has the address may read the file: nobody signs in
        from functions.file_links import FileLinks

        try:
            app = (await run_in_threadpool(open_deps)).app
            if not shared:
                shared.append(FileLinks(app.kv, app.artifacts, app.clock.now))
            token, name = request.path_params["token"], request.path_params["name"]
            file = await run_in_threadpool(shared[0].read, token, name)
        except SigilError as problem:
            return failure_response(problem)
        headers = {**SEALED, "Content-Disposition": file.disposition}
        return Response(file.body, media_type=file.type, headers=headers)

    routes.append(Route("/shared-files/{token}/{name}", share_file, methods=["GET"]))

    def add_file_route(method: str, answer: AnswerFile) -> None:
        async def endpoint(request: Request) -> Response:
            try:
                deps = await run_in_threadpool(open_deps)
                require_admin(await admit_request(request, deps.gate), "does this")
                body = b""
                if method == "PUT":
                    refuse_claimed_length(request, FILE_BYTES)
                    body = await read_body(request, FILE_BYTES)
                return await run_in_threadpool(_answer_file, deps, request, body, answer)
            except SigilError as problem:
                return failure_response(problem)

        routes.append(Route("/files/{agent}/{path:path}", endpoint, methods=[method]))

    def add_board_route(method: str, path: str, answer: AnswerBoard) -> None:
        async def endpoint(request: Request) -> Response:
            try:
                deps = await run_in_threadpool(open_deps)
                require_admin(await admit_request(request, deps.gate), "does this")
                text = b""
                if method in ("POST", "PATCH"):
                    text = await read_checked_body(request, BODY_BYTES)
                return await run_in_threadpool(_answer_board, deps, request, text, answer)
            except SigilError as problem:
                return failure_response(problem)

        routes.append(Route(path, endpoint, methods=[method]))

    def add_deciding_route(path: str, decide: Decide) -> None:
        async def endpoint(request: Request) -> Response:
            try:
                deps = await run_in_threadpool(open_deps)
                require_admin(await admit_request(request, deps.gate), "does this")
                id = str(request.path_params["id"])
                body = await read_body(request, BODY_BYTES)
                plan = await run_in_threadpool(team.find_plan, deps.app, id)
                if plan and decide in PLAN_ANSWERS:
                    approve = PLAN_ANSWERS[decide]
                    answer = partial(_answer_plan, deps, id, body, approve=approve)
                    return json_response(await run_in_threadpool(answer))
                return json_response(await run_in_threadpool(_decide_proposal, deps, id, decide))
            except SigilError as problem:
                return failure_response(problem)

        routes.append(Route(path, endpoint, methods=["POST"]))

    def add_lifecycle_route(
        method: str, path: str, answer: Callable[[AdminDeps, Request, bytes], Response]
    ) -> None:
        async def endpoint(request: Request) -> Response:
            try:
                deps = await run_in_threadpool(open_deps)
                require_admin(await admit_request(request, deps.gate), "does this")
                text = b""
                if method == "POST":
                    text = await read_checked_body(request, BODY_BYTES)
                return await run_in_threadpool(answer, deps, request, text)
            except SigilError as problem:
                return failure_response(problem)

        routes.append(Route(path, endpoint, methods=[method]))

    async def stop_run(request: Request) -> Response:
        try:
            deps = await run_in_threadpool(open_deps)
            require_admin(await admit_request(request, deps.gate), "does this")
            if await read_body(request, BODY_BYTES):
                raise UsageError("EINVAL", "a stop takes no fields", source="http")
            id, _, verb = str(request.path_params["id"]).rpartition("/")
            if verb != "stop":
                raise UsageError("ENOENT", "a run is stopped at /runs/ID/stop", source="http")
            return json_response(await run_in_threadpool(_stop_run, deps, id), 202)
        except SigilError as problem:
            return failure_response(problem)

    async def act_on_people(request: Request) -> Response:
        try:
            deps = await run_in_threadpool(open_deps)
            require_admin(await admit_request(request, deps.gate), "does this")
            text = await read_checked_body(request, BODY_BYTES)
            return json_response(await run_in_threadpool(_change_people, deps, request, text))
        except SigilError as problem:
            return failure_response(problem)

    routes.append(Route("/people/{verb}", act_on_people, methods=["POST"]))
    # an API of AWS takes nothing behind an id that may have slashes
    routes.append(Route("/runs/{id:path}", stop_run, methods=["POST"]))
    add_agent_route("GET", "/wakeups", _list_wakeups)
    add_agent_route("POST", "/wakeups", _make_wakeup)
    add_agent_route("GET", "/wakeups/{id}", _show_wakeup)
    add_agent_route("PATCH", "/wakeups/{id}", _change_wakeup)
    add_agent_route("DELETE", "/wakeups/{id}", _drop_wakeup)
    add_agent_route("POST", "/wakeups/{id}/run", _run_wakeup)
    add_agent_route("GET", "/wakeups/{id}/runs", _list_wakeup_runs)
    add_agent_route("GET", "/kb", _list_documents)
    add_agent_route("GET", "/kb/search", _search_documents)
    add_agent_route("POST", "/kb", _add_document)
    add_agent_route("GET", "/kb/{id}", _show_document)
    add_agent_route("PUT", "/kb/{id}", _change_document)
    add_agent_route("DELETE", "/kb/{id}", _drop_document)
    add_skill_route("GET", "/skills", _list_skills)
    add_skill_route("GET", "/skills/{name}", _show_skill)
    add_skill_route("PUT", "/skills/{name}", _write_skill)
    add_skill_route("PATCH", "/skills/{name}", _pin_skill)
    add_skill_route("DELETE", "/skills/{name}", _remove_skill)
    add_reading_route("/runs", _list_runs)
    add_reading_route("/runs/{id:path}", _show_run)
    add_reading_route("/sessions", _list_sessions)
    add_reading_route("/usage", _list_usage)
    add_reading_route("/ledger", _list_entries)
    add_reading_route("/team", _show_team)
    add_reading_route("/people", _list_people)
    add_reading_route("/policy/{agent}", _show_policy)
    add_reading_route("/proposals", _list_proposals)
    add_deciding_route("/proposals/{id}/approve", approvals.approve)
    add_deciding_route("/proposals/{id}/deny", approvals.deny)
    add_deciding_route("/proposals/{id}/rollback", roll_back)
    add_reading_route("/files/{agent}", _list_files)
    add_file_route("GET", _send_file)
    add_file_route("PUT", _write_file)
    add_file_route("DELETE", _remove_file)
    add_lifecycle_route("GET", "/agents", _list_agents)
    add_lifecycle_route("POST", "/agents", _make_agent)
    add_lifecycle_route("GET", "/agents/{name}", _show_agent)
    add_lifecycle_route("POST", "/agents/{name}/{step}", _take_step)
    add_board_route("GET", "/board/{name}/tasks", _list_tasks)
    add_board_route("POST", "/board/{name}/tasks", _add_task)
    add_board_route("GET", "/board/{name}/tasks/{id}", _show_task)
    add_board_route("PATCH", "/board/{name}/tasks/{id}", _change_task)
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
    from functions.agent.team.resuming import resume_team

    control.unlock(_session_key(app, target.session), app, BY)
    resumed = resume_team(app, by=BY, cause=f"unlock:{uuid.uuid4().hex[:12]}")
    for event in resumed.events:
        deps.queue.put(event)
    row: dict[str, object] = {"unlocked": target.session or target.agent or "*"}
    if resumed.names or resumed.waiting:
        row["woken"] = list(resumed.names)
        row["waiting"] = [head.id for head in resumed.waiting]
    return row


def _report_status(deps: AdminDeps, target: Target) -> dict[str, object]:
    app = _find_agent(deps, target)
    name = target.session or ("own:main" if target.agent else "http:admin:main")
    key = _session_key(app, name)
    opened = app.sessions.open(key)
    report = status.make_report(key, opened.document, app)
    found = status.find_next_wakeup(app.open_chat_schedules(name))
    coming = row(found.schedule) if found else None
    progress = find_progress(opened, app.clock.now(), app.kv, model=deps.turns.model)
    turn = progress.describe() if progress else None
    return {"agent": app.name, "session": name, **row(report), "next": coming, "turn": turn}


def _answer_for_agent(deps: AdminDeps, request: Request, text: bytes, answer: Answer) -> Response:
    """Answer a request about what the agent has that `?agent=` names, else the root."""
    query = dict(request.query_params)
    agent = query.pop("agent", None)
    if agent is not None and not is_name(agent):
        raise UsageError("EINVAL", "agent is the short name of an agent", source="http")
    fields = strict_json.read_object(text, source="http") if text.strip() else {}
    name = request.headers.get("idempotency-key", "") or uuid.uuid4().hex
    id = request.path_params.get("id", "")
    short = agent or ""
    app = _find_agent(deps, Target(agent="" if short == deps.app.name else short))
    return answer(AgentRequest(app, deps.queue, id, query, fields, name))


def _list_agents(deps: AdminDeps, request: Request, text: bytes) -> Response:
    """Answer with the agents below the root, whatever their state."""
    app = deps.app
    running = deps.turns.list_working()
    rows = [
        agents.make_row(app, name, record, running)
        for name, record in scan_agents(app.kv, app.root)
    ]
    return json_response({"items": rows})


def _make_agent(deps: AdminDeps, request: Request, text: bytes) -> Response:
    fields = strict_json.read_object(text, source="http")
    now = deps.app.clock.now()
    new = agents.read_new_agent(fields, BY, now, "http:admin:main")
    return json_response(agents.make_agent(deps.app, new, TEXTS), 201)


def _show_agent(deps: AdminDeps, request: Request, text: bytes) -> Response:
    name = str(request.path_params["name"])
    record = read_agent(deps.app.kv, deps.app.root, name)
    return _answer_agent(deps, name, record, steps=agents.list_steps(record.state))


def _answer_agent(
    deps: AdminDeps, name: str, record: AgentRecord, **more: Sequence[str]
) -> Response:
    row = agents.make_row(deps.app, name, record, deps.turns.list_working())
    return json_response({**row, **more}, 200, {"ETag": f'"{fingerprint_record(record)}"'})


def _take_step(deps: AdminDeps, request: Request, text: bytes) -> Response:
    """Bring an agent into another state; a purge answers when nothing is left, or with EBUSY while
    a turn is still at work.
    """
    name = str(request.path_params["name"])
    step = str(request.path_params["step"])
    known = agents.read_condition(request.headers)
    app = deps.app
    if text.strip():
        raise UsageError("EINVAL", "a step takes no fields", source="http")
    record = read_agent(app.kv, app.root, name)
    if step not in agents.STEPS:
        possible = ", ".join(agents.list_steps(record.state)) or "none"
        raise UsageError(
            "EINVAL",
            f"{one_line(step, 40)!r} is no step of an agent",
            source="http",
            suggestion=f"{name} is {record.state}; its steps are {possible}",
        )
    if step == "purge":
        data = AgentData(app.kv, app.artifacts, app.root, name, app.clock)
        removed = data.purge(deps.turns.is_working, PURGE_SECONDS, known=known)
        return json_response({"agent": name, "state": "purged", "removed": removed})
    record = agents.take_step(app, name, step, known)
    if step == agents.ENABLE:
        from functions.agent.team.resuming import wake_by_hand

        resumed = wake_by_hand(app, [name], by=BY, cause=f"http:{uuid.uuid4().hex[:12]}")
        for event in resumed.events:
            deps.queue.put(event)
    return _answer_agent(deps, name, record)


def _list_wakeups(asked: AgentRequest) -> Response:
    return json_response(wakeups.list_schedules(asked.app, wakeups.read_page(asked.query)))


def _make_wakeup(asked: AgentRequest) -> Response:
    made, is_new = wakeups.make_schedule(asked.app, asked.fields)
    return json_response(wakeups.make_row(made, asked.app), 201 if is_new else 200)


def _show_wakeup(asked: AgentRequest) -> Response:
    found = wakeups.find_schedule(asked.app.schedules, asked.id)
    return json_response(wakeups.make_row(found, asked.app))


def _change_wakeup(asked: AgentRequest) -> Response:
    changed = wakeups.change_schedule(asked.app, asked.id, asked.fields)
    return json_response(wakeups.make_row(changed, asked.app))


def _drop_wakeup(asked: AgentRequest) -> Response:
    wakeups.drop_schedule(asked.app, asked.id)
    return json_response({"dropped": asked.id})


def _run_wakeup(asked: AgentRequest) -> Response:
    """Answer once the run waits in the queue; the schedule's own times stay as they are."""
    if asked.fields:
        raise UsageError("EINVAL", "a run takes no fields", source="http")
    event = wakeups.make_run(asked.app, asked.id, asked.name)
    asked.queue.put(event)
    log.step("enqueued", event)
    return json_response({"event": event.id}, 202)


def _list_wakeup_runs(asked: AgentRequest) -> Response:
    return json_response(wakeups.list_runs(asked.app, asked.id))


def _answer_skills(
    deps: AdminDeps,
    request: Request,
    text: bytes,
    answer: Callable[[App, str, bytes], object],
) -> object:
    """Answer a request about the skills of the agent that `?agent=` names, else of the root."""
    agent, query = _read_agent(deps, request)
    if query:
        raise UsageError("EINVAL", "ask by agent alone", source="http")
    short = "" if agent == deps.app.name else agent.rpartition(".")[2]
    app = _find_agent(deps, Target(agent=short))
    return answer(app, str(request.path_params.get("name", "")), text)


def _list_skills(app: App, name: str, text: bytes) -> object:
    return {"items": skills.list_skills(app)}


def _show_skill(app: App, name: str, text: bytes) -> object:
    return skills.describe_skill(app, name)


def _write_skill(app: App, name: str, text: bytes) -> object:
    package = skills.read_package(strict_json.read_object(text, source="http"))
    if package.parse().name != name:
        message = f"the text is of another skill: {package.parse().name}"
        raise UsageError("EINVAL", message, source="http", suggestion="name it alike in both")
    return skills.describe_version(app.skills.write(package, by=BY))


def _pin_skill(app: App, name: str, text: bytes) -> object:
    fields = strict_json.read_object(text, source="http")
    pinned = fields.get("pinned")
    if not isinstance(pinned, bool) or len(fields) > 1:
        raise UsageError("EINVAL", "pinned is true or false", source="http")
    return {"name": name, "pinned": app.skills.pin(name, pinned=pinned).pinned}


def _remove_skill(app: App, name: str, text: bytes) -> object:
    return {"removed": name, "version": app.skills.remove(name, by=BY).version}


def _list_documents(asked: AgentRequest) -> Response:
    return json_response(knowledge.list_documents(asked.app, asked.query))


def _search_documents(asked: AgentRequest) -> Response:
    return json_response(knowledge.search(asked.app, asked.query))


def _add_document(asked: AgentRequest) -> Response:
    added, is_new = knowledge.add_document(asked.app, asked.fields)
    return json_response(added, 201 if is_new else 200)


def _show_document(asked: AgentRequest) -> Response:
    return json_response(knowledge.show_document(asked.app, asked.id, asked.query))


def _change_document(asked: AgentRequest) -> Response:
    changed = knowledge.change_document(asked.app, asked.id, asked.query, asked.fields)
    return json_response(changed)


def _drop_document(asked: AgentRequest) -> Response:
    return json_response(knowledge.drop_document(asked.app, asked.id, asked.query))


def _list_runs(deps: AdminDeps, request: Request) -> object:
    agent, query = _read_agent(deps, request)
    running = [] if query.get("after") else [each.run for each in deps.turns.list_all()]
    return runs.list_runs(deps.app, agent, query, running)


def _list_sessions(deps: AdminDeps, request: Request) -> object:
    agent, query = _read_agent(deps, request)
    return sessions.list_sessions(deps.app, agent if "agent" in request.query_params else "", query)


def _list_usage(deps: AdminDeps, request: Request) -> object:
    # few ask for it
    from functions.agent.management.usage import list_usage
    from functions.all_tools import compare_all_tools

    agent, query = _read_agent(deps, request)
    named = agent if "agent" in request.query_params else ""
    return list_usage(deps.app, named, query, compare_all_tools)


def _show_run(deps: AdminDeps, request: Request) -> object:
    query = dict(request.query_params)
    with_texts = query.pop("texts", "0")
    if query or with_texts not in ("0", "1"):
        raise UsageError("EINVAL", "texts is 1 or 0", source="http")
    id = str(request.path_params["id"])
    found = deps.turns.find(id)
    running = found.run if found else None
    return runs.show_run(deps.app, id, with_texts=with_texts == "1", running=running)


def _stop_run(deps: AdminDeps, id: str) -> dict[str, object]:
    """Tell a turn in progress to stop, or one of its requests; it ends soon, or at its next step.

    A turn that has ended meanwhile is not told.
    """
    found, request = stop_turn(deps.turns, id, BY)
    named = {"request": request} if request else {}
    return {"stopping": found.run.id, "event": found.run.event, **named, "state": found.run.outcome}


def _list_entries(deps: AdminDeps, request: Request) -> object:
    agent, query = _read_agent(deps, request)
    return ledger.list_entries(deps.app, agent, query)


def _show_team(deps: AdminDeps, request: Request) -> object:
    """Return who is on the team, and who works, idles or has shut down."""
    agent, query = _read_agent(deps, request)
    if query:
        raise UsageError("EINVAL", "/team has no parameter but agent", source="http")
    if agent != deps.app.name:
        raise UsageError(
            "ENOENT",
            f"{agent} has no team of its own",
            source="http",
            suggestion=f"the team is that of {deps.app.name}",
        )
    return team.describe_team(deps.app)


def _list_people(deps: AdminDeps, request: Request) -> object:
    # few ask for it
    from functions.agent.management.people import describe_people

    if request.query_params:
        raise UsageError("EINVAL", "/people has no parameter", source="http")
    return describe_people(deps.app)


def _change_people(deps: AdminDeps, request: Request, text: bytes) -> object:
    """Do what the path says with the people whom a body names, and tell these of it."""
    from functions.agent.management import people

    fields = strict_json.read_object(text, source="http")
    name = request.headers.get("idempotency-key", "") or uuid.uuid4().hex
    verb = str(request.path_params["verb"])
    change = people.perform(deps.app, verb, fields, BY, f"http:{name}")
    people.settle(deps.app, change, BY, deps.queue.put)
    return {"done": verb, "id": change.id, "name": change.name, "tells": len(change.notices)}


def _show_policy(deps: AdminDeps, request: Request) -> object:
    app = deps.app
    name = str(request.path_params["agent"])
    full_name = app.name
    if name != app.name:
        read_agent(app.kv, app.name, name)
        full_name = join_name(app.name, name)
    return {"agent": name, **describe_policy(open_versions(app.kv, full_name, app.clock.now))}


def _list_files(deps: AdminDeps, request: Request) -> object:
    query = dict(request.query_params)
    prefix = query.pop("prefix", "")
    if query:
        raise UsageError("EINVAL", "ask by prefix", source="files")
    heads = scan_scopes(_find_scopes(deps, request), deps.app.open_workspace)
    return {"agent": request.path_params["agent"], **files.list_files(heads, prefix)}


def _answer_file(deps: AdminDeps, request: Request, body: bytes, answer: AnswerFile) -> Response:
    """Answer a request about one file; a condition that does not hold is 412."""
    query = dict(request.query_params)
    path = parse_path(str(request.path_params["path"]))
    opened = deps.app.open_workspace(_find_scopes(deps, request).choose(path))
    editor = FileEditor(deps.app.kv, opened, BY)
    asked = FileRequest(editor, path, query, request.headers, body)
    try:
        return answer(asked)
    except FileConflict as conflict:
        raise files.fail_condition(conflict) from None


def _find_scopes(deps: AdminDeps, request: Request) -> FileScopes:
    """Return the scopes of the files of the agent that the path names, whatever its state."""
    app = deps.app
    name = str(request.path_params["agent"])
    if name == app.name:
        return find_scopes_of_agent(name)
    read_agent(app.kv, app.name, name)
    return find_scopes_of_agent(join_name(app.name, name))


def _send_file(asked: FileRequest) -> Response:
    """Answer with a file, with one of its versions (`?version=3`), with what changed between two
    (`?diff=3..5`), or with what is known of all (`?versions=1`).
    """
    query = asked.query
    if len(query) > 1 or not query.keys() <= {"version", "diff", "versions"}:
        raise UsageError("EINVAL", "ask by version, diff or versions", source="files")
    there = asked.files.files
    if "diff" in query:
        first, last = files.read_range(query["diff"])
        return json_response(files.compare_versions(there, asked.path, first, last))
    if "versions" in query:
        rows = [files.describe_version(each) for each in there.list_versions(asked.path)]
        if not rows:
            there.require(asked.path)
        return json_response({"path": asked.path, "items": rows})
    content = there.read(asked.path, files.read_number(query, "version"))
    tag = f'"{content.version.version}"'
    headers = {**SEALED, "ETag": tag, "Cache-Control": "private, no-cache"}
    if asked.headers.get("if-none-match", "").strip() == tag:
        return Response(status_code=304, headers=headers)
    headers["Content-Type"] = files.find_type(asked.path, content.text)
    headers["Content-Disposition"] = "attachment"
    return Response(content.body, headers=headers)


def _write_file(asked: FileRequest) -> Response:
    base = files.read_condition(asked.headers)
    made = asked.files.write(asked.path, asked.body, base=base)
    status = 201 if made.before == 0 else 200
    return json_response(files.describe_version(made), status, {"ETag": f'"{made.version}"'})


def _remove_file(asked: FileRequest) -> Response:
    made = asked.files.remove(asked.path, base=files.read_condition(asked.headers))
    return json_response({"removed": asked.path, "version": made.version})


def _answer_board(deps: AdminDeps, request: Request, text: bytes, answer: AnswerBoard) -> Response:
    """Answer a request about the board that the path names: that of the root."""
    name = str(request.path_params["name"])
    if name != deps.app.name:
        raise UsageError(
            "ENOENT",
            f"there is no board {one_line(name, 40)}",
            source="http",
            suggestion=f"the team's board is /board/{deps.app.name}/tasks",
        )
    id = request.path_params.get("id")
    asked = BoardRequest(
        deps,
        0 if id is None else board.parse_number(str(id)),
        dict(request.query_params),
        request.headers,
        strict_json.read_object(text, source="http") if text.strip() else {},
        f"http:{request.headers.get('idempotency-key', '') or uuid.uuid4().hex}",
    )
    try:
        return answer(asked)
    except TaskConflict as conflict:
        raise board.fail_condition(conflict) from None


def _list_tasks(asked: BoardRequest) -> Response:
    return json_response(board.list_tasks(asked.deps.app, asked.query))


def _add_task(asked: BoardRequest) -> Response:
    edited = board.add_task(asked.editor, asked.deps.app, asked.fields)
    return _answer_edited(asked, edited, 201)


def _show_task(asked: BoardRequest) -> Response:
    found, revision = board.show_task(asked.deps.app, asked.number)
    return json_response(found, 200, {"ETag": f'"{revision}"'})


def _change_task(asked: BoardRequest) -> Response:
    revision = board.read_condition(asked.headers)
    app = asked.deps.app
    edited = board.change_task(asked.editor, app, asked.number, asked.fields, revision)
    return _answer_edited(asked, edited, 200)


def _answer_edited(asked: BoardRequest, edited: Edited, status: int) -> Response:
    """Let a change take effect, and answer with the task as it is then."""
    deps = asked.deps
    board.settle(deps.app, deps.queue.put, edited, BY)
    found, revision = board.show_task(deps.app, edited.task.id)
    if edited.note:
        found["note"] = edited.note
    if edited.unblocked:
        found["unblocked"] = list(edited.unblocked)
    return json_response(found, status, {"ETag": f'"{revision}"'})


def _list_proposals(deps: AdminDeps, request: Request) -> object:
    """Return what waits for an owner, and the plans of teammates that do; with `?all=1` also what
    was decided in the last month, of plans those that wait.
    """
    proposals = deps.app.proposals
    now = deps.app.clock.now()
    found = proposals.list_open()
    if request.query_params.get("all") == "1":
        found = sorted(proposals.scan(), key=lambda each: (each.at, each.id))
    plans = team.list_plans(deps.app)
    return {"items": [*(approvals.make_row(each, now) for each in found), *plans]}


def _answer_plan(deps: AdminDeps, id: str, body: bytes, *, approve: bool) -> object:
    """Answer a plan with the words of a body `{"words"}`, with none without one, and return it."""
    fields = strict_json.read_object(body, source="http") if body.strip() else {}
    words = fields.get("words", "")
    if not fields.keys() <= {"words"} or not isinstance(words, str):
        raise UsageError("EINVAL", "an answer to a plan has the words alone", source="http")
    made = team.answer_plan_by_hand(deps.app, id, words, approve=approve, by=BY)
    for event in made.events:
        deps.queue.put(event)
    return team.find_plan(deps.app, id)


def _decide_proposal(deps: AdminDeps, id: str, decide: Decide) -> object:
    proposal, event = decide(deps.app, id, BY)
    if event:
        deps.queue.put(event)
    approvals.settle(deps.app, proposal)
    ledger.note_decision(deps.app, proposal)
    return approvals.make_row(proposal, deps.app.clock.now())


def _read_agent(deps: AdminDeps, request: Request) -> tuple[str, dict[str, str]]:
    """Return the full name of the agent that `?agent=` names, and the other parameters.

    What an agent did can be read whatever its state.
    """
    query = dict(request.query_params)
    agent = query.pop("agent", "")
    if agent in ("", deps.app.name):
        return deps.app.name, query
    if not is_name(agent):
        raise UsageError("EINVAL", "agent is the short name of an agent", source="http")
    return join_name(deps.app.name, agent), query


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
def _open_settings() -> Settings:
    """Read the settings once. `BackendError` for unusable ones."""
    log.start()
    try:
        settings = Settings.read()
    except UsageError as problem:  # not for strangers: no token was checked yet
        log.note("unusable settings", code=problem.code, message=problem.message)
        raise BackendError("ESETTING", "the settings cannot be used; the log says why") from None
    for unknown in find_unknown_variables(settings):
        log.note("no setting", name=unknown.name, meant=unknown.meant)
    return settings


@lru_cache(maxsize=1)
def _open_stores() -> Stores:
    return open_stores(_open_settings())


@lru_cache(maxsize=1)
def _open_deps() -> AdminDeps:
    """Open the agent of the settings. Without a token every request is refused."""
    settings = _open_settings()
    try:
        token = admin_token(settings)
    except UsageError:
        token = ""
    stores = _open_stores()
    app = wiring.open_control_app(settings, stores)

    def open_keys() -> Tokens:
        from sigil.access.tokens import Tokens

        return Tokens(stores.kv)

    return AdminDeps(
        app,
        wiring.open_notifier(settings),
        Authenticator(token, open_keys, settings.agent, settings.rate),
        wiring.open_directory(wiring.AgentMaker(settings, stores)),
        wiring.open_ingress_queue(settings),
        open_turns(app.sessions, settings, stores.kv),
    )


@lru_cache(maxsize=1)
def _open_pages() -> ASGIApp:
    """Return the pages. No turn runs in this process, so they look again instead of listening."""
    from functions.channels.replies.http_replies import HttpReplies
    from functions.page.frame import PageDeps
    from functions.page.site import open_site

    control = _open_deps()
    stores = _open_stores()
    deps = PageDeps(
        app=control.app,
        settings=_open_settings(),
        kv=stores.kv,
        artifacts=stores.artifacts,
        notifier=control.notifier,
        gate=control.gate,
        agents=control.agents,
        queue=control.queue,
        turns=control.turns,
        replies=HttpReplies(stores.kv),
        put=control.queue.put,
        secure=True,
        files_bytes=FORM_FILES_BYTES,
    )
    return open_site(lambda: deps)


class _Pages:
    """The pages as an ASGI app, of which nothing is imported before the first request of one."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            pages = await run_in_threadpool(_open_pages)
        except SigilError as problem:
            await failure_response(problem)(scope, receive, send)
            return
        await pages(scope, receive, send)


PAGES: Final = "/ui"
app = Starlette(routes=[*build_routes(_open_deps), Mount(PAGES, _Pages()), Route(PAGES, _Pages())])
add_error_handling(app)


async def serve(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve a request under the path of its route."""
    from functions.base_path import without_base_path

    await app(without_base_path(scope), receive, send)


_handle = Mangum(serve, lifespan="off")


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer a request of the API. An answer that Lambda would not take is 413, with a way to what
    was asked for: the API would say 502, and nothing else.
    """
    answer = _handle(event, context)
    if len(orjson.dumps(answer)) <= ANSWER_BYTES:
        return answer
    refused = failure_response(
        UsageError(
            "ETOOBIG",
            "the answer is larger than a function of AWS may send",
            source="http",
            suggestion="ask for less, or on a machine whose settings name this store, for example"
            " with `uncaged people export`",
        )
    )
    headers = {name: text for name, text in refused.headers.items() if name != "content-length"}
    body = bytes(refused.body).decode()
    return {"statusCode": refused.status_code, "headers": headers, "body": body}
