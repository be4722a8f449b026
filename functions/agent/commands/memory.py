"""/mem, /recall and /forget: the memory of a chat, for its people.

/mem consolidates what is new into memory, with the words after the command; it also shows the
memory's versions and goes back to one. /recall and /forget work without the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from functions.agent.commands.command import (
    Command,
    CommandCall,
    CommandResult,
    Commands,
    always,
)
from functions.agent.commands.document_versions import format_versions, roll_back
from functions.agent.consolidation import TRIES, consolidate, load_backlog
from functions.agent.eviction import archive_messages
from functions.agent.memory.thing import Thing, is_id
from functions.agent.memory.things import sort_key
from functions.agent.messages import Message
from functions.agent.model.offline import sign_text
from functions.agent.services.call_context import CallContext
from functions.agent.services.search_history import HISTORY, Excerpt, search_history
from functions.agent.services.things import format_time
from functions.agent.session.document import SEEN_MOST, Document
from functions.agent.session.store import SessionHandle
from functions.agent.side_request import SideRequests
from sigil.errors import BackendError, UsageError, one_line

NOTHING_NEW: Final = "No new messages to consolidate into memory."
TRIGGERED: Final = "Memory consolidation triggered."
FAILED: Final = "Memory consolidation failed."
"""These three are taken word for word from seed 002."""
NEVER: Final = "Nothing was ever written into the memory of this chat."
BACK: Final = (
    "The memory of this chat is as in version {version} again; `/mem history` shows all of them."
)
KEPT: Final = "The memory is as it was."
_HISTORY: Final = re.compile(r"history", re.IGNORECASE | re.ASCII)
_ROLLBACK: Final = re.compile(r"rollback\s+([0-9]{1,8})", re.IGNORECASE | re.ASCII)
"""Only these words, and nothing after them, are no text to remember."""

SHOWN: Final = 10
"""/recall shows so many things, and as many excerpts of what was said."""
LINE_CHARACTERS: Final = 300
DAY: Final = len("2026-11-22")
NOTHING_YET: Final = "Nothing is remembered of this chat yet."
NOTHING_REMEMBERED: Final = f"{NOTHING_YET} /mem takes what was said here into memory."
NOT_FOUND: Final = "I found nothing about that, neither in what I remember nor in what was said."
NO_ID: Final = "Send `/forget ID`, with an id that /recall shows."
GONE: Final = "I remember nothing with this id here."


def run_mem(call: CommandCall) -> CommandResult:
    """Show the versions of the memory, go back to one, or consolidate."""
    if _HISTORY.fullmatch(call.text):
        versions = format_versions(
            call.app.documents.list_versions(call.session, "memory"), sizes=True
        )
        return call.reply("\n".join(versions) or NEVER)
    rollback = _ROLLBACK.fullmatch(call.text)
    if rollback is None:
        return _consolidate_chat(call)
    version = int(rollback[1])
    problem = roll_back(call, call.session, "memory", version)
    return call.reply(f"{KEPT} {problem}" if problem else BACK.format(version=version))


def _consolidate_chat(call: CommandCall) -> CommandResult:
    """Consolidate what is new into the memory; what cannot be done now is left for later."""
    app = call.app
    opened = _save_words(call)
    until = app.clock.monotonic() + app.turn_seconds
    aside = SideRequests(call.session, app, opened.document, until=until)
    try:
        known = load_backlog(aside)
        if known.messages:
            remembered = consolidate(aside, known, tries=TRIES)
            parts = [TRIGGERED, remembered.notice] if remembered.entries else [FAILED]
            text = "\n\n".join(filter(None, parts))
        else:  # another worker has consolidated the words of this very command meanwhile
            text = TRIGGERED if call.text else NOTHING_NEW
    except BackendError:
        text = FAILED
    if text != NOTHING_NEW:
        text = sign_text(text, app.model.name)
    return CommandResult(text, _archive_words(aside.document, call), opened, aside.trace)


def _save_words(call: CommandCall) -> SessionHandle:
    """Save the session with the words as a message of its own number, and return it.

    Whatever happens now, they are consolidated once, and by one worker.
    """
    document, event = call.document, call.event
    if not call.text or event.id in (note.origin for note in document.noted):
        return call.opened
    note = Message("user", call.text, seq=document.next_seq, at=event.at, origin=event.id)
    noted = replace(document, noted=(*document.noted, note), next_seq=document.next_seq + 1)
    return call.app.sessions.save(call.opened, noted)


def _archive_words(document: Document, call: CommandCall) -> Document:
    """Return the document with all words archived.

    Of words whose own command is still to come, from another worker, it keeps the event's id.
    """
    for note in document.noted:
        document = archive_messages(
            call.session, document, (note,) if note.content else (), call.app
        )
    others = [replace(note, content="") for note in document.noted if note.origin != call.event.id]
    return replace(document, noted=tuple(others[-SEEN_MOST:]))


def run_recall(call: CommandCall) -> CommandResult:
    """Show the chat's memory and what was remembered last, or search for the words."""
    context = _make_context(call)
    if call.text:
        return call.reply("\n\n".join(_search_memory(context, call.text)) or NOT_FOUND)
    memory = context.app.documents.read(context.session, "memory").text
    newest = _list_things("Remembered last:", context.things.list_newest(SHOWN))
    may_change = call.event.private or call.role == "owner"
    nothing = NOTHING_REMEMBERED if may_change else NOTHING_YET
    return call.reply("\n\n".join(filter(None, (memory, newest))) or nothing)


def run_forget(call: CommandCall) -> CommandResult:
    """Take one thing away, by its id.

    It is one of this chat, or one of all chats when an owner says so in private.
    """
    if not is_id(call.text):
        return call.reply(NO_ID)
    context = _make_context(call)
    with context.app.helpers.lock:
        gone = context.things.drop(call.text)
        if gone is None and context.owner:
            gone = context.shared.drop(call.text)
    return call.reply(f"Forgotten: {gone.in_words}" if gone else GONE)


def _make_context(call: CommandCall) -> CallContext:
    owner = call.role == "owner" and call.event.private
    return CallContext(call.app, call.session, owner, call.event.sender.id, call.event.id)


def _search_memory(context: CallContext, words: str) -> list[str]:
    """Return the parts of the answer: what is remembered with these words, and what was said."""
    found = [*context.things.find(words, SHOWN), *context.shared.find(words, SHOWN)]
    found.sort(key=sort_key)
    parts = [_list_things("Remembered:", [each.thing for each in found[:SHOWN]])]
    excerpts = ["Said:"]
    items: list[Excerpt] = []
    with suppress(UsageError):  # no word to search for
        items = search_history(context, {"query": words, "limit": SHOWN})["items"]
    for item in items:
        text = one_line(item["text"], LINE_CHARACTERS)
        if item["who"] == HISTORY:  # its text begins with its own date
            excerpts.append(f"- {text}")
        else:
            excerpts.append(f"- {item['at']}, {item['who']}: {text}")
    if len(excerpts) > 1:
        parts.append("\n".join(excerpts))
    return [part for part in parts if part]


def _list_things(title: str, things: Iterable[Thing]) -> str:
    """Return the title and a line for each thing; empty when there is none.

    A line says when it was written and where it is from, and `disputed` where a surer value says
    something else.
    """
    lines = []
    for thing in things:
        source = f"{format_time(thing.at)[:DAY]}, {thing.source}"
        if thing.disputed:
            source += ", disputed"
        lines.append(f"- `{thing.id}` {one_line(thing.in_words, LINE_CHARACTERS)} ({source})")
    return "\n".join([title, *lines]) if lines else ""


COMMANDS: Final[Commands] = {
    "mem": Command(
        "takes what was said here into memory, and your words with it",
        run_mem,
        arguments="[words | history | rollback N]",
        changes_chat=lambda words: _HISTORY.fullmatch(words) is None,
        asks_model=True,
        needs_no_model=lambda words: bool(_HISTORY.fullmatch(words) or _ROLLBACK.fullmatch(words)),
    ),
    "recall": Command(
        "shows what I remember here; with words, searches that and what was said",
        run_recall,
        arguments="[words]",
    ),
    "forget": Command(
        "takes one remembered thing away, by the id that /recall shows",
        run_forget,
        arguments="ID",
        changes_chat=always,
    ),
}
