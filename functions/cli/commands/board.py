"""`uncaged board`: the tasks of the agent and its team."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from functions.cli.local_agent import BY, Json, open_agent, require_chat
from sigil.cli.printing import Printer
from sigil.errors import UsageError

if TYPE_CHECKING:
    from functions.agent.app import App
    from functions.agent.team.board_editor import BoardEditor, Edited
    from functions.settings import Settings
    from sigil.protocol import Json as JsonValue

cli = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Show and change the board of tasks.",
)
Number = Annotated[
    int, typer.Argument(help="Its number, as the list shows it.", metavar="N", min=1)
]
Description = Annotated[str | None, typer.Option(help="All that whoever does it has to know.")]
Role = Annotated[str | None, typer.Option(help="Only a teammate of this role takes it.")]
Priority = Annotated[
    int | None, typer.Option(help="0 to 3; those of a higher one are taken first.", min=0, max=3)
]
Due = Annotated[str | None, typer.Option(help="When it is due, such as `tomorrow at 18:00`.")]
Blockers = Annotated[
    list[int] | None,
    typer.Option("--blocked-by", help="A task that has to be done first; can be repeated.", min=1),
]
NONE_OPEN = "no task is open; `uncaged board list --status ended` shows those that ended"


@cli.command("list")
def list_tasks(
    status: Annotated[
        str,
        typer.Option(
            help="open, ended, pending, in_progress, stuck, completed or dropped.",
            metavar="STATUS",
        ),
    ] = "open",
    owner: Annotated[str | None, typer.Option(help="Only those of this one.")] = None,
    json: Json = False,
) -> None:
    """List the tasks by number: those that are open, or others.

    Example: uncaged board list
    """
    from functions.agent.management import board

    query = {"status": status, "limit": "500", **({} if owner is None else {"owner": owner})}
    with open_agent(switch=True) as (app, _):
        found = board.list_tasks(app, query)
    rows = found["items"]
    if json:
        Printer(json=True).document(found)
        return
    if not isinstance(rows, list) or not rows:
        Printer().note(NONE_OPEN if status == "open" and owner is None else "there is no such task")
        return
    cells = [
        (
            row["id"],
            row["status"],
            row["subject"],
            row["owner"],
            ", ".join(f"#{each}" for each in row["blockedBy"]),
            row["priority"] or "",
        )
        for row in rows
    ]
    Printer().table(("task", "status", "subject", "owner", "blocked by", "priority"), cells)


@cli.command()
def show(number: Number, json: Json = False) -> None:
    """Show a task with all that is known of it.

    Example: uncaged board show 4
    """
    from functions.agent.management import board
    from sigil.cli.times import format_time

    with _naming_commands(), open_agent(switch=True) as (app, _):
        row, _ = board.show_task(app, number)
        task = board.open_board(app).read(number)
    if json:
        Printer(json=True).document(row)
        return
    pairs = [
        ("task", f"#{task.id} {task.subject}"),
        ("status", task.status),
        ("owner", task.owner),
        ("role", task.role),
        ("priority", str(task.priority or "")),
        ("blocked by", ", ".join(f"#{each}" for each in task.blocked_by)),
        ("due", format_time(task.due) if task.due else ""),
        ("added", f"{format_time(task.created)} by {task.by}"),
        ("asked in", task.home),
        ("attempts", str(task.attempts or "")),
        ("reason", task.why),
        ("report", task.report),
        ("files", ", ".join(task.files)),
        ("description", task.description),
    ]
    printer = Printer()
    for name, value in pairs:
        if value:
            printer.line(f"{name}: {value}")
    for comment in task.comments:
        printer.line(f"{format_time(comment.at)} {comment.by}: {comment.text}")
    for run in task.runs:
        why = f" ({run.why})" if run.why else ""
        printer.line(f"{format_time(run.began)} {run.owner}: {run.outcome}{why}")


@cli.command()
def add(
    subject: Annotated[str, typer.Argument(help="What is to be done, on one line.")],
    *,
    description: Description = None,
    role: Role = None,
    priority: Priority = None,
    due: Due = None,
    blocked_by: Blockers = None,
    owner: Annotated[str | None, typer.Option(help="Who alone is to do it.")] = None,
    session: Annotated[
        str | None, typer.Option("--session", help="The chat that hears when it is done.")
    ] = None,
    json: Json = False,
) -> None:
    """Put a task on the board.

    Example: uncaged board add "write the release notes" --priority 2
    """
    from functions.agent.management import board

    fields = _make_fields(
        subject=subject,
        description=description,
        role=role,
        priority=priority,
        due=due,
        owner=owner,
        blockedBy=blocked_by,
        home=None if session is None else require_chat(session),
    )
    with _open_editor() as (editor, app, settings):
        _print(board.add_task(editor, app, fields), app, settings, "added", json)


@cli.command()
def edit(
    number: Number,
    *,
    subject: Annotated[str | None, typer.Option(help="What is to be done, on one line.")] = None,
    description: Description = None,
    role: Role = None,
    priority: Priority = None,
    due: Due = None,
    blocked_by: Blockers = None,
    comment: Annotated[str | None, typer.Option(help="What there is to say of it.")] = None,
    json: Json = False,
) -> None:
    """Change what a task says; whoever works on it reads that.

    Example: uncaged board edit 4 --priority 3
    """
    from functions.agent.management import board

    fields = _make_fields(
        subject=subject,
        description=description,
        role=role,
        priority=priority,
        due=due,
        blockedBy=blocked_by,
        comment=comment,
    )
    with _open_editor() as (editor, app, settings):
        changed = board.change_task(editor, app, number, fields, None)
        _print(changed, app, settings, "changed", json)


@cli.command()
def done(
    number: Number,
    report: Annotated[str, typer.Argument(help="What came of it.")] = "",
    json: Json = False,
) -> None:
    """Mark a task as done. Those that waited for it can be done then.

    Example: uncaged board done 4
    """
    with _open_editor() as (editor, app, settings):
        _print(editor.complete(number, report), app, settings, "done", json)


@cli.command()
def drop(
    number: Number,
    why: Annotated[str, typer.Argument(help="The reason.")] = "",
    json: Json = False,
) -> None:
    """Take a task off the board though it is not done.

    Example: uncaged board drop 4
    """
    with _open_editor() as (editor, app, settings):
        _print(editor.drop(number, why), app, settings, "dropped", json)


@cli.command()
def assign(
    number: Number,
    owner: Annotated[str, typer.Argument(help="Who alone is to do it; empty for anybody.")],
    json: Json = False,
) -> None:
    """Let only one do a task, or anybody.

    Example: uncaged board assign 4 alice
    """
    with _open_editor() as (editor, app, settings):
        _print(editor.assign(number, owner), app, settings, "assigned", json)


@cli.command()
def reopen(number: Number, json: Json = False) -> None:
    """Let a task be done again that is done, dropped or stuck.

    Example: uncaged board reopen 4
    """
    with _open_editor() as (editor, app, settings):
        _print(editor.reopen(number), app, settings, "reopened", json)


@contextmanager
def _open_editor() -> Iterator[tuple[BoardEditor, App, Settings]]:
    from functions.agent.management.board import open_editor

    with _naming_commands(), open_agent(switch=True) as (app, settings):
        yield open_editor(app, BY, f"machine:{uuid.uuid4().hex}"), app, settings


@contextmanager
def _naming_commands() -> Iterator[None]:
    """Let an error of the board say what a person types, where it says what a model calls."""
    from functions.agent.team.board import REOPEN_FIRST

    try:
        yield
    except UsageError as problem:
        if problem.code == "ENOENT":
            problem.suggestion = "`uncaged board list` shows those that are open"
        elif problem.suggestion == REOPEN_FIRST:
            problem.suggestion = "`uncaged board reopen N` opens it again"
        raise


def _make_fields(**fields: JsonValue) -> dict[str, JsonValue]:
    return {name: value for name, value in fields.items() if value is not None}


def _print(edited: Edited, app: App, settings: Settings, done: str, json: bool) -> None:
    """Let a change take effect, and print it."""
    from functions.agent.management import board
    from functions.agent.team.task import format_line
    from functions.wiring import open_ingress_queue

    if edited.events or edited.entries:
        board.settle(app, open_ingress_queue(settings).put, edited, BY)
    if json:
        Printer(json=True).document(board.show_task(app, edited.task.id)[0])
        return
    verb = done if edited.is_new else "nothing changed"
    Printer().line(f"{verb}: {format_line(edited.task)}")
    if edited.unblocked:
        Printer().line(f"now free: {', '.join(f'#{each}' for each in edited.unblocked)}")
    if edited.note:
        Printer().note(edited.note)
