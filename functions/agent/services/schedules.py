"""`schedule-wakeup`, `list-wakeups` and `cancel-wakeup`: what happens in a chat at its own time.

They are what `/remind` and `/wakeups` are for people, in the words of a model, and allow no more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from functions.agent.language import choose_texts_of
from functions.agent.sanitize import clean_text
from functions.agent.schedules.chat_schedules import ChatSchedule
from functions.agent.schedules.schedule import (
    NAME_CHARACTERS,
    SCHEDULES_MOST,
    Schedule,
)
from functions.agent.schedules.time_field import read_time
from functions.agent.schedules.when import When
from functions.agent.services.call_context import (
    Arguments,
    CallContext,
    read_flag,
    read_number,
    read_text,
)
from functions.texts.en import Texts
from functions.time.time_zone import DAY_SECONDS, find_zone, to_local
from sigil.errors import Refused, UsageError, one_line
from sigil.protocol import Json
from sigil.storage.kv import keys

if TYPE_CHECKING:
    from functions.agent.app import App

SCHEDULE, LIST, CANCEL = "schedule-wakeup", "list-wakeups", "cancel-wakeup"
TIMES_MOST: Final = 1_000
SHOWN_CHARACTERS: Final = 200
TEXT_OR_SAY: Final = "text is what you will do then; say is what is said then, as it stands"


@dataclass(frozen=True, slots=True)
class _Home:
    """The chat that a call is about: its time zone, and the texts in its language."""

    app: App
    session: str
    zone: str
    texts: Texts


def schedule_wakeup(context: CallContext, arguments: Arguments) -> Json:
    """Schedule something in the chat, and return its next times and how to say them.

    Asking for the same again changes nothing, but lets it go on where it was paused. `UsageError`
    EINVAL with a question to the person where a time has two readings or none.
    """
    home = _find_home(context, clean_text(read_text(arguments, "when")))
    _require_rights(context)
    text = read_text(arguments, "text")
    say = read_text(arguments, "say")
    if bool(text) == bool(say):
        raise UsageError("EINVAL", "give either text or say", suggestion=TEXT_OR_SAY)
    if text and context.role == "guest" and not context.app.rules.may_work("guest"):
        raise Refused(
            "EPERM",
            "no work is done for guests",
            suggestion="use say instead of text",
            reason="no-guests",
        )
    # a message that waited means the time at which it was sent, and so does a call that runs again
    now = context.app.clock.now()
    if context.asked_at and abs(now - context.asked_at) < DAY_SECONDS:
        now = min(now, context.asked_at)
    wanted = Schedule(
        id="",
        when=_read_when(arguments, now, home, clean_text(text or say)),
        session=home.session,
        by=context.by,
        since=now,
        text=clean_text(text),
        say=clean_text(say),
        name=one_line(clean_text(read_text(arguments, "name")), NAME_CHARACTERS),
        language=home.texts.code,
    )
    with context.app.helpers.lock:  # calls that run side by side would take the same place
        made, is_new = context.app.schedules.add(wanted, context.find_holder())
    if made.paused:
        made = context.app.schedules.resume(made.id, context.app.clock.now()) or made
    answer = {**_describe(made, home, now), "new": is_new}
    if home.session.startswith("terminal:"):
        answer["note"] = home.texts.remind_at_terminal
    return answer


def list_wakeups(context: CallContext, arguments: Arguments) -> Json:
    """Return what is scheduled in the chat, by number."""
    home = _find_home(context)
    now = context.app.clock.now()
    found = context.app.open_chat_schedules(home.session).list()
    items: list[Json] = []
    for row in found:
        each = row.schedule
        item = {**_describe(each, home, now), "runs": each.runs}
        if row.agent:
            item["agent"] = row.agent
        if each.last:
            item["last"] = each.last.outcome
        items.append(item)
    return {"items": items, "found": len(items), "zone": home.zone}


def cancel_wakeup(context: CallContext, arguments: Arguments) -> Json:
    """Drop a schedule of the chat, or pause it, by its id or its number.

    One that is paused already stays paused, so that the call may run again.
    """
    home = _find_home(context)
    _require_rights(context)
    found = _find_schedule(context, home, read_text(arguments, "id"))
    schedules = found.schedules
    known = found.schedule
    answer: dict[str, Json] = {"id": known.id, "number": known.number, "title": known.title}
    if read_flag(arguments, "pause"):
        schedules.pause(known.id)
        return {**answer, "paused": True}
    schedules.drop(known.id)
    return {**answer, "cancelled": True}


def _find_home(context: CallContext, words: str = "") -> _Home:
    """Return the chat of a call; for work of the agent's own that is the one it belongs to.

    The words of a time tell the language in which it is said again.
    """
    app = context.app
    if not context.home:
        raise UsageError(
            "ENOENT",
            "this work belongs to no chat",
            suggestion="nothing can be scheduled here",
            reason="no-chat",
        )
    document = app.sessions.open(keys.session_of(app.name, context.home)).document
    texts = choose_texts_of(document, context.home)
    if words:
        from functions.agent.schedules.description import choose_texts_of_time

        texts = choose_texts_of_time(words, texts, document)
    return _Home(app, context.home, app.find_zone(document), texts)


def _require_rights(context: CallContext) -> None:
    """Raise `Refused` EPERM for somebody who is no owner and asks in a group, as for `/remind`."""
    if not context.private and context.role != "owner":
        raise Refused(
            "EPERM",
            "in a group only owners change what is scheduled",
            suggestion="say so; in a private chat everybody may",
            reason="owner-only",
        )


def _read_when(arguments: Arguments, now: float, home: _Home, said: str) -> When:
    """Return the times that the arguments ask for; `UsageError` where they are not plain.

    What is `said` or done then may stand in the words of the time as well.
    """
    zone = home.zone
    named = read_text(arguments, "zone")
    if named:
        zone = find_zone(named)
        if not zone:
            from functions.agent.schedules.phrase import ask_for_zone

            raise UsageError(
                "EINVAL",
                ask_for_zone(one_line(named, NAME_CHARACTERS), now, home.texts).message,
                suggestion="give its IANA name (AREA/CITY); ask rather than guess",
            )
    words = clean_text(read_text(arguments, "when"))
    until = clean_text(read_text(arguments, "until"))
    when = read_time(words, now, zone, home.texts, until, said=said)
    if arguments.get("times") is None or when.kind == "at":
        return when
    return replace(when, times=read_number(arguments, "times", 1, TIMES_MOST))


def _find_schedule(context: CallContext, home: _Home, named: str) -> ChatSchedule:
    """Return the schedule of the chat with an id or a number; `UsageError` ENOENT for none."""
    found: ChatSchedule | None = None
    there = context.app.open_chat_schedules(home.session)
    plain = named.removeprefix("#")
    if plain.isascii() and plain.isdigit() and len(plain) <= len(str(SCHEDULES_MOST**2)):
        found = there.find_numbered(int(plain))
    elif named:
        # those of other chats are not there, whatever their ids are
        found = there.find(named)
    if found is None:
        raise UsageError(
            "ENOENT",
            f"nothing here has the id {one_line(named, NAME_CHARACTERS)!r}",
            suggestion=f"{LIST} tells the ids and numbers of this chat",
        )
    return found


def _describe(schedule: Schedule, home: _Home, now: float) -> dict[str, Json]:
    """Return a schedule as the model reads it: what, when, and how to say when to the person."""
    from functions.agent.schedules.description import describe_next, describe_when

    zone = schedule.when.zone
    times = schedule.list_coming()
    said = describe_when(schedule.when, home.texts, now)
    if len(times) > 1:
        mark = "。" if home.texts.code == "zh" else ". "
        said = f"{said}{mark}{describe_next(times, zone, home.texts)}"
    item: dict[str, Json] = {
        "id": schedule.id,
        "number": schedule.number,
        "in_words": said,
        "next": [to_local(each, zone).isoformat(timespec="minutes") for each in times],
        "zone": zone,
    }
    if schedule.name:
        item["name"] = schedule.name
    shown = one_line(schedule.say or schedule.text, SHOWN_CHARACTERS)
    item["say" if schedule.say else "text"] = shown
    if schedule.paused:
        item["paused"] = schedule.paused
    return item
