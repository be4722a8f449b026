"""The services of an agent's own work: end it, go on with another behaviour, tell somebody, note
what was done.

A behaviour pins them. They do nothing in a person's turn.
"""

from __future__ import annotations

from typing import Final

from functions.agent.behaviours.chain import count_hops, make_next
from functions.agent.behaviours.pins import NOTE_CHARACTERS
from functions.agent.posts import OWN_WORDS, Ending, Post, ServiceAnswer
from functions.agent.sanitize import clean_text
from functions.agent.schedules.schedule import ASLEEP_MOST, HEARTBEAT
from functions.agent.services.call_context import Arguments, CallContext, OwnWork, read_text
from functions.texts.languages import load_texts
from functions.time.time_zone import format_clock
from sigil.errors import Refused, ToolError, UsageError, one_line
from sigil.protocol import Json
from sigil.storage.kv import keys

SHOWN_CHARACTERS: Final = 40
A_TIME: Final = "such as: tomorrow at 9:00, or: in 2 hours"


def sleep(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """End the run; nothing more is said.

    A run of the heartbeat may move its next look `until` a time. No other run moves anything.
    """
    work = _require_work(context)
    words = clean_text(read_text(arguments, "until"))
    if not words:
        return ServiceAnswer("the run ends here", ending=Ending())
    if work.event.data.get("wakeup") != HEARTBEAT:
        return ServiceAnswer("the run ends here; its next time stays as it is", ending=Ending())
    app = context.app
    now = app.clock.now()
    until = _read_until(words, context, now)
    heartbeat = app.schedules.sleep_until(until, now)
    said = format_clock(heartbeat.due, context.zone, now) if heartbeat else "never: it is off"
    return ServiceAnswer(f"the run ends here; the next look is at {said}", ending=Ending())


def _read_until(words: str, context: CallContext, now: float) -> float:
    """Return the one time that the words name; `UsageError` EINVAL when there is none."""
    # the patterns of all phrases take 40 ms to compile, which no other call should wait for
    from functions.agent.schedules.phrase import Question, parse_when

    try:
        when, rest = parse_when(words, now, context.zone, load_texts("en"))
    except Question as question:
        raise UsageError("EINVAL", question.message, suggestion=A_TIME) from None
    if when.kind != "at" or rest or not now < when.at <= now + ASLEEP_MOST:
        raise UsageError("EINVAL", "until is one time of the next seven days", suggestion=A_TIME)
    return when.at


def go_on_with(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """End the run, and let another behaviour go on in the same session.

    `UsageError` for one that does not exist, and `ToolError` when the chain is as long as it may
    be: the run stays then.
    """
    work = _require_work(context)
    name = read_text(arguments, "name")
    context.app.require_behaviour(name)
    if count_hops(work.event) >= work.behaviour.limits.hops:
        raise ToolError(
            "ELIMIT",
            f"at most {work.behaviour.limits.hops} other behaviours follow in one run",
            suggestion="finish here, or end with sleep",
            reason="behaviours",
        )
    post = make_next(work.event, work.task, name)
    context.posts.take(1)
    return ServiceAnswer(f"{name} goes on from here", (post,), ending=Ending(name))


def tell(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """Say a text in the chat that the work belongs to, or in another one of the same person.

    Quiet hours hold it back as they do with everything that nobody asked for.
    """
    work = _require_work(context)
    data = work.event.data
    home = data.get("home")
    if not isinstance(home, str) or not home:
        raise ToolError(
            "ENOENT",
            "this work belongs to no chat",
            suggestion="write it into your answer, or remember it",
            reason="no-chat",
        )
    text = read_text(arguments, "text")
    if not text:
        raise UsageError("EINVAL", "text: there is nothing to say")
    to = read_text(arguments, "to") or home
    if to != home and to not in _list_chats_beside(context, home):
        raise Refused(
            "EPERM",
            f"{one_line(to, SHOWN_CHARACTERS)} is no chat of the person whose work this is",
            suggestion="leave out to: it is said in the chat that the work belongs to",
            reason="other-chat",
        )
    context.gate.require("say", to)
    agent = str(data.get("home_agent") or keys.root_of(context.app.name))
    origin: dict[str, Json] = {OWN_WORDS: True}
    if data.get("from"):
        origin["from"] = data["from"]
    context.posts.take(1)
    return ServiceAnswer(f"it is said in {to}", (Post("say", agent, to, text, data=origin),))


def note_work(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """Note what the run did, for those who look after the agent: the record of the run keeps it."""
    _require_work(context)
    text = one_line(clean_text(read_text(arguments, "text")), NOTE_CHARACTERS)
    if not text:
        raise UsageError("EINVAL", "text: there is nothing to note")
    context.notes.take()
    return ServiceAnswer("noted", note=context.app.redact(text))


def _list_chats_beside(context: CallContext, home: str) -> set[str]:
    """Return the private chats that the person of a chat has linked with it."""
    app = context.app
    opened = app.sessions.open(keys.session_of(app.name, home))
    scope = opened.document.memory
    if not scope:
        return set()
    return {chat.session for chat in app.links.list_chats(scope)}


def _require_work(context: CallContext) -> OwnWork:
    if context.work is None:
        raise ToolError(
            "ENOTOOL",
            "this is only there in work of your own",
            suggestion="answer the person who wrote",
            reason="own-work",
        )
    return context.work
