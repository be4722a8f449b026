"""The board as owners see and change it outside of chats: on the machine and over HTTP."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from functions.agent.app import App
from functions.agent.management.ledger import add_entries
from functions.agent.team.board import Board, Edit, NewTask
from functions.agent.team.board_editor import BoardEditor, Edited
from functions.agent.team.board_view import BoardView
from functions.agent.team.member import parse_owner
from functions.agent.team.task import PRIORITY_MOST, Task, TaskConflict, TaskLike, describe_task
from functions.agent.team.task_words import parse_due
from functions.events import Event
from functions.texts.languages import load_texts
from sigil.errors import UsageError, one_line
from sigil.protocol import Json
from sigil.storage.stored import row

PAGE: Final = 100
OPEN, ENDED = "open", "ended"
STATUSES: Final = ("pending", "in_progress", "completed", "stuck", "dropped")
SOURCE: Final = "board"
NEW_FIELDS: Final = frozenset(
    ("subject", "description", "blockedBy", "role", "priority", "owner", "due", "home")
)
CHANGES: Final = NEW_FIELDS - {"home"} | {"status", "report", "why", "comment"}
SETTABLE: Final = ("pending", "completed", "dropped")
WORDS_CHARACTERS: Final = 240
_TAG: Final = re.compile(r'"([0-9]{1,9})"', re.ASCII)
_LIMIT: Final = re.compile(r"[0-9]{1,3}", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]{1,8}", re.ASCII)


def open_board(app: App) -> Board:
    """Return the board of the app's root."""
    return Board(app.kv, app.root, app.clock.now)


def open_editor(app: App, by: str, cause: str) -> BoardEditor:
    """Return the board as an owner changes it, who sees all of it."""
    view = BoardView(open_board(app), None, by=by, chat="", private=True, sees_all=True)
    return BoardEditor(app, view, cause)


def list_tasks(app: App, query: Mapping[str, str]) -> dict[str, object]:
    """Return the tasks that the parameters of a request name: those that are open, or that have
    `ended`, of one `status` or of one `owner`.
    """
    _require_known(query, frozenset(("status", "owner", "limit")))
    status = query.get("status", OPEN)
    if status not in (OPEN, ENDED, *STATUSES):
        raise _refuse(f"status is one of {', '.join((OPEN, ENDED, *STATUSES))}")
    limit = query.get("limit", str(PAGE))
    if not _LIMIT.fullmatch(limit) or not 1 <= int(limit) <= 500:
        raise _refuse("limit is a number from 1 to 500")
    board = open_board(app)
    open_tasks = board.list_open()
    found = open_tasks
    if status in (ENDED, "completed", "dropped"):
        found = board.list_ended(int(limit))
    if status in STATUSES:
        found = [task for task in found if task.status == status]
    if "owner" in query:
        found = [task for task in found if task.owner == query["owner"]]
    return {"items": [make_row(task, open_tasks) for task in found[: int(limit)]]}


def show_task(app: App, number: int) -> tuple[dict[str, object], int]:
    """Return a task as programs see it, and its revision."""
    board = open_board(app)
    task = board.read(number)
    return make_row(task, board.list_heads()), task.revision


def make_row(task: Task, tasks: Sequence[TaskLike]) -> dict[str, object]:
    """Return a task as programs see it, among the open ones."""
    known = describe_task(task, tasks)
    rest = row(task)
    for name in ("blocked_by", "key", "claim"):
        del rest[name]
    return {**rest, **known, "waits_for": list(task.blocked_by)}


def add_task(editor: BoardEditor, app: App, fields: Mapping[str, Json]) -> Edited:
    """Put the task that the fields of a request describe on the board."""
    _require_known(fields, NEW_FIELDS)
    wanted = NewTask(
        subject=_read_text(fields, "subject") or "",
        description=_read_text(fields, "description") or "",
        blocked_by=_read_numbers(fields) or (),
        role=_read_text(fields, "role") or "",
        priority=_read_priority(fields) or 0,
        owner=_read_text(fields, "owner") or "",
        due=_read_due(app, fields) or 0.0,
    )
    home = _read_text(fields, "home") or ""
    if home and (":" not in home or len(home) > 300):
        raise _refuse("home is a chat, such as telegram:42")
    return editor.add(wanted, by=editor.view.by, home=home)


def change_task(
    editor: BoardEditor, app: App, number: int, fields: Mapping[str, Json], revision: int | None
) -> Edited:
    """Change a task as the fields of a request say, each in its own write; only the first one needs
    the task to be at this revision.
    """
    _require_known(fields, CHANGES)
    status = _read_text(fields, "status")
    if status is not None and status not in SETTABLE:
        raise _refuse(f"status can be set to {', '.join(SETTABLE)}")
    edit = Edit(
        subject=_read_text(fields, "subject"),
        description=_read_text(fields, "description"),
        role=_read_text(fields, "role"),
        priority=_read_priority(fields),
        due=_read_due(app, fields),
        blocked_by=_read_numbers(fields),
    )
    owner = _read_text(fields, "owner")
    if owner is not None:  # what is refused comes before the first write
        owner = parse_owner(app.kv, app.root, owner)
    comment = _read_text(fields, "comment")
    report = _read_text(fields, "report") or ""
    why = _read_text(fields, "why") or ""
    made: list[Edited] = []
    if edit != Edit():
        made.append(editor.edit(number, edit, revision=revision))
        revision = None
    if comment:
        made.append(editor.comment(number, comment, revision=revision))
        revision = None
    if owner is not None:
        made.append(editor.assign(number, owner, revision=revision))
        revision = None
    if status == "completed":
        made.append(editor.complete(number, report, revision=revision))
    elif status == "dropped":
        made.append(editor.drop(number, why, revision=revision))
    elif status == "pending":
        is_taken = editor.view.find(number).status == "in_progress"
        made.append(
            editor.release(number, revision=revision)
            if is_taken
            else editor.reopen(number, revision=revision)
        )
    if not made:
        raise _refuse(f"say what changes: {', '.join(sorted(CHANGES))}")
    return replace(
        made[-1],
        is_new=any(each.is_new for each in made),
        events=tuple(event for each in made for event in each.events),
        entries=tuple(entry for each in made for entry in each.entries),
    )


def settle(app: App, put: Callable[[Event], None], edited: Edited, by: str) -> None:
    """Put the events of a change into the queue, and its entries into the ledger."""
    for event in edited.events:
        put(event)
    if edited.entries:
        add_entries(app, edited.entries, by)


def read_condition(headers: Mapping[str, str]) -> int | None:
    """Return the revision that a change is made from, by `If-Match: "3"`; None without one."""
    match = headers.get("if-match")
    if match is None:
        return None
    found = _TAG.fullmatch(match.strip())
    if not found:
        raise _refuse('a condition is If-Match: "3", with the ETag of the task')
    return int(found[1])


def fail_condition(conflict: TaskConflict) -> UsageError:
    """Return the error of a request whose condition does not hold."""
    return UsageError(
        "EPRECONDITION", conflict.message, source=SOURCE, suggestion=conflict.suggestion
    )


def parse_number(text: str) -> int:
    """Return the number of a task; `UsageError` ENOENT for what is none."""
    if not _NUMBER.fullmatch(text):
        raise UsageError("ENOENT", f"no task has the number {one_line(text, 20)!r}", source=SOURCE)
    return int(text)


def _read_due(app: App, fields: Mapping[str, Json]) -> float | None:
    """Return when it is due, given in words or as a time of ISO 8601; 0.0 for an empty text."""
    words = _read_text(fields, "due")
    if words is None:
        return None
    if len(words) > WORDS_CHARACTERS:
        raise _refuse(f"due has at most {WORDS_CHARACTERS} characters")
    return parse_due(words, app.clock.now(), app.zone, load_texts("en")) if words else 0.0


def _read_text(fields: Mapping[str, Json], name: str) -> str | None:
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise _refuse(f"{name} is a text")
    return value.strip()


def _read_priority(fields: Mapping[str, Json]) -> int | None:
    value = fields.get("priority")
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise _refuse(f"priority is a whole number from 0 to {PRIORITY_MOST}")
    return value


def _read_numbers(fields: Mapping[str, Json]) -> tuple[int, ...] | None:
    value = fields.get("blockedBy")
    if value is None:
        return None
    if not isinstance(value, list):
        raise _refuse("blockedBy are numbers of tasks")
    numbers = tuple(each for each in value if isinstance(each, int) and not isinstance(each, bool))
    if len(numbers) < len(value):
        raise _refuse("blockedBy are numbers of tasks")
    return numbers


def _require_known(fields: Mapping[str, object], known: frozenset[str]) -> None:
    for name in fields:
        if name not in known:
            raise _refuse(f"{one_line(name, 40)!r} is none of {', '.join(sorted(known))}")


def _refuse(message: str) -> UsageError:
    return UsageError("EINVAL", message, source=SOURCE)
