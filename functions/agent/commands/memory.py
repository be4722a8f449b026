"""/mem, /recall and /forget: the memory of a chat, for its people.

/mem consolidates what is new into memory, with the words after the command; it also shows the
memory's versions and goes back to one. /recall and /forget work without the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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
from functions.agent.conversation.messages import Message, origin_of
from functions.agent.eviction import archive_messages
from functions.agent.memory.thing import Thing, is_id
from functions.agent.memory.things import Recalled, sort_key
from functions.agent.offline_signature import sign_text
from functions.agent.services.call_context import CallContext
from functions.agent.services.search_history import HISTORY, Excerpt, search_history
from functions.agent.services.things import format_time
from functions.agent.session.document import SEEN_MOST, Document
from functions.agent.session.store import SessionHandle
from functions.agent.side_request import SideRequests
from functions.texts.en import Texts
from sigil.errors import BackendError, UsageError, one_line

_HISTORY: Final = re.compile(r"history", re.IGNORECASE | re.ASCII)
_ROLLBACK: Final = re.compile(r"rollback(?:\s+(\S+))?", re.IGNORECASE | re.ASCII)
"""Only these words, and nothing after them, are no text to remember."""
_VERSION: Final = re.compile(r"[0-9]{1,8}", re.ASCII)

SHOWN: Final = 10
"""/recall shows so many things, and as many excerpts of what was said."""
LINE_CHARACTERS: Final = 300
DAY: Final = len("2026-11-22")


def run_mem(call: CommandCall) -> CommandResult:
    """Show the versions of the memory, go back to one, or consolidate."""
    texts = call.texts
    if _HISTORY.fullmatch(call.text):
        versions = format_versions(
            call.app.documents.list_versions(call.memory, "memory"), texts, sizes=True
        )
        return call.reply("\n".join(versions) or texts.mem_never)
    rollback = _ROLLBACK.fullmatch(call.text)
    if rollback is None:
        return _consolidate_chat(call)
    named = rollback[1] or ""
    if not _VERSION.fullmatch(named):
        return call.reply(f"{texts.mem_kept} {texts.mem_which}")
    version = int(named)
    problem = roll_back(call, call.memory, "memory", version)
    if problem:
        return call.reply(f"{texts.mem_kept} {problem}")
    return call.reply(texts.mem_back.format(version=version))


def _consolidate_chat(call: CommandCall) -> CommandResult:
    """Consolidate what is new into the memory; what cannot be done now is left for later."""
    app = call.app
    texts = call.texts
    denied = call.find_denial("ingest", "chat")
    if denied:
        return call.reply(denied)
    opened = _save_words(call)
    until = app.clock.monotonic() + app.turn_seconds
    aside = SideRequests(call.session, app, opened.document, until=until, event=call.event)
    try:
        known = load_backlog(aside)
        if known.messages:
            remembered = consolidate(aside, known, tries=TRIES, gate=call.make_gate())
            parts = [texts.mem_triggered, remembered.notice]
            text = "\n\n".join(filter(None, parts)) if remembered.entries else texts.mem_failed
        else:  # another worker has consolidated the words of this very command meanwhile
            text = texts.mem_triggered if call.text else texts.mem_nothing_new
    except BackendError:
        text = texts.mem_failed
    if text != texts.mem_nothing_new:
        text = sign_text(text, app.model.name, call.event.platform, texts)
    return CommandResult(text, _archive_words(aside.document, call), opened, aside.trace)


def _save_words(call: CommandCall) -> SessionHandle:
    """Save the session with the words as a message of its own number, and return it.

    Whatever happens now, they are consolidated once, and by one worker.
    """
    document, event = call.document, call.event
    if not call.text or event.id in map(_find_event, document.noted):
        return call.opened
    note = Message(
        "user",
        call.text,
        seq=document.next_seq,
        at=event.at,
        call_id=event.id,
        origin=origin_of(event, call.role),
    )
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
    others = [
        replace(note, content="", origin=_find_event(note), call_id="")
        for note in document.noted
        if _find_event(note) != call.event.id
    ]
    return replace(document, noted=tuple(others[-SEEN_MOST:]))


def _find_event(note: Message) -> str:
    """Return the id of the event that noted the words; version 0.1.0 wrote it as their origin."""
    return note.call_id or note.origin


def run_recall(call: CommandCall) -> CommandResult:
    """Show the chat's memory and what was remembered last, or search for the words."""
    context = _make_context(call)
    texts = call.texts
    if call.text:
        found = _search_memory(context, call.text, texts)
        return call.reply("\n\n".join(found) or texts.nothing_found)
    memory = context.app.documents.read(call.memory, "memory").text
    newest = _list_things(texts.remembered_last, context.things.list_newest(SHOWN), texts)
    nothing = texts.nothing_remembered
    if call.event.private or call.role == "owner":
        nothing += texts.mem_takes
    return call.reply("\n\n".join(filter(None, (memory, newest))) or nothing)


def run_forget(call: CommandCall) -> CommandResult:
    """Take one thing away, by its id.

    It is one of this chat, or one of all chats when an owner says so in private.
    """
    if not is_id(call.text):
        return call.reply(call.texts.forget_how)
    context = _make_context(call)
    still = ""
    with context.app.helpers.lock:
        gone = context.things.drop(call.text)
        if gone:
            still = context.forget_in_memory((gone,))
        elif context.owner:
            gone = context.shared.drop(call.text)
    if gone is None:
        return call.reply(call.texts.nothing_with_id)
    answer = call.texts.forgotten.format(words=gone.in_words)
    if still:
        answer = f"{answer}\n{call.texts.still_in_memory.format(line=still)}"
    return call.reply(answer)


def _make_context(call: CommandCall) -> CallContext:
    owner = call.role == "owner" and call.event.private
    return CallContext(
        call.app,
        call.session,
        owner,
        call.event.sender.id,
        call.event.id,
        call.memory,
        call.app.find_zone(call.document),
    )


def _search_memory(context: CallContext, words: str, texts: Texts) -> list[str]:
    """Return the parts of the answer: what is remembered with these words, and what was said."""
    found = [*context.things.find(words, SHOWN), *context.shared.find(words, SHOWN)]
    found.sort(key=sort_key)
    parts = [_list_things(texts.remembered, _list_with_ended(found[:SHOWN]), texts)]
    excerpts = [texts.said]
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


def _list_with_ended(found: Sequence[Recalled]) -> list[Thing]:
    """Return the things that were found, and behind each those that it ended."""
    listed: dict[str, Thing] = {}
    for each in found:
        for thing in (each.thing, *each.before):
            listed.setdefault(thing.id, thing)
    return [*listed.values()]


def _list_things(title: str, things: Iterable[Thing], texts: Texts) -> str:
    """Return the title and a line for each thing; empty when there is none.

    A line says when it was written and where it is from, `disputed` where a surer thing says
    something else, and until when it was true where it is true no longer.
    """
    lines = []
    for thing in things:
        source = f"{format_time(thing.at)[:DAY]}, {thing.source}"
        if thing.disputed:
            source += texts.disputed
        if thing.ended:
            source += texts.ended.format(day=format_time(thing.ended)[:DAY])
        lines.append(f"- `{thing.id}` {one_line(thing.in_words, LINE_CHARACTERS)} ({source})")
    return "\n".join([title, *lines]) if lines else ""


COMMANDS: Final[Commands] = {
    "mem": Command(
        run_mem,
        arguments="[words | history | rollback N]",
        changes_chat=lambda words: _HISTORY.fullmatch(words) is None,
        asks_model=True,
        needs_no_model=lambda words: bool(_HISTORY.fullmatch(words) or _ROLLBACK.fullmatch(words)),
    ),
    "recall": Command(
        run_recall,
        arguments="[words]",
    ),
    "forget": Command(
        run_forget,
        arguments="ID",
        changes_chat=always,
    ),
}
