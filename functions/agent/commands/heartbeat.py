"""/heartbeat lets the agent look from time to time whether something is new for it."""

from __future__ import annotations

from typing import Final

from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands, always
from functions.agent.schedules.heartbeat import make_heartbeat, parse_interval, read_versions
from functions.agent.schedules.schedule import HEARTBEAT, Schedule
from functions.time.time_zone import format_clock

OFF: Final = "off"
RUNS_MOST: Final = 10_000


def run_heartbeat(call: CommandCall) -> CommandResult:
    """Show the heartbeat of the agent that answers here, set it, or end it."""
    texts = call.texts
    app = call.app
    known = app.schedules.find_heartbeat()
    if not call.text:
        if known is None:
            return call.reply(f"{texts.heartbeat_off} {texts.heartbeat_how}")
        return call.reply(_describe(known, call))
    if call.text.lower() == OFF:
        app.schedules.drop(HEARTBEAT)
        return call.reply(texts.heartbeat_ended if known else texts.heartbeat_off)
    every = parse_interval(call.text)
    if not every:
        return call.reply(texts.heartbeat_how)
    denied = call.find_denial("schedule")
    if denied:
        return call.reply(denied)
    now = app.clock.now()
    wanted = make_heartbeat(
        every,
        session=call.event.session,
        by=call.event.sender.id,
        now=now,
        zone=app.find_zone(call.document),
        known=read_versions(app.kv, app.name),
        texts=texts,
    )
    made = app.schedules.set_heartbeat(wanted)
    said = texts.heartbeat_set.format(
        span=texts.format_exact_span(round(every / 60)),
        time=format_clock(made.due, made.when.zone, now),
    )
    if call.event.platform == "terminal":
        said = f"{said} {texts.remind_at_terminal}"
    return call.reply(said)


def _describe(known: Schedule, call: CommandCall) -> str:
    """Return when the next look comes, and what the runs of a month have cost."""
    texts = call.texts
    now = call.app.clock.now()
    span = texts.format_exact_span(round(known.when.every / 60))
    if known.paused:
        why = texts.wakeup_pauses.get(known.paused, known.paused)
        lines = [texts.heartbeat_paused.format(span=span, why=why)]
    else:
        time = format_clock(known.due, known.when.zone, now)
        lines = [texts.heartbeat_now.format(span=span, time=time)]
    if known.session != call.event.session:
        lines.append(texts.heartbeat_elsewhere.format(chat=known.session))
    runs = call.app.schedules.list_runs(known.id, RUNS_MOST)
    tokens = sum(run.tokens for run in runs)
    lines.append(texts.heartbeat_cost.format(runs=len(runs), tokens=tokens))
    return " ".join(lines)


COMMANDS: Final[Commands] = {
    "heartbeat": Command(
        run_heartbeat, arguments=f"[30m | {OFF}]", changes_agent=always, for_owners=True
    ),
}
