"""The tasks of a chat in lines, as its memory reads them beside what was said."""

from __future__ import annotations

from typing import Final

from functions.agent.app import App
from functions.agent.sanitize import clean_text
from functions.agent.team.board import Board
from functions.agent.team.task import MARKS, Task
from functions.time.time_zone import format_stamp
from sigil.errors import one_line
from sigil.storage.kv import keys

OPEN_MOST: Final = 30
ENDED_MOST: Final = 10
"""Of the tasks that were done or dropped, the newest are shown."""
_SEEN_MOST: Final = 50
_REPORT_CHARACTERS: Final = 120


def list_chat_tasks(app: App, session: str, zone: str) -> list[str]:
    """Return a line for each task that a session (S of the keys) asked for, the open ones first;
    in work of the agent's own also for those that it has itself.

    Nobody reads here what was asked for in another chat.
    """
    board = Board(app.kv, app.root, app.clock.now)
    chat = keys.unescape(session.partition("#")[2])
    member = app.short_name if keys.is_own_work(session) and not app.is_root else ""

    def is_shown(task: Task) -> bool:
        return task.home == chat or bool(member and task.owner == member)

    open_tasks = list(filter(is_shown, board.list_open()))[-OPEN_MOST:]
    ended = list(filter(is_shown, board.list_ended(_SEEN_MOST)))[:ENDED_MOST]
    return [_format_task(task, zone) for task in (*open_tasks, *ended)]


def _format_task(task: Task, zone: str) -> str:
    """Return a task as `[ ] 3 Buy paper (alice; due 2026-12-01 09:00)`, with what came of it."""
    facts = []
    if task.owner:
        facts.append(task.owner)
    if task.due and not task.is_ended:
        facts.append(f"due {format_stamp(task.due, zone)}")
    outcome = one_line(clean_text(task.report or task.why), _REPORT_CHARACTERS)
    line = f"{MARKS[task.status]} {task.id} {one_line(clean_text(task.subject))}"
    if facts:
        line += f" ({'; '.join(facts)})"
    return f"{line}: {outcome}" if outcome else line
