"""`uncaged wake`: look at what is due, and at the schedules of an agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from functions.cli.local_agent import (
    BY,
    Json,
    Whose,
    open_agent,
    print_result,
    require_model,
)
from sigil.cli.exit_codes import FAILED, INTERRUPTED
from sigil.cli.printing import Printer
from sigil.cli.times import format_time
from sigil.errors import UsageError, one_line

if TYPE_CHECKING:
    from functions.agent.app import App
    from functions.agent.schedules.schedule import Run, Schedule
    from functions.cli.commands.wakeup_run import WakeupRun
    from functions.events import Event
    from functions.settings import Settings

TERMINAL = "main"
SECONDS = 3_600.0
WAITING_MOST = 64
HOW = "see `uncaged wake heartbeat --help`, or /remind in a chat"
TEXT_CHARACTERS = 60
SHOWN_CHARACTERS = 36
Id = Annotated[
    str, typer.Argument(help="The id or number that `uncaged wake list` shows.", metavar="ID")
]


class WakeGroup(TyperGroup):
    """A group whose command `now` need not be written."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the first word for an agent, or an option of `now`, unless it is a command."""
        if not args or args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["now", *args]
        rest: list[str] = super().parse_args(ctx, args)
        return rest


cli = typer.Typer(
    cls=WakeGroup, rich_markup_mode=None, help="Wake agents, and show their schedules."
)


@cli.command("now")
def wake_now(
    agent: Annotated[
        str | None, typer.Argument(help="Wake this agent alone, such as `alice`.")
    ] = None,
    wakeup: Annotated[
        str | None,
        typer.Option(
            "--wakeup",
            help="Run this schedule alone, by its id or its number; its times stay as they are.",
            metavar="ID",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Run what is due now, and whatever is new by a look of the heartbeat; `now` need not be
    written.

    Example: uncaged wake
    """
    from functions.agent.schedules.schedule import make_event
    from functions.wiring import open_ingress_queue

    with open_agent(switch=True, name=agent) as (app, settings):
        events: list[Event] = []
        queue = open_ingress_queue(settings)

        def put(event: Event) -> None:
            queue.put(event)
            events.append(event)

        now = app.clock.now()
        if wakeup is None:
            _put_due(app, put, settings, now, only=app.name if agent else "")
        else:
            schedule = _find_one(app, wakeup)
            put(make_event(schedule, app.name, f"now-{now * 1000:.0f}", now))
        if wakeup is None and not settings.queue:
            put_here = {event.id for event in events}
            waiting = _list_waiting_work(app, only=app.name if agent else "")
            events += [event for event in waiting if event.id not in put_here]
        upcoming = _find_upcoming(app, agent)
    runs: Sequence[WakeupRun] = ()
    is_whole = True
    if events and not settings.queue:
        runs, is_whole = _run(settings, events, json=json)
    if json:
        row = {
            "agent": app.name,
            "queued": len(events),
            "next": upcoming.due if upcoming else None,
            "runs": [run.make_row() for run in runs],
        }
        Printer(json=True).document(row)
    else:
        _show_runs(runs, len(events), upcoming, now)
    if not is_whole:
        raise typer.Exit(INTERRUPTED)
    if any(run.outcome == "failed" for run in runs):
        raise typer.Exit(FAILED)


def _put_due(
    app: App, put: Callable[[Event], None], settings: Settings, now: float, *, only: str
) -> None:
    """Put what is due, and what a look at this moment finds."""
    from functions.agent.schedules.heartbeat import look_by_hand, make_heartbeat, read_versions
    from functions.agent.schedules.tick import wake_agents
    from functions.texts.languages import load_texts

    late_most = settings.catch_up_seconds
    wake_agents(app.kv, put, app.root, now, late_most=late_most, only=only)
    wanted = make_heartbeat(
        SECONDS,
        session=f"terminal:{TERMINAL}",
        by=BY,
        now=now,
        zone=app.zone,
        known=read_versions(app.kv, app.name),
        texts=load_texts(settings.language),
    )
    look_by_hand(app.kv, put, wanted, app.name, now)


def _find_upcoming(app: App, agent: str | None) -> Schedule | None:
    """Return the schedule that is due next, of one agent or of all of them."""
    from functions.agent.agents.record import join_name, scan_agents
    from functions.agent.schedules.schedule import Schedules

    names = [app.name]
    if agent is None:
        names += [join_name(app.root, name) for name, _ in scan_agents(app.kv, app.root)]
    found = [each for name in names for each in Schedules(app.kv, name).list_of_chat()]
    return min((each for each in found if not each.paused), key=lambda each: each.due, default=None)


def _list_waiting_work(app: App, *, only: str) -> Sequence[Event]:
    """Return the events of the agents' own work that wait in the queue or are at work, such as a
    run that was interrupted.
    """
    from functions.queues.waiting_events import decode_waiting
    from sigil.storage.kv import keys
    from sigil.storage.kv.update import scan_all

    events = []
    begin = keys.escape(only or app.root)
    for group, _ in list(scan_all(app.kv, keys.READY_WORK, begin)):
        agent = keys.unescape(group.partition("#")[0])
        is_work = group == keys.own_work_of(agent)
        if not is_work or (only or keys.root_of(agent)) != (agent if only else app.root):
            continue
        partition = keys.inbox_event(group, "").partition
        for sort, item in app.kv.scan(partition, limit=WAITING_MOST):
            with suppress(UsageError):  # a worker makes a dead letter of it
                events.append(decode_waiting(sort, item).event)
    return events


def _find_one(app: App, wakeup: str) -> Schedule:
    """Return the schedule of an id, or of a number that only one of the agent's chats has."""
    wanted = wakeup.removeprefix("#")
    found = [each for each in app.schedules.list_of_chat() if wanted in (each.id, f"{each.number}")]
    if len(found) > 1:
        raise UsageError(
            "EUSAGE",
            f"{len(found)} chats have a schedule {wanted}",
            suggestion=f"write its id: {', '.join(each.id for each in found)}",
        )
    return _require(found[0] if found else None, wakeup)


def _run(
    settings: Settings, events: Sequence[Event], *, json: bool
) -> tuple[Sequence[WakeupRun], bool]:
    """Take events to their end in this process, or wait for the one that does; the second value is
    False when Ctrl-C ended it.
    """
    from functions.agent.app import ignore_step
    from functions.cli.chat.screen import Screen
    from functions.cli.commands.wakeup_run import WakeupRuns
    from functions.wiring import open_runtime
    from sigil.wiring import ignore_progress

    screen = Screen()
    runtime = open_runtime(settings, ignore_progress if json else screen.progress)
    try:
        runs = WakeupRuns(runtime, ignore_step if json else screen.show_step, screen)
        is_whole = runs.follow(events)
        return [runs.describe(event) for event in events], is_whole
    finally:
        runtime.close()


def _show_runs(
    runs: Sequence[WakeupRun], queued: int, upcoming: Schedule | None, now: float
) -> None:
    """Print the trees of the runs, and when something is due next."""
    from functions.time.time_zone import format_clock

    printer = Printer()
    for run in runs:
        for line in run.list_lines():
            printer.text(line)
    begun = "" if runs else f"{queued} queued; " if queued else "nothing new; "
    if upcoming:
        printer.line(f"{begun}next {format_clock(upcoming.due, upcoming.when.zone, now)}")
    else:
        printer.words(f"{begun}nothing is scheduled: {HOW}")


@cli.command()
def heartbeat(
    interval: Annotated[
        str | None,
        typer.Argument(help="The shortest time between two looks, such as `30m`, or `off`."),
    ] = None,
    agent: Whose = None,
    session: Annotated[
        str | None,
        typer.Option("--session", help="Where it is told what matters, such as `telegram:42`."),
    ] = None,
    json: Json = False,
) -> None:
    """Show, set or end the heartbeat of an agent: it looks by itself whether something is new.

    Example: uncaged wake heartbeat 30m
    """
    from functions.agent.management.wakeups import require_chat
    from functions.agent.schedules.heartbeat import make_heartbeat, parse_interval, read_versions
    from functions.agent.schedules.schedule import HEARTBEAT
    from functions.texts.languages import load_texts
    from functions.time.time_zone import format_clock
    from sigil.storage.kv import keys

    with open_agent(switch=True, name=agent) as (app, settings):
        known = app.schedules.find_heartbeat()
        now = app.clock.now()
        if interval is not None and interval.lower() == "off":
            app.schedules.drop(HEARTBEAT)
            known = None
        elif interval is not None:
            every = parse_interval(interval)
            if not every:
                raise UsageError(
                    "EUSAGE",
                    f"{one_line(interval, TEXT_CHARACTERS)!r} is no time from a minute to a day",
                    suggestion="write it as `30m`, `2h` or `1d`, or `off`",
                )
            told = known.session if known else f"terminal:{TERMINAL}"
            if session is not None:
                require_chat(app, session)
                told = session
            chat = app.sessions.open(keys.session_of(app.name, told)).document
            wanted = make_heartbeat(
                every,
                session=told,
                by=BY,
                now=now,
                zone=app.find_zone(chat),
                known=read_versions(app.kv, app.name),
                texts=load_texts(settings.language),
            )
            known = app.schedules.set_heartbeat(wanted)
    if known is None:
        print_result({"heartbeat": None}, "the heartbeat is off", json)
        return
    state = f"paused ({known.paused})"
    if not known.paused:
        state = f"next {format_clock(known.due, known.when.zone, now)}"
    span = load_texts("en").format_exact_span(round(known.when.every / 60))
    text = f"the heartbeat looks every {span} at the soonest; {state}; told in {known.session}"
    print_result({"heartbeat": _make_row(known)}, text, json)


@cli.command("list")
def list_wakeups(agent: Whose = None, json: Json = False) -> None:
    """Show the schedules of an agent: their chats, their next times, who made them, and how the
    last runs ended.

    Example: uncaged wake list
    """
    with open_agent(switch=True, name=agent) as (app, _):
        found = app.schedules.list_of_chat()
    printer = Printer(json=json)
    if json:
        printer.document([_make_row(each) for each in found])
    elif not found:
        printer.note(f"nothing is scheduled: {HOW}")
    else:
        for each in found:
            for line in _describe(each, app.clock.now()):
                printer.text(line)


@cli.command()
def pause(id: Id, agent: Whose = None, json: Json = False) -> None:
    """Let nothing happen at the times of a schedule until it is resumed.

    Example: uncaged wake pause 3f2a9c1b7d60
    """
    with open_agent(switch=True, name=agent) as (app, _):
        known = _find_one(app, id)
        paused = _require(app.schedules.pause(known.id), id)
    print_result(_make_row(paused), f"paused: {known.id}", json)


@cli.command()
def resume(id: Id, agent: Whose = None, json: Json = False) -> None:
    """Let a schedule go on from now on.

    Example: uncaged wake resume 3f2a9c1b7d60
    """
    from functions.time.time_zone import format_clock

    with open_agent(switch=True, name=agent) as (app, _):
        now = app.clock.now()
        resumed = _require(app.schedules.resume(_find_one(app, id).id, now), id)
    ends = "it has no more times"
    if resumed.due:
        ends = f"next {format_clock(resumed.due, resumed.when.zone, now)}"
    print_result(_make_row(resumed), f"resumed: {resumed.id}; {ends}", json)


@cli.command()
def drop(id: Id, agent: Whose = None, json: Json = False) -> None:
    """Delete a schedule.

    Example: uncaged wake drop 3f2a9c1b7d60
    """
    with open_agent(switch=True, name=agent) as (app, _):
        known = _find_one(app, id)
        dropped = _require(app.schedules.drop(known.id), id)
    print_result(_make_row(dropped), f"dropped: {known.id}", json)


@cli.command("set")
def set_how(
    id: Id,
    behaviour: Annotated[
        str | None,
        typer.Option("--behaviour", help="Its behaviour, or empty for on_wakeup.", metavar="NAME"),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="Another model of the same endpoint, or empty for the agent's.",
            metavar="MODEL",
        ),
    ] = None,
    agent: Whose = None,
    json: Json = False,
) -> None:
    """Choose how a schedule that works is gone about: its behaviour, its model.

    Example: uncaged wake set 3f2a9c1b7d60 --behaviour on_self_improve
    """
    if behaviour is None and model is None:
        raise UsageError(
            "EUSAGE", "nothing is chosen", suggestion="give --behaviour NAME, or --model MODEL"
        )
    with open_agent(switch=True, name=agent) as (app, _):
        known = _find_one(app, id)
        if behaviour:
            app.require_behaviour(behaviour)
        if model:
            require_model(app, model)
        changed = _require(app.schedules.set_how(known.id, behaviour=behaviour, model=model), id)
    text = f"set: {changed.id} runs {changed.behaviour or 'on_wakeup'}"
    if changed.model:
        text += f" with {changed.model}"
    print_result(_make_row(changed), text, json)


@cli.command()
def runs(id: Id, agent: Whose = None, json: Json = False) -> None:
    """Show how the last runs of a schedule ended, the newest first.

    Example: uncaged wake runs 3f2a9c1b7d60
    """
    with open_agent(switch=True, name=agent) as (app, _):
        found = app.schedules.list_runs(id)
        if not found and app.schedules.find(id) is None:
            found = app.schedules.list_runs(_find_one(app, id).id)
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


def _describe(schedule: Schedule, now: float) -> tuple[str, str]:
    """Return the two lines of a schedule, each for a terminal of 80 columns in most cases."""
    from functions.agent.schedules.description import describe_late, describe_when
    from functions.texts.languages import load_texts
    from functions.time.time_zone import format_stamp

    texts = load_texts("en")
    zone = schedule.when.zone
    state = f"paused ({schedule.paused})"
    if not schedule.paused:
        late = describe_late(schedule.due, zone, texts, now).replace("`", "")
        state = late or f"next {format_stamp(schedule.due, zone)} ({zone})"
    if schedule.heartbeat:
        state = f"heartbeat, {state}"
    last = "has not run"
    if schedule.last:
        last = f"last {schedule.last.outcome}{_format_reason(schedule.last)}"
        if schedule.last.tokens:
            last += f", {schedule.last.tokens:,} tokens"
    title = one_line(schedule.title, SHOWN_CHARACTERS)
    when = describe_when(schedule.when, texts, now)
    how = "".join(f", {name}" for name in (schedule.behaviour, schedule.model) if name)
    chat = one_line(schedule.session, TEXT_CHARACTERS)
    by = one_line(schedule.by, TEXT_CHARACTERS)
    return (
        f"{schedule.id}  #{schedule.number}  {state}  {chat}  by {by}",
        f"  {title!r}, {when.partition(' (')[0]}{how}; {last}",
    )


def _describe_run(run: Run) -> str:
    outcome = f"{run.outcome}{_format_reason(run)}"
    return f"{format_time(run.due)}  {outcome}  {run.tokens:,} tokens  {run.event}"


def _format_reason(run: Run) -> str:
    return f" ({one_line(run.reason, TEXT_CHARACTERS)})" if run.reason else ""


def _make_row(schedule: Schedule) -> dict[str, object]:
    from sigil.storage.stored import row

    return row(schedule)


def _make_run_row(run: Run) -> dict[str, object]:
    from sigil.storage.stored import row

    return row(run)
