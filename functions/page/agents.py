"""The pages of agents and of the board: who there is and does what, and the work that waits."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from functions.agent.agent_directory import AbsentAgent
from functions.agent.agents.record import (
    fingerprint_record,
    is_name,
    join_name,
    read_agent,
    scan_agents,
)
from functions.agent.app import App
from functions.agent.management import agents as agent_rows
from functions.agent.management import board, wakeups
from functions.agent.schedules.schedule import Schedule, Schedules
from functions.agent.team.task import PRIORITY_MOST, TaskConflict
from functions.agent_data import AgentData
from functions.page.access.reach import require_chat
from functions.page.access.viewer import OWNERS, WATCHERS
from functions.page.frame import Page, PageRequest, PageRoute, plain
from functions.page.words.run_words import RunWords, words_of
from sigil.errors import UsageError, one_line
from sigil.http.page import figures
from sigil.http.page.operations import (
    Act,
    Cell,
    Operation,
    Section,
    TableRow,
    View,
    read_version,
    show_form,
    show_view,
    take_form,
)
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json

Row = Mapping[str, Any]
PURGE_SECONDS: Final = 5.0
SCHEDULES_SHOWN: Final = 50
DANGERS: Final = ("disable", "archive", "purge")
COUNTED: Final = (
    "name",
    "agent",
    "kind",
    "state",
    "status",
    "model",
    "parent",
    "since",
    "next",
    "hp",
)
"""What a reader sees of an agent: nobody's words."""
STATUSES: Final = ("open", "in_progress", "stuck", "ended")


def require_agent_name(page: PageRequest, short: str) -> str:
    """Return the full name of an agent below the root; `UsageError` EINVAL for what is no name."""
    if not is_name(short):
        raise UsageError("EINVAL", "agent is the short name of an agent", source="page")
    return join_name(page.deps.app.root, short)


def find_agent(page: PageRequest, short: str) -> App:
    """Return an agent below the root by its short name; errors as `require_agent_name`, and ENOENT
    where there is none.
    """
    root = page.deps.app
    found = page.deps.agents.find(require_agent_name(page, short), root)
    if isinstance(found, AbsentAgent):
        raise UsageError("ENOENT", found.reason, source="page")
    return found


def show_agents(page: PageRequest) -> Response:
    """Show the root and every agent below it, each below its parent."""
    app = page.deps.app
    words = words_of(page)
    running = page.deps.turns.list_working()
    below = [
        plain(agent_rows.make_row(app, name, record, running))
        for name, record in scan_agents(app.kv, app.root)
    ]
    if page.viewer.role == "reader":
        below = [{name: row[name] for name in COUNTED if name in row} for row in below]
    root = _make_root_row(page, running)
    leads = page.viewer.role == "owner"
    rows = [_make_row(root, words, 0, leads=leads)]
    rows += [_make_row(row, words, depth, leads=leads) for row, depth in _order(below, app.root)]
    section = Section(
        columns=(
            (words.name, "text"),
            (words.state, "text"),
            (words.doing, "text"),
            (words.hp, "figure"),
            (words.next_wakeup, "time"),
        ),
        rows=tuple(rows),
    )
    sections = [section]
    if not below:
        said = words.no_agents.format(name=app.name)
        sections.append(Section(nothing=said, type=words.no_agents_type))
    acts = (Act(words.board, "/board"),) if page.viewer.role == "owner" else ()
    view = View(words.agents, tuple(sections), {"root": root, "items": below}, acts=acts)
    return show_view(page, view)


def show_agent(page: PageRequest) -> Response:
    """Show one agent: what it is, what it does next, and the steps that it can be brought to."""
    app = page.deps.app
    words = words_of(page)
    name = page.path["name"]
    schedules = Schedules(app.kv, app.root)
    if name == app.root:
        row = _make_root_row(page, page.deps.turns.list_working())
        steps: list[str] = []
    else:
        record = read_agent(app.kv, app.root, name)
        row = plain(agent_rows.make_row(app, name, record, page.deps.turns.list_working()))
        steps = agent_rows.list_steps(record.state)
        schedules = Schedules(app.kv, join_name(app.root, name))
    planned = [
        _describe_schedule(page, each)
        for each in sorted(schedules.list_of_chat(), key=lambda each: each.due)[:SCHEDULES_SHOWN]
    ]
    facts = [(words.state, Cell(words.name_state(as_string(row.get("status")))))]
    for label, key in (
        (words.kind, "kind"),
        (words.parent, "parent"),
        (words.model, "model"),
        (words.role, "role"),
        (words.by, "by"),
    ):
        if row.get(key):
            facts.append((label, Cell(row[key])))
    if row.get("since"):
        facts.append((words.since, Cell(row["since"], "time")))
    hp = as_mapping(row.get("hp"))
    if hp:
        facts.append((words.hp, Cell(f"{hp.get('hp')} / {hp.get('most')}")))
    sections = [
        Section(
            words.schedules,
            (
                (words.when, "text"),
                (words.text, "text"),
                (words.chat, "code"),
                (words.coming, "text"),
            ),
            tuple(_make_schedule_row(each) for each in planned),
            nothing=words.no_schedules,
            type=words.no_schedules_type,
        )
    ]
    if row.get("prompt"):
        sections.insert(0, Section(words.text, text=one_line(str(row["prompt"]), 2_000)))
    found = app if name == app.root else None
    if found:
        chips = tuple(found.list_behaviours())
        sections.append(Section(words.behaviours, facts=(("", Cell("", chips=chips)),)))
    asked = "" if name == app.root else f"?agent={name}"
    acts = [Act(words.its_runs, f"/runs{asked}")]
    acts += [
        Act(words.step_verbs[each], f"/agents/{name}/{each}", each in DANGERS) for each in steps
    ]
    view = View(
        name,
        tuple(sections),
        {**row, "steps": steps, "schedules": planned},
        crumb=(words.agents, "/agents"),
        facts=tuple(facts),
        acts=tuple(acts),
    )
    return show_view(page, view)


def ask_step(page: PageRequest) -> Response:
    """Ask whether an agent is to be brought into another state."""
    return show_form(page, _make_step(page))


def take_step(page: PageRequest) -> Response:
    """Bring an agent into another state; a purge answers when nothing is left of it."""
    operation = _make_step(page)
    app = page.deps.app
    name = page.path["name"]
    step = page.path["step"]

    def perform(_: dict[str, Json], tag: str) -> str:
        if step == "purge":
            data = AgentData(app.kv, app.artifacts, app.root, name, app.clock)
            data.purge(page.deps.turns.is_working, PURGE_SECONDS, known=tag)
            return "/agents"
        agent_rows.take_step(app, name, step, tag)
        if step == agent_rows.ENABLE:
            from functions.agent.team.resuming import wake_by_hand

            cause = f"page:{uuid.uuid4().hex[:12]}"
            for event in wake_by_hand(app, [name], by=page.by, cause=cause).events:
                page.deps.put(event)
        return f"/agents/{name}"

    return take_form(page, operation, perform)


def _make_step(page: PageRequest) -> Operation:
    app = page.deps.app
    words = words_of(page)
    name = page.path["name"]
    step = page.path["step"]
    record = read_agent(app.kv, app.root, name)
    if step not in agent_rows.list_steps(record.state):
        possible = ", ".join(agent_rows.list_steps(record.state)) or "none"
        raise UsageError(
            "EINVAL",
            f"{one_line(step, 40)!r} is no step of {name} now",
            source="page",
            suggestion=f"it is {record.state}; its steps are {possible}",
        )
    reached = words.name_state(agent_rows.STEPS[step])
    return Operation(
        f"/agents/{name}/{step}",
        words.step_titles[step].format(name=name),
        words.step_verbs[step],
        tag=fingerprint_record(record),
        is_danger=True,
        changes=((words.state, words.name_state(record.state), reached),),
        back=f"/agents/{name}",
    )


def show_board(page: PageRequest) -> Response:
    """Show the tasks of the board, those that are open unless another state is asked for."""
    app = page.deps.app
    words = words_of(page)
    status = page.query.get("status", "open")
    asked = {"status": status, **({"owner": page.query["owner"]} if "owner" in page.query else {})}
    twin = plain(board.list_tasks(app, asked))
    rows = tuple(_make_task_row(each, words) for each in twin["items"])
    name_status = {**words.states, **words.statuses}
    section = Section(
        columns=(
            (words.number, "figure"),
            (words.subject, "text"),
            (words.state, "text"),
            (words.owner, "text"),
            (words.priority, "figure"),
            (words.due, "time"),
        ),
        rows=rows,
        nothing=words.no_tasks.format(status=name_status.get(status, status)),
        type=words.no_tasks_type,
    )
    choices = tuple(
        (name_status.get(each, each), f"/board?status={each}", each == status) for each in STATUSES
    )
    view = View(
        words.board,
        (section,),
        twin,
        crumb=(words.agents, "/agents"),
        acts=(Act(words.add_task, "/board/new"),),
        filters=((words.state, choices),),
    )
    return show_view(page, view)


def show_task(page: PageRequest) -> Response:
    """Show one task with all that is known of it."""
    app = page.deps.app
    words = words_of(page)
    found, revision = board.show_task(app, board.parse_number(page.path["id"]))
    task = plain(found)
    facts = [
        (words.state, Cell(words.name_state(task["status"]))),
        (words.owner, Cell(task["owner"] or "–")),
        (words.priority, Cell(task.get("priority") or 0, "figure")),
        (words.due, Cell(task.get("due"), "time")),
        (words.by, Cell(task.get("by") or "–")),
    ]
    for label, key in ((words.waits_for, "waits_for"), (words.blocks, "blocks")):
        numbers = as_sequence(task.get(key))
        if numbers:
            facts.append((label, Cell(", ".join(f"#{each}" for each in numbers))))
    sections = [
        Section(words.text, text=task["description"]),
        Section(words.report, text=as_string(task.get("report"))),
        Section(
            words.comments,
            ((words.when, "time"), (words.by, "text"), (words.comments, "text")),
            tuple(
                TableRow(
                    (
                        Cell(as_mapping(each).get("at"), "time"),
                        Cell(as_mapping(each).get("by")),
                        Cell(as_mapping(each).get("text"), "long"),
                    )
                )
                for each in as_sequence(task.get("comments"))
            ),
        ),
    ]
    view = View(
        f"#{task['id']} {task['subject']}",
        tuple(each for each in sections if not each.is_empty),
        {**task, "revision": revision},
        crumb=(words.board, "/board"),
        facts=tuple(facts),
        acts=(Act(words.change_task, f"/board/{task['id']}/change"),),
    )
    return show_view(page, view)


def ask_new_task(page: PageRequest) -> Response:
    """Ask what a new task says."""
    return show_form(page, _make_new_task(page))


def add_task(page: PageRequest) -> Response:
    """Put a task on the board."""
    app = page.deps.app

    def perform(arguments: dict[str, Json], _: str) -> str:
        editor = board.open_editor(app, page.by, f"page:{uuid.uuid4().hex}")
        edited = board.add_task(editor, app, arguments)
        board.settle(app, page.deps.put, edited, page.by)
        return f"/board/{edited.task.id}"

    return take_form(page, _make_new_task(page), perform)


def ask_change(page: PageRequest) -> Response:
    """Ask what is to become of a task."""
    return show_form(page, _make_change(page))


def change_task(page: PageRequest) -> Response:
    """Change a task from the revision that the form was made from; the agents that work on it learn
    of it with their next request.
    """
    app = page.deps.app
    operation = _make_change(page)
    number = board.parse_number(page.path["id"])
    now = operation.values or {}

    def perform(arguments: dict[str, Json], tag: str) -> str:
        fields = {
            name: value
            for name, value in _fill(arguments, now).items()
            if value != now.get(name, "")
        }
        if not fields:
            return f"/board/{number}"
        revision = read_version(tag)
        editor = board.open_editor(app, page.by, f"page:{uuid.uuid4().hex}")
        try:
            edited = board.change_task(editor, app, number, fields, revision)
        except TaskConflict as conflict:
            raise board.fail_condition(conflict) from None
        board.settle(app, page.deps.put, edited, page.by)
        return f"/board/{number}"

    return take_form(page, operation, perform)


def _fill(arguments: Mapping[str, Json], now: Mapping[str, Json]) -> dict[str, Json]:
    """Return what was typed, with an empty text where one that stands now was taken out."""
    gone: dict[str, Json] = {
        name: [] if isinstance(value, list) else ""
        for name, value in now.items()
        if name not in arguments and isinstance(value, str | list) and value
    }
    return {**gone, **arguments}


_TEXTS: Final[dict[str, Json]] = {
    "subject": {"type": "string", "maxLength": 200},
    "description": {"type": "string", "maxLength": 4_000},
    "owner": {"type": "string", "maxLength": 80},
    "role": {"type": "string", "maxLength": 80},
    "priority": {"type": "integer", "minimum": 0, "maximum": PRIORITY_MOST},
    "due": {"type": "string", "maxLength": board.WORDS_CHARACTERS},
    "blockedBy": {"type": "array", "items": {"type": "integer"}},
}


def _name_fields(words: RunWords) -> dict[str, str]:
    return {
        "subject": words.subject,
        "description": words.text,
        "owner": words.owner,
        "role": words.role,
        "priority": words.priority,
        "due": words.due,
        "blockedBy": words.waits_for,
        "status": words.state,
        "comment": words.comments,
        "report": words.report,
    }


def _make_new_task(page: PageRequest) -> Operation:
    words = words_of(page)
    return Operation(
        "/board/new",
        words.add_task,
        words.save,
        schema={"type": "object", "required": ["subject"], "properties": _TEXTS},
        back="/board",
        labels=_name_fields(words),
    )


def _make_change(page: PageRequest) -> Operation:
    words = words_of(page)
    found, revision = board.show_task(page.deps.app, board.parse_number(page.path["id"]))
    task = plain(found)
    due = task.get("due")
    values: dict[str, Json] = {
        "subject": task["subject"],
        "description": task["description"],
        "owner": task["owner"],
        "role": as_string(task.get("role")),
        "priority": task.get("priority") or 0,
        "due": figures.moment(due),
        "blockedBy": list(as_sequence(task.get("waits_for"))),
    }
    properties: dict[str, Json] = {
        **_TEXTS,
        "status": {"enum": [each for each in board.SETTABLE if each != task["status"]]},
        "report": {"type": "string", "maxLength": 4_000},
        "comment": {"type": "string", "maxLength": 1_000},
    }
    return Operation(
        f"/board/{task['id']}/change",
        f"#{task['id']} {task['subject']}",
        words.save,
        schema={"type": "object", "required": ["subject"], "properties": properties},
        values=values,
        tag=str(revision),
        back=f"/board/{task['id']}",
        labels=_name_fields(words),
        choices={"status": words.states},
    )


def _make_root_row(page: PageRequest, running: frozenset[str]) -> dict[str, Any]:
    app = page.deps.app
    hp = None
    if app.hp.most > 0:
        report = app.load_hp().report(app.clock.now())
        hp = {"hp": report.hp, "most": report.most, "state": report.state}
    due = agent_rows.find_next_wakeup(app, app.root)
    status = "running" if app.root in running else "sleeping" if due else "enabled"
    return {
        "name": app.root,
        "agent": app.root,
        "status": status,
        "model": app.model.name,
        "hp": hp,
        "next": due,
    }


def _make_row(row: Row, words: RunWords, depth: int, *, leads: bool) -> TableRow:
    hp = as_mapping(row.get("hp"))
    state = as_string(row.get("status"))
    what = as_string(row.get("role")) or as_string(row.get("prompt"))
    return TableRow(
        (
            Cell(row["name"], path=f"/agents/{row['name']}" if leads else ""),
            Cell(words.name_state(state), "bad" if state in ("damaged", "no-hp") else "text"),
            Cell(one_line(what, 120)),
            Cell(hp.get("hp"), "figure") if hp else Cell("–"),
            Cell(row.get("next"), "time"),
        ),
        depth=depth,
    )


def _order(rows: list[dict[str, Any]], root: str) -> list[tuple[dict[str, Any], int]]:
    """Return agents each behind its parent, with how deep it stands below the root."""
    by_parent: dict[str, list[dict[str, Any]]] = {}
    known = {row["agent"] for row in rows}
    for row in rows:
        parent = as_string(row.get("parent"))
        by_parent.setdefault(parent if parent in known else root, []).append(row)
    ordered: list[tuple[dict[str, Any], int]] = []
    left = [(row, 1) for row in reversed(by_parent.pop(root, []))]
    while left:
        row, depth = left.pop()
        ordered.append((row, depth))
        left += [(each, depth + 1) for each in reversed(by_parent.pop(row["agent"], []))]
    # what is in a circle is shown all the same
    ordered += [(row, 1) for rest in by_parent.values() for row in rest]
    return ordered


def _describe_schedule(page: PageRequest, schedule: Schedule) -> dict[str, Any]:
    """Return a schedule as programs get it, without the words that were written for it in a chat
    that the viewer does not read.
    """
    row = plain(wakeups.make_row(schedule, page.deps.app))
    if require_chat(page, schedule.session) == "texts":
        return row
    return {**row, "name": words_of(page).private, "text": "", "say": ""}


def _make_schedule_row(row: Row) -> TableRow:
    return TableRow(
        (
            Cell(row["in_words"]),
            Cell(row.get("name") or row.get("text") or row.get("say"), "long"),
            Cell(row["session"], "code"),
            Cell(row["next_in_words"]),
        )
    )


def _make_task_row(row: Row, words: RunWords) -> TableRow:
    status = row["status"]
    return TableRow(
        (
            Cell(row["id"], "figure", f"/board/{row['id']}"),
            Cell(row["subject"], path=f"/board/{row['id']}"),
            Cell(words.name_state(status), "bad" if status == "stuck" else "text"),
            Cell(row["owner"] or "–"),
            Cell(row.get("priority") or 0, "figure"),
            Cell(row.get("due"), "time"),
        )
    )


ROUTES: tuple[PageRoute, ...] = (
    PageRoute("/agents", "GET", show_agents, WATCHERS),
    PageRoute("/agents/{name}", "GET", show_agent, OWNERS),
    PageRoute("/agents/{name}/{step}", "GET", ask_step, OWNERS),
    PageRoute("/agents/{name}/{step}", "POST", take_step, OWNERS, reads_form=True),
    PageRoute("/board", "GET", show_board, OWNERS),
    PageRoute("/board/new", "GET", ask_new_task, OWNERS),
    PageRoute("/board/new", "POST", add_task, OWNERS, reads_form=True),
    PageRoute("/board/{id}", "GET", show_task, OWNERS),
    PageRoute("/board/{id}/change", "GET", ask_change, OWNERS),
    PageRoute("/board/{id}/change", "POST", change_task, OWNERS, reads_form=True),
)
PAGES: tuple[Page, ...] = (
    Page("Agents", "/agents", WATCHERS, {"de": "Agenten", "zh": "智能体"}, ("/board",)),
)
