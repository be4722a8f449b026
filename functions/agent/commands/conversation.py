"""/context, /compact, /history, /export and /btw: the conversation itself, for its people.

/context and /history only read. /compact archives what is old. /btw asks the model beside the
conversation, which keeps nothing of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import Final

from functions.agent.commands.command import (
    Command,
    CommandCall,
    CommandResult,
    Commands,
    always,
)
from functions.agent.context import STATIC_TOKENS
from functions.agent.conversation import compaction, tokens
from functions.agent.conversation.messages import (
    MAIL_ORIGIN,
    RUNTIME_ORIGIN,
    Message,
    read_inbox,
    sender_name,
)
from functions.agent.conversation.toolset import in_scope
from functions.agent.eviction import apply_compaction, note_native_calls
from functions.agent.memory import transcript
from functions.agent.sanitize import clean_text, delimit_lines, delimit_text
from functions.agent.side_request import SideRequests, explain_error
from functions.time.time_zone import format_stamp
from sigil.errors import one_line

SHOWN: Final = 10
"""/history shows so many messages, unless it is told how many."""
SHOWN_MOST: Final = 50
LINE_CHARACTERS: Final = 300
EXPORT_NAME: Final = "conversation.md"
EXPORT_CHARACTERS: Final = 90_000
"""An export has so many characters, the newest ones."""
FIRST_STRETCH: Final = 200
"""An export first looks at so many of the newest messages."""
ASIDE_SHARE: Final = 0.4
"""The part of the window that the conversation takes in a side question."""
ASIDE_PROMPT: Final = (
    "The user asks a side question, between <<QUESTION>> and <</QUESTION>>. Answer it briefly, in"
    " the user's language, from what you know and from the conversation. You have no tools here."
    " Say so when it needs one."
)
_COUNT = re.compile(r"[0-9]{1,4}", re.ASCII)


def run_context(call: CommandCall) -> CommandResult:
    """Show what fills the model's window, by part."""
    texts = call.texts
    document = call.document
    preamble = call.app.build_preamble(call.memory, chat=call.event.session)
    memory = sum(tokens.of_text(text) for name, text in preamble.segments if "memory" in name)
    parts = {
        "instructions": preamble.tokens - memory,
        "memory": memory,
        "tools": STATIC_TOKENS + tokens.of_offers(in_scope(document.messages)),
        "people": _count_tokens(document.messages, "user"),
        "answers": _count_tokens(document.messages, "assistant"),
        "results": _count_tokens(document.messages, "tool"),
    }
    window = call.app.model.window
    used = sum(parts.values()) * document.ratio
    lines = [
        texts.context_head.format(window=window, used=round(used), share=f"{used / window:.0%}")
    ]
    for name, estimate in parts.items():
        count = round(estimate * document.ratio)
        lines.append(texts.context_line.format(part=texts.context_parts[name], count=count))
    return call.reply("\n".join(lines))


def _count_tokens(messages: Sequence[Message], role: str) -> float:
    return tokens.of_messages(message for message in messages if message.role == role)


def run_compact(call: CommandCall) -> CommandResult:
    """Archive all but the first message and the last ones, as a full window does.

    The turn archives what is not in the document any more, and memory hears of it with the next
    message.
    """
    texts = call.texts
    document = call.document
    compacted = compaction.compact(document.messages, inf, most=compaction.KEPT + 1)
    if not compacted.dropped:
        return call.reply(texts.compact_nothing.format(count=len(document.messages)))
    note_native_calls(call.session, compacted.dropped, call.app)
    shorter = apply_compaction(document, compacted, call.app, _ask_nobody)
    gone = len(compacted.dropped)
    text = texts.compacted.format(count=gone, kept=len(compacted.kept))
    return CommandResult(text, shorter)


def _ask_nobody(system: str, text: str) -> str:
    """Return no answer: a command that makes room asks the model for no note."""
    return ""


def run_history(call: CommandCall) -> CommandResult:
    """Show the last messages of the conversation, a line each."""
    texts = call.texts
    if call.text and not _COUNT.fullmatch(call.text):
        return call.reply(texts.history_how.format(most=SHOWN_MOST))
    count = min(int(call.text), SHOWN_MOST) if call.text else SHOWN
    said = _list_said(call.document.messages)
    if not said:
        return call.reply(texts.history_none)
    lines = []
    zone = call.app.find_zone(call.document)
    for message in said[max(len(said) - count, 0) :]:
        who, text = _describe_said(message, call)
        stamp = format_stamp(message.at, zone)
        lines.append(f"- {stamp}, {who}: {one_line(text, LINE_CHARACTERS)}")
    return call.reply("\n".join(lines) or texts.history_none)


def run_export(call: CommandCall) -> CommandResult:
    """Return the conversation as one file, with what was archived of it, the newest when it is
    long.
    """
    texts = call.texts
    parts: list[str] = []
    left = EXPORT_CHARACTERS
    zone = call.app.find_zone(call.document)
    for message in _scan_said_backwards(call):
        stamp = format_stamp(message.at, zone)
        who, text = _describe_said(message, call)
        part = f"**{stamp}, {who}**\n\n{clean_text(text).strip()}"
        if len(part) > left:
            parts.append(texts.export_cut)
            break
        parts.append(part)
        left -= len(part)
    if not parts:
        return call.reply(texts.history_none)
    return replace(call.reply("\n\n".join(reversed(parts))), file_name=EXPORT_NAME)


def _scan_said_backwards(call: CommandCall) -> Iterator[Message]:
    """Yield what people and the agent said, from the newest back, as far as somebody reads.

    The store scans forwards alone, so the archive is read in stretches of numbers, each twice as
    long as the one after it. A chunk has the number of its first message, and may go on with
    messages from after the next chunk: those before a gap are yielded when it is filled.
    """
    found = {message.seq: message for message in call.document.messages}
    unread = call.document.next_seq
    following = unread
    stretch = FIRST_STRETCH
    while True:
        while following - 1 in found:
            following -= 1
            yield from _list_said([found.pop(following)])
        if unread <= 1:
            break
        lower = max(unread - stretch, 1)
        for _, chunk in call.app.sessions.scan_archive(call.session, lower - 1, unread):
            for message in chunk:
                if message.seq < following:  # a crash may have left it in the history as well
                    found.setdefault(message.seq, message)
        unread = lower
        stretch *= 2
    yield from _list_said([found[seq] for seq in sorted(found, reverse=True)])


def _list_said(messages: Sequence[Message]) -> list[Message]:
    """Return what people and the agent said to each other."""
    return [
        message
        for message in messages
        if message.content.strip()
        and message.role in ("user", "assistant")
        and message.origin != RUNTIME_ORIGIN
    ]


def _describe_said(message: Message, call: CommandCall) -> tuple[str, str]:
    """Return who said a message, and what they said."""
    if message.role == "assistant":
        return call.app.name, message.content
    if message.origin == MAIL_ORIGIN:
        mails = read_inbox(message)
        senders = ", ".join(dict.fromkeys(sender for sender, _ in mails))
        return senders or MAIL_ORIGIN, "\n\n".join(text for _, text in mails) or message.content
    return sender_name(message.origin) or call.texts.history_you, message.content


def run_btw(call: CommandCall) -> CommandResult:
    """Answer a side question from the conversation; neither enters it."""
    texts = call.texts
    app = call.app
    if not call.text:
        return call.reply(texts.btw_how)
    aside = SideRequests(
        call.session,
        app,
        call.document,
        until=app.clock.monotonic() + app.turn_seconds,
        event=call.event,
    )
    preamble = app.build_preamble(call.memory, chat=call.event.session)
    said = _list_said(call.document.messages)
    zone = app.find_zone(call.document)
    text = transcript.format_newest(said, app.model.window * ASIDE_SHARE, zone)
    conversation = delimit_lines("CONVERSATION", text)
    question = delimit_text("QUESTION", call.text)
    reply = aside.ask(f"{preamble.text}\n{ASIDE_PROMPT}", f"{conversation}\n\n{question}")
    if reply.finish == "error":
        answer = texts.could_not_answer.format(why=explain_error(reply, texts))
    else:
        answer = clean_text(reply.text).strip() or texts.no_answer
    return CommandResult(answer, aside.document, trace=aside.trace)


COMMANDS: Final[Commands] = {
    "context": Command(run_context),
    "compact": Command(run_compact, changes_chat=always),
    "history": Command(run_history, arguments="[N]"),
    "export": Command(run_export, changes_chat=always),
    "btw": Command(
        run_btw,
        arguments="QUESTION",
        asks_model=True,
        needs_no_model=lambda words: not words,
        works_for=lambda reader: reader.has_model,
    ),
}
