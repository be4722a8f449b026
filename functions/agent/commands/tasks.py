"""/tasks shows the board of tasks, one of them, or adds, ends, assigns and reopens one."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands
from functions.agent.safety.failure_codes import explain_refusal
from functions.agent.sanitize import clean_text
from functions.agent.team.board import Board
from functions.agent.team.board_editor import BoardEditor, Edited
from functions.agent.team.board_view import BOARD, TASK, BoardView, open_view
from functions.agent.team.member import NAME_SHOWN, Members, is_known
from functions.agent.team.report import LEAD
from functions.agent.team.task import (
    Task,
    format_line,
    is_private,
    list_blocked,
    list_blockers,
    list_open_ids,
)
from functions.agent.team.task_words import TaskQuestion, parse_task
from functions.time.time_zone import format_stamp
from sigil.errors import Conflict, Refused, UsageError, one_line

INDENT: Final = "  "
LISTED_MOST: Final = 60
ENDED_MOST: Final = 5
ALL: Final = frozenset(("all", "alle", "全部", "所有"))
ALL_MOST: Final = 200
"""So many open tasks, and so many that have ended, are listed where somebody wants all."""
NAMED_MOST: Final = 12
NUMBER: Final = r"#?(\d{1,8})"
_SHOW: Final = re.compile(NUMBER, re.ASCII)
_ADD: Final = re.compile(r"add\s+(.+)", re.IGNORECASE | re.DOTALL)
_CHANGE: Final = re.compile(
    rf"(done|drop|assign|reopen)\s+{NUMBER}(?:\s+(.+))?", re.IGNORECASE | re.DOTALL
)
NOBODY: Final = frozenset(("nobody", "anybody", "niemand", "alle", "无人", "任何人", "-"))
"""Words for no owner in particular."""


def run_tasks(call: CommandCall) -> CommandResult:
    """Show the board, or change it."""
    texts = call.texts
    try:
        view = _open_view(call)
        if not call.text or call.text.lower() in ALL:
            return call.reply(_list(call, view, is_all=bool(call.text)))
        shown = _SHOW.fullmatch(call.text)
        if shown:
            return call.reply(_show(call, view, view.find(int(shown[1]))))
        return _change(call, view)
    except TaskQuestion as question:
        return call.reply(question.message)
    except (UsageError, Refused, Conflict) as problem:
        pattern = texts.task_unknown if problem.code == "ENOENT" else texts.task_refused
        text = pattern.format(why=explain_refusal(problem, texts))
        return call.reply(text[:1].upper() + text[1:])


def _change(call: CommandCall, view: BoardView) -> CommandResult:
    texts = call.texts
    denied = call.find_denial(TASK)
    if denied:
        return call.reply(denied)
    editor = BoardEditor(call.app, view, call.event.id)
    added = _ADD.fullmatch(call.text)
    if added:
        now = call.find_time()
        zone = call.app.find_zone(call.document)
        wanted = parse_task(added[1], now, zone, texts, lambda: _list_numbers(view))
        if wanted.owner.lower() in NOBODY:
            wanted = replace(wanted, owner="")
        _require_known(call, wanted.owner)
        wanted = replace(wanted, personal=call.event.private)
        try:
            made = editor.add(
                wanted,
                by=call.event.behalf,
                home=call.event.session,
                holder=call.find_holder(),
            )
        except Refused as refusal:
            from functions.agent.shares import tell_taken

            return call.reply(tell_taken(refusal, texts.task_full, texts))
        return _answer(call, made, texts.task_added)
    asked = _CHANGE.fullmatch(call.text)
    if not asked:
        return call.reply(texts.tasks_how)
    number = int(asked[2])
    words = (asked[3] or "").strip()
    match asked[1].lower():
        case "done":
            return _answer(call, editor.complete(number, words), texts.task_is_done)
        case "drop":
            return _answer(call, editor.drop(number, words), texts.task_is_dropped)
        case "reopen":
            return _answer(call, editor.reopen(number), texts.task_is_open)
    if not words:
        return call.reply(texts.task_assign_how)
    owner = words.removeprefix("@")
    if owner.lower() in NOBODY:
        owner = ""
    _require_known(call, owner)
    pattern = texts.task_assigned if owner else texts.task_for_anybody
    return _answer(call, editor.assign(number, owner), pattern)


def _answer(call: CommandCall, edited: Edited, pattern: str) -> CommandResult:
    """Return the reply to a change, with what the turn posts and what the ledger has of it."""
    texts = call.texts
    task = edited.task
    subject = clean_text(task.subject)
    lines = [pattern.format(id=task.id, subject=subject, owner=task.owner)]
    if pattern == texts.task_added and task.blocked_by:
        named = ", ".join(f"#{number}" for number in task.blocked_by)
        lines = [f"{lines[0]} ({texts.task_blocked.format(tasks=named)})"]
    if not edited.is_new:
        lines = [texts.task_unchanged.format(id=task.id, line=_format(call, task, ()))]
    if edited.unblocked:
        free = ", ".join(f"#{number}" for number in edited.unblocked)
        lines.append(texts.task_frees.format(tasks=free))
    if is_private(task) and task.status == "pending":
        lines.append(texts.task_yours.format(id=task.id))
    elif edited.note:
        lines.append(texts.task_nobody)
    elif task.status == "pending" and task.owner:
        lines += _describe_absence(call, task.owner)
    document = call.document
    if edited.events:
        document = replace(document, posts=(*document.posts, *edited.events))
    return CommandResult("\n".join(lines), document, entries=edited.entries)


def _describe_absence(call: CommandCall, owner: str) -> list[str]:
    """Return what is told of a teammate that alone may do a task, and does not begin it by itself;
    nothing of all others.
    """
    app = call.app
    found = Members(app.kv, app.root).find(owner)
    if found is None or found.find_status(app.clock.now(), app.team_idle) != "shutdown":
        return []
    if found.stopped:
        return [call.texts.team_stopped.format(names=owner)]
    return [] if found.recall else [call.texts.task_nobody]


def _list_numbers(view: BoardView) -> list[int]:
    return [task.id for task in view.list_open()]


def _require_known(call: CommandCall, owner: str) -> None:
    """Raise `TaskQuestion` for an owner who is nobody of the team: it names those who are."""
    name = owner.lower()
    kv, root = call.app.kv, call.app.root
    if name in ("", LEAD) or is_known(kv, root, name):
        return
    known = [each for each, _ in Members(kv, root).scan()]
    near = get_close_matches(name, known, n=1)
    known = list(dict.fromkeys((*near, *known)))[:NAMED_MOST]
    texts = call.texts
    pattern = texts.task_owner_unknown if known else texts.task_owner_alone
    shown = one_line(clean_text(owner), NAME_SHOWN).replace("`", "")
    raise TaskQuestion(pattern.format(name=shown, known=", ".join(known)))


def _list(call: CommandCall, view: BoardView, *, is_all: bool = False) -> str:
    """Return a line for each task that is open, and for those that were ended last."""
    texts = call.texts
    if call.find_denial(TASK) and call.find_denial(BOARD):
        return call.find_denial(TASK)
    found = view.list_open()
    listed_most = ALL_MOST if is_all else LISTED_MOST
    ended = view.list_ended(ALL_MOST if is_all else ENDED_MOST)[::-1]
    if not found and not ended:
        return texts.tasks_none
    open_ids = list_open_ids(view.board.list_heads() if not view.sees_all else found)
    lines = [_format(call, task, open_ids) for task in found[:listed_most]]
    if len(found) > listed_most:
        lines.append(texts.tasks_more.format(count=len(found) - listed_most))
    lines += [_format(call, task, ()) for task in ended]
    return "\n".join([*lines, "", texts.tasks_how])


def _format(call: CommandCall, task: Task, open_ids: Collection[int]) -> str:
    """Return the line of a task, with what else there is to know of it behind it."""
    texts = call.texts
    blockers = list_blockers(task, open_ids)
    notes = []
    if blockers and not task.is_ended:
        named = ", ".join(f"#{number}" for number in blockers)
        notes.append(texts.task_blocked.format(tasks=named))
    if task.priority and not task.is_ended:
        notes.append(texts.task_priority.format(priority=task.priority))
    if task.role and not task.owner:
        notes.append(texts.task_role.format(role=task.role))
    if task.due and not task.is_ended:
        zone = call.app.find_zone(call.document)
        notes.append(texts.task_due.format(time=format_stamp(task.due, zone)))
    line = f"{INDENT}{format_line(task)}"
    return f"{line} ({', '.join(notes)})" if notes else line


def _show(call: CommandCall, view: BoardView, task: Task) -> str:
    """Return all that is known of a task."""
    texts = call.texts
    heads = view.board.list_heads()
    lines = [_format(call, task, list_open_ids(heads))]
    if task.description:
        lines += ["", clean_text(task.description)]
    blocked = list_blocked(task, heads)
    if blocked:
        lines += ["", texts.task_blocks.format(tasks=", ".join(f"#{each}" for each in blocked))]
    if task.why:
        lines += ["", texts.task_why.format(why=clean_text(task.why))]
    if task.report:
        lines += ["", clean_text(task.report)]
    if task.files:
        lines += ["", texts.task_files.format(files=", ".join(task.files))]
    if task.comments:
        lines += ["", *(f"- {each.by}: {one_line(each.text, 500)}" for each in task.comments)]
    return "\n".join(lines)


def _open_view(call: CommandCall) -> BoardView:
    """Return the board as the sender sees it here."""
    app = call.app
    return open_view(
        Board(app.kv, app.root, app.clock.now),
        call.make_gate(),
        by=call.event.behalf,
        chat=call.event.session,
        private=call.event.private,
    )


COMMANDS: Final[Commands] = {
    "tasks": Command(
        run_tasks,
        arguments="[N | all | add SUBJECT | done N | drop N | assign N NAME | reopen N]",
        stores=lambda words: _ADD.fullmatch(words) is not None,
    ),
}
