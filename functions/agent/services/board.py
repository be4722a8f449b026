"""`create-task`, `update-task`, `list-tasks`, `get-task` and `claim-task`: the board of the team.

They are what `/tasks` is for people, in the words of a model, and show and change no more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from functions.agent.posts import Ending, Post, ServiceAnswer
from functions.agent.services.call_context import Arguments, CallContext, read_flag, read_text
from functions.agent.services.files import find_scopes_of_call
from functions.agent.session.document import IDLE
from functions.agent.team.board import Board, Changed, Claimer, Edit, NewTask
from functions.agent.team.board_view import BoardView, open_view
from functions.agent.team.leg import CLAIM as CLAIM_NUMBER
from functions.agent.team.leg import read_leg
from functions.agent.team.report import LEAD
from functions.agent.team.task import (
    PRIORITY_MOST,
    Task,
    describe_task,
    list_distinct_blockers,
)
from functions.agent.team.task_change import (
    NO_TEXTS,
    TaskNews,
    find_written_end,
    follow_change,
    list_unblocked,
    make_added,
)
from functions.agent.workspace.scope import list_written
from functions.time.time_zone import to_local
from sigil.errors import Refused, ToolError, UsageError
from sigil.protocol import Json

CREATE, UPDATE, LIST = "create-task", "update-task", "list-tasks"
GET, CLAIM = "get-task", "claim-task"
LISTED_MOST: Final = 100
ENDED_MOST: Final = 20
STATUSES: Final = ("pending", "in_progress", "completed", "stuck", "dropped")
SAID_ENDS: Final = ("completed", "stuck")
"""How a call ends a task and says what came of it."""
NOT_FOUND: Final = "Error: Task {number} not found"


def create_task(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """Put a task on the board, and return it; the same call again makes no other one."""
    view = _open_view(context)
    blockers = _read_numbers(arguments, "blockedBy")
    _find_all(view, blockers)
    wanted = NewTask(
        subject=context.gate.redact(read_text(arguments, "subject")),
        description=context.gate.redact(read_text(arguments, "description")),
        blocked_by=blockers,
        role=read_text(arguments, "role"),
        priority=_read_priority(arguments) or 0,
        by=context.by,
        home=context.home,
        key=context.call,
        personal=read_flag(arguments, "personal"),
    )
    with context.app.helpers.lock:  # calls that run side by side would take the same place
        made = view.board.add(wanted, context.find_holder())
    return _answer(context, view, made_by=make_added(made))


def update_task(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """Change a task: what it waits for, who does it, a note, or how far it is."""
    view = _open_view(context)
    number = _read_number(arguments)
    task = _find(view.find_to_change, number)
    status = read_text(arguments, "status")
    if status and status not in STATUSES:
        raise UsageError("EINVAL", f"status is one of {', '.join(STATUSES)}")
    note = context.gate.redact(read_text(arguments, "note"))
    report = context.gate.redact(read_text(arguments, "report"))
    if report and status not in ("completed", "stuck"):
        note = note or report
    owner = arguments.get("owner")
    is_assigned = isinstance(owner, str) and owner.strip() != task.owner
    if is_assigned or status in ("pending", "dropped"):
        _require_untaken(context, task)
    board = view.board
    blockers = _read_numbers(arguments, "add_blocked_by")
    _find_all(view, blockers)
    changed = Changed(task, task)
    priority = _read_priority(arguments)
    if blockers or priority is not None:
        changed = board.edit(number, Edit(priority=priority, more_blockers=blockers))
    if note and status not in ("dropped", "stuck"):
        changed = board.comment(number, _name_member(context), note, context.call)
    if context.work and task.personal and isinstance(owner, str):
        raise Refused(
            "EPERM",
            f"task {number} is a person's own",
            suggestion="they assign it themselves",
            reason="personal",
        )
    if isinstance(owner, str) and (owner.strip() != task.owner or task.personal):
        changed = board.assign(number, owner)
    if status:
        changed = _set_status(context, board, changed.task, status, note=note, report=report)
    made = Changed(task, changed.task)
    if not made.is_new:
        # a call that runs again after a crash has ended it already, and nobody has heard of it
        made = find_written_end(task, context.call) or made
    answer = _answer(context, view, made_by=made)
    if (report or note) and _ends_leg(context, made.task):
        answer = replace(answer, ending=Ending(IDLE, if_all_well=True))
    return answer


def _require_untaken(context: CallContext, task: Task) -> None:
    """Raise `Refused` EPERM where a teammate would take a task from another one that works on it,
    or whose plan for it waits for an answer: the lead and people do that.
    """
    if context.app.is_root or task.claim is None or task.owner == context.app.short_name:
        return
    raise Refused(
        "EPERM",
        f"task {task.id} is {task.owner}'s",
        suggestion="write to the lead with send-message",
        reason="not-yours",
    )


def list_tasks(context: CallContext, arguments: Arguments) -> Json:
    """Return the tasks by number: the open ones, or those of a status or an owner."""
    view = _open_view(context)
    status = read_text(arguments, "status")
    owner = read_text(arguments, "owner")
    open_tasks = view.board.list_open()
    found = [task for task in open_tasks if view.may_see(task)]
    if status in ("completed", "dropped"):
        found = view.list_ended(ENDED_MOST)[::-1]
    if status:
        found = [task for task in found if task.status == status]
    if owner:
        found = [task for task in found if task.owner == owner]
    items: list[Json] = [_shorten(task, open_tasks) for task in found[:LISTED_MOST]]
    return {"items": items, "found": len(found)}


def get_task(context: CallContext, arguments: Arguments) -> Json:
    """Return a task with all that is known of it."""
    view = _open_view(context)
    task = _find(view.find, _read_number(arguments))
    row = describe_task(task, view.board.list_heads())
    if task.comments:
        row["notes"] = [
            {"by": each.by, "text": each.text, "at": _format_time(each.at, context.zone)}
            for each in task.comments
        ]
    if task.due:
        row["due"] = _format_time(task.due, context.zone)
    return row


def claim_task(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """Take a task, and return it; whoever has it already keeps it."""
    view = _open_view(context)
    number = _read_number(arguments)
    before = _find(view.find, number)
    changed = Changed(before, view.board.claim(number, _make_claimer(context)))
    news = follow_change(context.app, changed, by=_name_member(context))
    result: dict[str, Json] = {
        "result": f"Claimed task #{number} for {changed.task.owner}",
        "task": describe_task(changed.task, view.board.list_heads()),
    }
    return ServiceAnswer(result, entries=news.entries)


def _set_status(
    context: CallContext, board: Board, task: Task, status: str, *, note: str, report: str
) -> Changed:
    """Bring a task into a status; each is what a verb of the board does."""
    number = task.id
    key = context.call
    owner = _name_member(context) if not context.app.is_root else ""
    if status == "completed":
        files = _list_files(context, task)
        return board.complete(number, report, files=files, owner=owner, key=key)
    if status == "dropped":
        return board.drop(number, note)
    if status == "stuck":
        why = note or report
        return board.mark_stuck(number, why, report=report, owner=owner, key=key)
    if status == "in_progress":
        return Changed(task, board.claim(number, _make_claimer(context)))
    if task.status == "in_progress":
        return board.release(number, note)
    return board.reopen(number)


def _ends_leg(context: CallContext, task: Task) -> bool:
    """Return whether a call has ended the very task that the teammate works on, so that it has
    nothing more to say: its words would go nowhere.
    """
    if context.work is None or not context.app.is_teammate or task.status not in SAID_ENDS:
        return False
    event = context.work.event
    run = task.runs[-1] if task.runs else None
    if run is None or task.claim or run.owner != context.app.short_name:
        return False
    return read_leg(event).task == task.id and event.data.get(CLAIM_NUMBER) == run.number


def _list_files(context: CallContext, task: Task) -> tuple[str, ...]:
    """Return the files that whoever has claimed a task has written for it."""
    if task.claim is None:
        return ()
    try:
        scopes = find_scopes_of_call(context)
    except Refused:  # the work has no files
        return ()
    app = context.app
    writer = app.short_name if app.is_teammate else ""
    return list_written(scopes, app.open_workspace, context.task, task.claim.at, writer)


def _answer(context: CallContext, view: BoardView, *, made_by: Changed) -> ServiceAnswer:
    """Return the answer of a change, with what it sets off."""
    app = context.app
    task = made_by.task
    # the reply of this turn says it in its own chat
    here = "" if context.work else context.home
    member = "" if app.is_root else app.short_name
    heads = view.board.list_heads()
    news = follow_change(
        app,
        made_by,
        by=_name_member(context),
        here=here,
        member=member,
        heads=heads,
        # the words of work are those of the chat that it is for
        texts={context.home: context.texts} if context.work else NO_TEXTS,
    )
    row = describe_task(task, heads)
    unblocked = list_unblocked(made_by, heads)
    if unblocked:
        row["unblocked"] = list(unblocked)
    if news.note:
        row["note"] = news.note
    return ServiceAnswer(row, _reserve_posts(context, news), news.entries)


def _reserve_posts(context: CallContext, news: TaskNews) -> tuple[Post, ...]:
    """Return the posts that the turn may make. What the chat is not told stands on the board, and
    whoever is not woken now is by the next tick.
    """
    kept: list[Post] = []
    for post in (*news.report, *news.wakes):
        if post.kind == "say" and context.gate.decide("say", post.session).effect != "allow":
            continue
        try:
            context.posts.take(1)
        except ToolError:
            break
        kept.append(post)
    return tuple(kept)


def _open_view(context: CallContext) -> BoardView:
    """Return the board as the person sees it on whose behalf the call is."""
    app = context.app
    is_owners_work = False
    if context.work and app.people.is_owner(context.by):
        is_owners_work = not context.home or app.private_chats.owns(context.by, context.home)
    return open_view(
        Board(app.kv, app.root, app.clock.now),
        context.gate,
        by=context.by,
        chat=context.home,
        private=context.private or context.work is not None,
        is_owners_work=is_owners_work,
        member="" if app.is_root else app.short_name,
    )


def _find(find: Callable[[int], Task], number: int) -> Task:
    """Return a task; `UsageError` ENOENT in the words of the board's tools for none."""
    try:
        return find(number)
    except UsageError as problem:
        if problem.code == "ENOENT":
            problem.message = NOT_FOUND.format(number=number)
        raise


def _find_all(view: BoardView, numbers: tuple[int, ...]) -> None:
    for number in list_distinct_blockers(numbers):
        _find(view.find, number)


def _name_member(context: CallContext) -> str:
    """Return the name by which the team calls the agent."""
    return LEAD if context.app.is_root else context.app.short_name


def _make_claimer(context: CallContext) -> Claimer:
    record = context.app.record
    return Claimer(
        member=_name_member(context),
        role=record.role if record else "",
        generation=record.generation if record else 0,
        key=context.call,
    )


def _shorten(task: Task, open_tasks: list[Task]) -> dict[str, Json]:
    """Return a task as a list shows it: its description is in `get-task`."""
    row = describe_task(task, open_tasks)
    for name in ("description", "report", "files", "claimed_at", "claim_source"):
        row.pop(name, None)
    return row


def _read_number(arguments: Arguments) -> int:
    number = arguments.get("task_id")
    if not isinstance(number, int) or isinstance(number, bool):
        raise UsageError("EINVAL", "task_id is the number of a task")
    return number


def _read_numbers(arguments: Arguments, name: str) -> tuple[int, ...]:
    numbers = arguments.get(name)
    if numbers is None:
        return ()
    if not isinstance(numbers, list):
        raise UsageError("EINVAL", f"{name} are numbers of tasks")
    found = []
    for number in numbers:
        if not isinstance(number, int) or isinstance(number, bool):
            raise UsageError("EINVAL", f"{name} are numbers of tasks")
        found.append(number)
    return tuple(found)


def _read_priority(arguments: Arguments) -> int | None:
    priority = arguments.get("priority")
    if priority is None:
        return None
    if not isinstance(priority, int) or isinstance(priority, bool):
        raise UsageError("EINVAL", f"priority is a whole number from 0 to {PRIORITY_MOST}")
    return priority


def _format_time(at: float, zone: str) -> str:
    return to_local(at, zone).isoformat(timespec="minutes")
