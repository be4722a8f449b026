"""/wakeups shows the schedules of a chat, and pauses, resumes, runs or drops one of them.

An owner sees and drops those of all chats as well.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands
from functions.agent.schedules.chat_schedules import ChatSchedule, list_everywhere
from functions.agent.schedules.description import describe_late, describe_when
from functions.agent.schedules.schedule import make_event
from functions.time.time_zone import format_clock, format_stamp
from sigil.errors import one_line

SHOWN_CHARACTERS: Final = 80
EVERYWHERE_MOST: Final = 40
ALL: Final = "all"
_DROP_ANY: Final = re.compile(r"drop\s+([0-9a-f]{12})", re.IGNORECASE | re.ASCII)
_ACTION: Final = re.compile(r"(pause|resume|now|drop)\s+#?(\d{1,9})", re.IGNORECASE | re.ASCII)


def run_wakeups(call: CommandCall) -> CommandResult:
    """Show the schedules of the chat, or change one of them by its number."""
    texts = call.texts
    if is_about_everybody(call.text):
        return _manage_everywhere(call)
    if not call.text:
        lines = [_describe(each, call) for each in call.schedules.list()]
        if not lines:
            return call.reply(f"{texts.wakeups_none} {texts.remind_how}")
        return call.reply("\n\n".join([*lines, texts.wakeups_how]))
    match = _ACTION.fullmatch(call.text)
    if not match:
        return call.reply(texts.wakeups_how)
    action = match[1].lower()
    found = call.schedules.find_numbered(int(match[2]))
    if not found:
        return call.reply(texts.wakeup_unknown.format(number=int(match[2])))
    schedules = found.schedules
    known = found.schedule
    now = call.app.clock.now()
    # whoever may not schedule anything still stops what there is
    denied = call.find_denial("schedule") if action in ("now", "resume") else ""
    if denied:
        return call.reply(denied)
    if action == "now":
        # its own times stay as they are
        event = make_event(known, schedules.agent, f"now-{call.event.order}", now)
        document = replace(call.document, posts=(*call.document.posts, event))
        return CommandResult(texts.wakeup_runs.format(title=known.title), document)
    if action == "drop":
        schedules.drop(known.id)
        return call.reply(texts.wakeup_dropped.format(title=known.title))
    if action == "pause":
        schedules.pause(known.id)
        text = texts.wakeup_is_paused.format(title=known.title, number=known.number)
        return call.reply(text)
    resumed = schedules.resume(known.id, now)
    if not resumed or resumed.is_over:
        return call.reply(texts.wakeup_is_over.format(title=known.title))
    time = format_clock(resumed.due, resumed.when.zone, now)
    return call.reply(texts.wakeup_resumed.format(title=known.title, time=time))


def is_about_everybody(words: str) -> bool:
    """Return whether the words are about the schedules of all chats, which owners alone see."""
    return words.lower() == ALL or _DROP_ANY.fullmatch(words) is not None


def _manage_everywhere(call: CommandCall) -> CommandResult:
    """Show the schedules of all chats with who made them, or drop one of them by its id."""
    texts = call.texts
    if not call.event.private:
        return call.reply(texts.wakeups_private)
    found = list_everywhere(call.app.kv, call.app.root, call.app.wake_scheduler)
    match = _DROP_ANY.fullmatch(call.text)
    if match:
        id = match[1].lower()
        meant = [each for each in found if each.schedule.id == id]
        for each in meant:
            each.schedules.drop(id)
        if not meant:
            return call.reply(texts.wakeup_no_id.format(id=id))
        return call.reply(texts.wakeup_dropped.format(title=meant[0].schedule.title))
    lines = [_describe_shortly(each, call) for each in found[:EVERYWHERE_MOST]]
    if not lines:
        return call.reply(f"{texts.wakeups_none} {texts.remind_how}")
    if len(found) > EVERYWHERE_MOST:
        lines.append(texts.wakeups_more.format(count=len(found) - EVERYWHERE_MOST))
    return call.reply("\n".join([*lines, "", texts.wakeups_all_how]))


def _describe_shortly(found: ChatSchedule, call: CommandCall) -> str:
    """Return the line of a schedule of whichever chat, with who made it."""
    schedule = found.schedule
    title = one_line(schedule.title, SHOWN_CHARACTERS)
    if found.agent:
        title = call.texts.wakeup_of_agent.format(title=title, agent=found.agent)
    return call.texts.wakeup_of_person.format(
        id=schedule.id,
        title=title.replace("`", "ˋ"),
        by=one_line(schedule.by, SHOWN_CHARACTERS).replace("`", ""),
        session=one_line(schedule.session, SHOWN_CHARACTERS).replace("`", ""),
    )


def _describe(found: ChatSchedule, call: CommandCall) -> str:
    """Return a schedule in lines that fit on a phone: when it is due, and what became of the last
    time. Another agent's has that one's name.
    """
    texts = call.texts
    schedule = found.schedule
    zone = schedule.when.zone
    title = one_line(schedule.title, SHOWN_CHARACTERS)
    if found.agent:
        title = texts.wakeup_of_agent.format(title=title, agent=found.agent)
    lines = [f"{schedule.number}. {title}"]
    if schedule.when.kind != "at" and not schedule.heartbeat:
        lines.append(describe_when(schedule.when, texts, call.app.clock.now()))
    if schedule.snoozed:
        lines.append(texts.wakeup_snoozed)
    if schedule.paused:
        why = texts.wakeup_pauses.get(schedule.paused, schedule.paused)
        lines.append(texts.wakeup_pause.format(why=why))
    else:
        late = describe_late(schedule.due, zone, texts, call.app.clock.now())
        coming = texts.wakeup_next.format(time=f"{format_stamp(schedule.due, zone)} ({zone})")
        lines.append(late or coming)
    last = schedule.last
    if last:
        is_held_back = last.outcome == "silent" and last.reason
        name = "held" if is_held_back else last.outcome
        outcome = texts.wakeup_outcomes.get(name, name)
        if last.tokens:
            outcome += f", {texts.wakeup_cost.format(tokens=last.tokens)}"
        lines.append(texts.wakeup_last.format(time=format_stamp(last.due, zone), outcome=outcome))
    if schedule.skipped:
        lines.append(texts.wakeup_skipped.format(count=schedule.skipped))
    if schedule.missed:
        lines.append(texts.wakeup_not_there.format(count=schedule.missed))
    return "\n".join(lines)


COMMANDS: Final[Commands] = {
    "wakeups": Command(
        run_wakeups,
        arguments="[pause | resume | now | drop N]",
        changes_chat=bool,
        changes_agent=is_about_everybody,
    ),
}
