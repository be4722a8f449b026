"""/snooze says a reminder once more, later, and /done is rid of it.

A few plain words right below a reminder, such as “later” and “done”, do the same without a model,
and so do the buttons below it, whose commands name the reminder by its id.
"""

from __future__ import annotations

import re
from typing import Final

from functions.agent.app import App
from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands, always
from functions.agent.conversation.messages import (
    MAIL_ORIGIN,
    RUNTIME_ORIGIN,
    SAID_FOR_OTHERS,
    SAID_NOTE,
    read_inbox,
)
from functions.agent.sanitize import clean_text, sanitize_text
from functions.agent.schedules.chat_schedules import ChatSchedule
from functions.agent.schedules.schedule import Schedule
from functions.agent.schedules.when import When
from functions.channels.platforms import has_private_chats
from functions.events import Button
from functions.texts.en import Texts
from functions.time.time_zone import DAY_SECONDS, format_clock
from sigil.errors import Refused, UsageError, one_line

LATER_SECONDS: Final = 600
"""“Later” alone means so many seconds."""
SHOWN_CHARACTERS: Final = 200
ANSWER_CHARACTERS: Final = 60
_IDENTIFIED: Final = re.compile(r"([0-9a-f]{12})(?:\s+(\S.*))?", re.DOTALL | re.ASCII)
"""The id of a reminder, which a button sends, and the words behind it."""
_NUMBERED: Final = re.compile(r"#?(\d{1,9})\s+(\S.*)", re.DOTALL | re.ASCII)
_NUMBER: Final = re.compile(r"#?(\d{1,9})", re.ASCII)
_CJK: Final = re.compile("[\u3400-\u9fff]")
_SAID_NOTES: Final = (SAID_NOTE.partition("{")[0], SAID_FOR_OTHERS.partition("{")[0])
"""How the lines begin that stand above what was said by itself."""
_EDGE: Final = " \t\n.!,。！，~"
_DONE: Final = re.compile(
    r"(?:all |already )?done|(?:it['’]s |it is )?done|did it"
    r"|(?:我)?(?:已经?)?(?:完成|做完|搞定|做好)了?|(?:ist |schon )?erledigt",
    re.IGNORECASE,
)
_LATER: Final = re.compile(
    r"(?:please )?"
    r"(?:snooze(?: it| this)?(?: for| until| till)?|(?:remind me )?later|remind me again"
    r"|sp(?:ä|ae)ter(?: nochmal)?|erinner[en]? mich (?:sp(?:ä|ae)ter|noch ?mal)"
    r"|(?:稍后|稍後|等会儿?|过会儿?|推迟|延后)(?:再?提醒我?)?)"
    r"(?P<words>(?:[\s,，]|(?<=[\u3400-\u9fff])).*)?",
    re.IGNORECASE,
)


def run_snooze(call: CommandCall) -> CommandResult:
    """Say the last reminder of the chat, or the one of a number, once more at a later time."""
    texts = call.texts
    match = _IDENTIFIED.fullmatch(call.text)
    if match:
        return _snooze_identified(call, match[1], match[2] or "")
    number, words = _split_number(call)
    reminder = _find_said(call, number)
    if reminder is None:
        return call.reply(_tell_unknown(number, texts))
    try:
        when = _read_time(words, call)
    except UsageError as question:
        return call.reply(question.message)
    return _snooze(call, reminder, when)


def run_done(call: CommandCall) -> CommandResult:
    """End the last reminder of the chat, or the one of a number: it is not said once more."""
    texts = call.texts
    named = _IDENTIFIED.fullmatch(call.text)
    if named:
        reminder = _find_identified(call, named[1])
        if reminder is None:
            return call.reply(texts.snooze_none)
        return _tell_done(call, reminder) if _is_done(call, reminder) else _end(call, reminder)
    match = _NUMBER.fullmatch(call.text)
    if call.text and not match:
        return call.reply(texts.snooze_how)
    number = int(match[1]) if match else 0
    reminder = _find_said(call, number)
    if reminder is None:
        return call.reply(_tell_unknown(number, texts))
    return _end(call, reminder)


def _snooze_identified(call: CommandCall, id: str, words: str) -> CommandResult:
    """Say the reminder of an id once more. The same button pressed again changes nothing."""
    reminder = _find_identified(call, id)
    if reminder is None:
        return call.reply(call.texts.snooze_none)
    if _is_done(call, reminder):
        return _tell_done(call, reminder)
    try:
        when = _read_time(words, call)
    except UsageError as question:
        return call.reply(question.message)
    wait = when.at - call.find_time()
    for each in _list_extra(call, _find_root(reminder)):
        known = each.schedule
        is_same_wait = abs(known.when.at - known.since - wait) < 1.0
        if known.when.at == when.at or is_same_wait:
            return call.reply(_describe_snooze(call, reminder, known.when))
    return _snooze(call, reminder, when)


def make_buttons(id: str, chat: str, app: App, texts: Texts) -> tuple[Button, ...]:
    """Return the buttons below a reminder. What they send is a command like any other.

    In a group only owners may snooze, so there are none, but where there are no other chats.
    """
    if has_private_chats(chat) and not app.private_chats.is_private(chat):
        return ()
    return (
        # WhatsApp shows the first three
        Button(texts.button_done, f"/done {id}"),
        Button(texts.button_ten_minutes, f"/snooze {id} 10m"),
        Button(texts.button_hour, f"/snooze {id} 1h"),
        Button(texts.button_tomorrow, f"/snooze {id} tomorrow"),
    )


def answer_reminder(call: CommandCall) -> CommandResult | None:
    """Snooze or end the reminder that a message stands right below, where its words mean nothing
    else; None for every other message.

    It has to be the person's own chat, and the last thing said there one reminder, of this day.
    """
    event = call.event
    text = clean_text(event.text).strip(_EDGE)
    if not event.private or not 0 < len(text) <= ANSWER_CHARACTERS or event.attachments:
        return None
    done = _DONE.fullmatch(text)
    later = None if done else _LATER.fullmatch(text)
    messages = call.document.messages[-2:]
    if not (done or later) or len(messages) < 2:
        return None
    note, said = messages
    is_ours = note.origin == RUNTIME_ORIGIN and note.content.startswith(_SAID_NOTES)
    if not is_ours or call.app.clock.now() - said.at > DAY_SECONDS:
        return None
    if said.origin == MAIL_ORIGIN:
        texts = [text for _, text in read_inbox(said)]
    elif said.role == "assistant":  # earlier versions had reminders in the history so
        texts = [said.content]
    else:
        return None
    if any(not (quote.relation == "reply" and quote.ours) for quote in event.quotes):
        return None
    shown = [part for text in texts for part in text.split("\n\n")]
    said_here = [each.schedule for each in _list_said(call)]
    there = [each for each in said_here if _read_as_said(each, call) in shown]
    if len({_find_root(each) for each in there}) != 1:
        return None
    if done:
        return _end(call, there[-1])
    try:
        when = _read_time((later["words"] or "").strip(_EDGE) if later else "", call)
    except UsageError:
        return None
    if call.begin_turn() is not None:
        return None  # the turn that follows says so
    return _snooze(call, there[-1], when)


def _read_as_said(schedule: Schedule, call: CommandCall) -> str:
    """Return a reminder's words as the history has them."""
    return sanitize_text(call.app.redact(clean_text(schedule.say)))


def _split_number(call: CommandCall) -> tuple[int, str]:
    """Return the number of a reminder and the words of a time: `3 10m`, but not `3 days`."""
    match = _NUMBERED.fullmatch(call.text)
    if match:
        try:
            _read_time(match[2], call)
        except UsageError:
            return 0, call.text
        return int(match[1]), match[2]
    return 0, call.text


def _tell_unknown(number: int, texts: Texts) -> str:
    return texts.wakeup_unknown.format(number=number) if number else texts.snooze_none


def _list_said(call: CommandCall) -> list[ChatSchedule]:
    """Return the reminders that were said in the chat in the last month, the last one last.

    One that is over is kept so long.
    """
    found = [
        (each.schedule.last.ended, each.schedule.number, each)
        for each in call.schedules.scan()
        if each.schedule.say and not each.schedule.is_extra and each.schedule.last
    ]
    return [each for _, _, each in sorted(found, key=lambda row: row[:2])]


def _find_said(call: CommandCall, number: int) -> Schedule | None:
    found = [each.schedule for each in _list_said(call)]
    found = [each for each in found if number in (0, each.number)]
    return found[-1] if found else None


def _find_identified(call: CommandCall, id: str) -> Schedule | None:
    found = [each.schedule for each in _list_said(call) if each.schedule.id == id]
    return found[-1] if found else None


def _is_done(call: CommandCall, reminder: Schedule) -> bool:
    """Return whether somebody has said so since the reminder was said last."""
    last = reminder.last
    ids = (reminder.id, _find_root(reminder))
    done = [each.schedule.done for each in call.schedules.scan() if each.schedule.id in ids]
    return last is not None and max(done, default=0.0) >= last.ended


def _tell_done(call: CommandCall, reminder: Schedule) -> CommandResult:
    shown = one_line(reminder.say, SHOWN_CHARACTERS)
    return call.reply(call.texts.reminder_is_done.format(text=shown))


def _find_root(reminder: Schedule) -> str:
    """Return the id of the reminder that somebody made, of which this may be one time more."""
    return reminder.snoozed or reminder.id


def _list_extra(call: CommandCall, root: str) -> list[ChatSchedule]:
    """Return the times to come that a reminder was snoozed to: one, but after a crash."""
    return [each for each in call.schedules.list() if each.schedule.snoozed == root]


def _read_time(words: str, call: CommandCall) -> When:
    """Return the one time that words mean, `10m` as well; `UsageError` with a question else."""
    # the patterns take 40 ms to compile, which no other message should wait for
    from functions.agent.schedules.phrase import Question, parse_when

    texts = call.texts
    now = call.find_time()
    zone = call.app.find_zone(call.document)
    if not words:
        return When(kind="at", at=now + LATER_SECONDS, zone=zone)
    after = f"{words}后" if _CJK.search(words) else f"in {words}"
    asked: UsageError | None = None
    for each in (after, words) if words[0].isdigit() else (words, after):
        try:
            when, rest = parse_when(each, now, zone, texts)
        except Question as question:
            if question.key != "when_no_time":
                asked = asked or question
            continue
        if not rest and when.kind == "at":
            return when
    raise asked or UsageError("EINVAL", texts.snooze_how)


def _snooze(call: CommandCall, reminder: Schedule, when: When) -> CommandResult:
    texts = call.texts
    now = call.find_time()
    denied = call.find_denial("schedule")
    if denied:
        return call.reply(denied)
    root = _find_root(reminder)
    before = _list_extra(call, root)
    wanted = Schedule(
        id="",
        when=when,
        session=call.event.session,
        by=call.event.behalf,
        since=now,
        say=reminder.say,
        name=reminder.name,
        language=texts.code,
        snoozed=root,
    )
    try:
        # the time that it was snoozed to before leaves its place
        made, _ = call.app.schedules.add(wanted, None if before else call.find_holder())
    except Refused as refusal:
        from functions.agent.shares import tell_taken

        return call.reply(tell_taken(refusal, texts.remind_full, texts))
    except UsageError:
        return call.reply(texts.remind_over)
    # the new one comes first: after a crash in between there are two, and the turn runs again
    for each in before:
        if each.schedule.id != made.id:
            each.schedules.drop(each.schedule.id)
    return call.reply(_describe_snooze(call, reminder, when))


def _describe_snooze(call: CommandCall, reminder: Schedule, when: When) -> str:
    """Return the sentences that say when a reminder is said once more."""
    from functions.agent.schedules.description import describe_when

    texts = call.texts
    said = texts.snooze_set.format(
        text=one_line(reminder.say, SHOWN_CHARACTERS),
        when=describe_when(when, texts, call.find_time()),
    )
    if reminder.when.kind != "at" and not reminder.is_over:
        said = f"{said} {texts.snooze_keeps}"
    if call.event.platform == "terminal":
        said = f"{said} {texts.remind_at_terminal}"
    return said


def _end(call: CommandCall, reminder: Schedule) -> CommandResult:
    """Drop the times that a reminder was snoozed to; one that comes again keeps its own."""
    texts = call.texts
    root = _find_root(reminder)
    for each in _list_extra(call, root):
        each.schedules.drop(each.schedule.id)
    # the buttons that are left below it say so
    for each in list(call.schedules.scan()):
        if each.schedule.id in (root, reminder.id) and each.schedule.last:
            each.schedules.note_done(each.schedule.id, call.app.clock.now())
    said = texts.reminder_done.format(text=one_line(reminder.say, SHOWN_CHARACTERS))
    found = call.schedules.find(root)
    if found and not found.schedule.paused:
        known = found.schedule
        time = format_clock(known.due, known.when.zone, call.app.clock.now())
        said = f"{said} {texts.reminder_again.format(time=time)}"
    return call.reply(said)


COMMANDS: Final[Commands] = {
    "snooze": Command(run_snooze, arguments="[N] [TIME]", changes_chat=always, stores=always),
    "done": Command(run_done, arguments="[N]", changes_chat=always),
}
