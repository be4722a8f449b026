"""`uncaged wake`: look at what is due, and at the schedules of an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from functions.cli.local_agent import Json, Whose, open_agent, print_result
from sigil.cli.printing import Printer
from sigil.cli.times import format_time
from sigil.errors import UsageError, one_line

if TYPE_CHECKING:
    from functions.agent.schedules.schedule import Run, Schedule

TEXT_CHARACTERS = 60
Id = Annotated[str, typer.Argument(help="The id that `uncaged wake list` shows.", metavar="ID")]


class WakeGroup(TyperGroup):
    """A group whose command `now` need not be written."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the first word for an agent unless it is a command."""
        if not args or (args[0] not in self.commands and not args[0].startswith("-")):
            args = ["now", *args]
        rest: list[str] = super().parse_args(ctx, args)
        return rest


cli = typer.Typer(
    cls=WakeGroup, rich_markup_mode=None, help="Wake agents, and show their schedules."
)


@cli.command("now")
def wake_now(
    agent: Annotated[
        str | None, typer.Argument(help="Say when this agent is due next, such as `alice`.")
    ] = None,
    json: Json = False,
) -> None:
    """Put what is due into the queue, and say what is due next; `now` need not be written.

    Example: uncaged wake
    """
    from functions.agent.schedules.tick import wake_agents
    from functions.wiring import open_ingress_queue

    with open_agent(switch=True, name=agent) as (app, settings):
        queue = open_ingress_queue(settings)
        now = app.clock.now()
        late_most = settings.catch_up_seconds
        queued = wake_agents(app.kv, queue.put, app.root, now, late_most=late_most).queued
        times = [each.due for each in app.schedules.list_of_chat() if not each.paused]
    due = min(times, default=None)
    begun = f"{queued} queued" if queued else "nothing new"
    text = f"{begun}; next {format_time(due)}" if due else f"{begun}; nothing is scheduled"
    print_result({"agent": app.name, "queued": queued, "next": due}, text, json)


@cli.command("list")
def list_wakeups(agent: Whose = None, json: Json = False) -> None:
    """Show the schedules of an agent: their chats, their next times, and how the last runs ended.

    Example: uncaged wake list
    """
    with open_agent(switch=True, name=agent) as (app, _):
        found = app.schedules.list_of_chat()
    printer = Printer(json=json)
    if json:
        printer.document([_make_row(each) for each in found])
    elif not found:
        printer.note("nothing is scheduled")
    else:
        for each in found:
            printer.line(_describe(each))


@cli.command()
def pause(id: Id, agent: Whose = None, json: Json = False) -> None:
    """Let nothing happen at the times of a schedule until it is resumed.

    Example: uncaged wake pause 3f2a9c1b7d60
    """
    with open_agent(switch=True, name=agent) as (app, _):
        paused = _require(app.schedules.pause(id), id)
    print_result(_make_row(paused), f"paused: {id}", json)


@cli.command()
def resume(id: Id, agent: Whose = None, json: Json = False) -> None:
    """Let a schedule go on from now on.

    Example: uncaged wake resume 3f2a9c1b7d60
    """
    with open_agent(switch=True, name=agent) as (app, _):
        resumed = _require(app.schedules.resume(id, app.clock.now()), id)
    ends = f"next {format_time(resumed.due)}" if resumed.due else "it has no more times"
    print_result(_make_row(resumed), f"resumed: {id}; {ends}", json)


@cli.command()
def drop(id: Id, agent: Whose = None, json: Json = False) -> None:
    """Delete a schedule.

    Example: uncaged wake drop 3f2a9c1b7d60
    """
    with open_agent(switch=True, name=agent) as (app, _):
        dropped = _require(app.schedules.drop(id), id)
    print_result(_make_row(dropped), f"dropped: {id}", json)


@cli.command()
def runs(id: Id, agent: Whose = None, json: Json = False) -> None:
    """Show how the last runs of a schedule ended, the newest first.

    Example: uncaged wake runs 3f2a9c1b7d60
    """
    with open_agent(switch=True, name=agent) as (app, _):
        found = app.schedules.list_runs(id)
    printer = Printer(json=json)
    if json:
        printer.document([_make_run_row(run) for run in found])
    elif not found:
        printer.note("it has not run in the last 30 days")
    else:
        for run in found:
            printer.line(_describe_run(run))


def _require(schedule: Schedule | None, id: str) -> Schedule:
    if schedule is None:
        raise UsageError(
            "ENOENT",
            f"there is no schedule {one_line(id, TEXT_CHARACTERS)}",
            suggestion="`uncaged wake list` shows them",
        )
    return schedule


def _describe(schedule: Schedule) -> str:
    state = (
        f"paused ({schedule.paused})" if schedule.paused else f"next {format_time(schedule.due)}"
    )
    last = f"last {schedule.last.outcome}" if schedule.last else "has not run"
    title = one_line(schedule.title, TEXT_CHARACTERS)
    return f"{schedule.id}  {state}  {schedule.session}  {title!r}  {last}"


def _describe_run(run: Run) -> str:
    reason = f" ({one_line(run.reason, TEXT_CHARACTERS)})" if run.reason else ""
    return f"{format_time(run.due)}  {run.outcome}{reason}  {run.tokens:,} tokens  {run.event}"


def _make_row(schedule: Schedule) -> dict[str, object]:
    from sigil.storage.stored import row

    return row(schedule)


def _make_run_row(run: Run) -> dict[str, object]:
    from sigil.storage.stored import row

    return row(run)
