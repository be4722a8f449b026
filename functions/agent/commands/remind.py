"""/remind says something in a chat at a time that is written in plain words, without a model."""

from __future__ import annotations

import re
from typing import Final

from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands, always
from functions.agent.schedules.schedule import TEXT_CHARACTERS, Schedule
from functions.agent.schedules.when import list_next
from sigil.errors import Refused, UsageError, one_line

SHOWN_CHARACTERS: Final = 200
_MYSELF: Final = re.compile(r"me\b\s*(?:to\b\s*)?|mich\b\s*|我", re.IGNORECASE)


def run_remind(call: CommandCall) -> CommandResult:
    """Schedule a reminder, and repeat its time with the zone and the times that come next."""
    # the patterns of all phrases take 40 ms to compile, which no other message should wait for
    from functions.agent.schedules.description import (
        choose_texts_of_time,
        describe_next,
        describe_when,
    )
    from functions.agent.schedules.phrase import Question, parse_when

    texts = call.texts
    words = _MYSELF.sub("", call.text, count=1) if _MYSELF.match(call.text) else call.text
    if not words:
        return call.reply(texts.remind_how)
    texts = choose_texts_of_time(words, texts, call.document)
    now = call.find_time()
    zone = call.app.find_zone(call.document)
    try:
        when, text = parse_when(words, now, zone, texts)
    except Question as question:
        return call.reply(question.message)
    if not text:
        return call.reply(texts.remind_of_what)
    if len(text) > TEXT_CHARACTERS:
        return call.reply(texts.remind_too_long.format(most=TEXT_CHARACTERS))
    denied = call.find_denial("schedule")
    if denied:
        return call.reply(denied)
    wanted = Schedule(
        id="",
        when=when,
        session=call.event.session,
        by=call.event.behalf,
        since=now,
        say=text,
        language=texts.code,
    )
    try:
        made, is_new = call.app.schedules.add(wanted, call.find_holder())
    except Refused as refusal:
        from functions.agent.shares import tell_taken

        return call.reply(tell_taken(refusal, texts.remind_full, texts))
    except UsageError:
        return call.reply(texts.remind_over)
    pattern = texts.remind_set if is_new else texts.remind_known
    shown = one_line(text, SHOWN_CHARACTERS)
    said = pattern.format(text=shown, when=describe_when(when, texts, now), number=made.number)
    times = list_next(when, now, began=made.since)
    if len(times) > 1:
        said = f"{said} {describe_next(times, when.zone, texts)}"
    if call.event.platform == "terminal":
        said = f"{said} {texts.remind_at_terminal}"
    return call.reply(said)


COMMANDS: Final[Commands] = {
    "remind": Command(run_remind, arguments="TIME TEXT", changes_chat=always, stores=bool),
}
