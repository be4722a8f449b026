"""Schedules, the board and the knowledge base of an agent as files of its tree.

Whoever wanted a schedule or a task, and in which chat, is not said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from functions.agent.app import App
from functions.agent.behaviours.behaviour import PREFIX, is_behaviour_document
from functions.agent.knowledge.record import TIME_MOST, make_draft
from functions.agent.management.moved_work import (
    MovedDocument,
    MovedSchedule,
    MovedTask,
    MovedWork,
)
from functions.agent.sanitize import clean_text
from functions.agent.schedules.schedule import NAME_CHARACTERS, Words
from functions.agent.team.board import OPEN_MOST, Board
from functions.agent.team.task import ENDED, PRIORITY_MOST, describe_task, format_line
from sigil.errors import BackendError, UsageError, one_line
from sigil.protocol import Json
from sigil.storage.stored import NewerFormat, Shape, dumps
from sigil.strict_json import canonical, read_object

TODO: Final = "environment/todo"
"""The board of tasks, in lines for people and as JSON for an import."""
TASKS: Final = f"{TODO}/tasks.jsonl"
TASK_LINES: Final = f"{TODO}/tasks.md"
SCHEDULES: Final = "environment/schedules.jsonl"
KNOWLEDGE: Final = "environment/knowledge"
FILE_BYTES: Final = 16 * 1024 * 1024
LINES_MOST: Final = 2_000
_DOCUMENT: Final = re.compile(rf"{KNOWLEDGE}/[0-9A-Za-z._-]{{1,80}}\.json", re.ASCII)
_WORDS: Final = Shape[Words](Words)


class WorkFiles(NamedTuple):
    """Files that belong together: when they were written, by whom, what for, and their bodies."""

    at: float
    by: str
    message: str
    files: dict[str, bytes]


def is_work_file(path: str) -> bool:
    """Return whether a path of a tree is one of these files."""
    return path in (TASKS, TASK_LINES, SCHEDULES) or _DOCUMENT.fullmatch(path) is not None


def list_work(app: App) -> Iterator[WorkFiles]:
    """Yield the files of what an agent has of it now; a board is its root's."""
    if app.is_root:
        yield from _list_tasks(app)
    schedules = sorted(
        (each for each in app.schedules.scan() if not each.is_over and not each.is_extra),
        key=lambda each: each.id,
    )
    if schedules:
        body = b"".join(dumps(each.words) + b"\n" for each in schedules)
        at = max(each.since for each in schedules)
        yield WorkFiles(at, "uncaged", "Write the schedules", {SCHEDULES: body})
    base = app.open_knowledge("agent")
    for stored in base.scan():
        record = stored.record
        row: dict[str, Json] = {
            "title": record.title,
            "source": record.source,
            "author": record.stated_author,
            "time": record.time,
            "confidence": record.known_confidence,
            "tags": list(record.tags),
            "text": base.read_text(stored.id),
        }
        body = canonical(row) + b"\n"
        message = f"Write the document {one_line(record.title, 80)}"
        path = f"{KNOWLEDGE}/{stored.id}.json"
        yield WorkFiles(record.at, record.by, message, {path: body})


def _list_tasks(app: App) -> Iterator[WorkFiles]:
    """Yield the board as it is now, if there is anything on it."""
    board = Board(app.kv, app.root, app.clock.now)
    tasks = [*board.list_open(), *reversed(board.list_ended())]
    if tasks:
        lines = "".join(f"{format_line(task)}\n" for task in tasks)
        rows = b""
        for task in tasks:
            due: dict[str, Json] = {"due": task.due} if task.due else {}
            rows += canonical(describe_task(task, tasks) | due) + b"\n"
        files = {TASK_LINES: f"```\n{lines}```\n".encode(), TASKS: rows}
        at = max(task.changed for task in tasks)
        yield WorkFiles(at, "uncaged", "Write the board of tasks", files)


def read_work(files: Mapping[str, bytes]) -> MovedWork:
    """Return what these files have, by their paths; `UsageError` for what cannot be read, with the
    line that it is in.
    """
    schedules = tuple(_read_schedules(files.get(SCHEDULES, b"")))
    tasks = _read_tasks(files.get(TASKS, b""))
    documents = []
    for path in sorted(files):
        if path.startswith(f"{KNOWLEDGE}/"):
            documents.append(_read_document(files[path], path))
    return MovedWork(schedules, tasks, tuple(documents))


def _list_rows(body: bytes, name: str) -> Iterator[tuple[str, dict[str, Json]]]:
    """Yield the objects of a file of lines, each with where it stands."""
    lines = body.splitlines()
    if len(lines) > LINES_MOST:
        raise UsageError("ETOOBIG", f"{name} has {len(lines):,} lines")
    for number, line in enumerate(lines, 1):
        if line.strip():
            where = f"line {number} of {name}"
            yield where, read_object(line, source=where)


def _read_schedules(body: bytes) -> Iterator[MovedSchedule]:
    for where, row in _list_rows(body, SCHEDULES):
        try:
            words = _WORDS.convert(row)
        except (ValueError, NewerFormat, BackendError):
            raise UsageError("EINVAL", f"{where} is no schedule") from None
        has_behaviour = is_behaviour_document(PREFIX + words.behaviour)
        yield MovedSchedule(
            when=words.when,
            text=clean_text(words.text).strip(),
            say=clean_text(words.say).strip(),
            name=one_line(clean_text(words.name), NAME_CHARACTERS),
            behaviour=words.behaviour if has_behaviour else "",
            place=SCHEDULES,
        )


def _read_tasks(body: bytes) -> tuple[MovedTask, ...]:
    """Return the tasks that are open, whose blockers are named by their places in the answer."""
    places: dict[int, int] = {}
    rows: list[tuple[str, dict[str, Json]]] = []
    for where, row in _list_rows(body, TASKS):
        number = row.get("id")
        if isinstance(number, bool) or not isinstance(number, int):
            raise UsageError("EINVAL", f"{where} is no task: id is a number")
        if row.get("status") not in ENDED and len(rows) < OPEN_MOST:
            places[number] = len(rows)
            rows.append((where, row))
    return tuple(_read_task(where, row, places) for where, row in rows)


def _read_task(where: str, row: Mapping[str, Json], places: Mapping[int, int]) -> MovedTask:
    texts = []
    for name in ("subject", "description", "role"):
        value = row.get(name, "")
        if not isinstance(value, str):
            raise UsageError("EINVAL", f"{where} is no task: {name} is a text")
        texts.append(clean_text(value).strip())
    subject, description, role = texts
    waits = row.get("blockedBy", [])
    numbers = [each for each in waits if isinstance(each, int)] if isinstance(waits, list) else []
    return MovedTask(
        subject=subject,
        description=description,
        role=role,
        priority=min(int(_read_number(row, "priority", 0.0)), PRIORITY_MOST),
        due=min(_read_number(row, "due", 0.0), TIME_MOST),
        waits=tuple(places[each] for each in numbers if each in places),
        place=TASKS,
    )


def _read_document(body: bytes, path: str) -> MovedDocument:
    row = read_object(body, source=path)
    texts = {}
    for name in ("title", "source", "author", "text"):
        value = row.get(name, "")
        if not isinstance(value, str):
            raise UsageError("EINVAL", f"{path} is no document: {name} is a text")
        texts[name] = value
    tags = row.get("tags", [])
    if not isinstance(tags, list):
        raise UsageError("EINVAL", f"{path} is no document: tags is a list")
    draft = make_draft(
        title=texts["title"],
        source=texts["source"],
        text=texts["text"],
        author=texts["author"],
        by="",
        time=_read_number(row, "time", 0.0),
        confidence=_read_number(row, "confidence", 1.0),
        tags=tuple(map(str, tags)),
    )
    return MovedDocument(draft=draft, place=path)


def _read_number(row: Mapping[str, Json], name: str, usual: float) -> float:
    """Return a number that is not below 0, the usual one for anything else."""
    value = row.get(name, usual)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        return usual
    return float(value)
