"""Memory hears of what leaves a session's history: one path into HISTORY and memory, whoever takes it, that loses and doubles nothing.

The order of the writes: the entry first, which no two workers can both write and which carries what the memory shall be; then the memory;
then the session's document, which says how far memory has heard. Whoever crashes in between is gone on from where the entry is found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from math import inf

from functions.agent import context, tokens
from functions.agent.app import App, Step, Watch, unwatched
from functions.agent.aside import Aside
from functions.agent.memory import transcript
from functions.agent.memory.consolidation import PROMPT, drafted
from functions.agent.memory.history import Entry, History
from functions.agent.messages import Message
from functions.agent.record import Document
from sigil.errors import BackendError, Conflict, UsageError

TRIES = 3
"""After so many answers in a row that were of no use, the messages themselves enter HISTORY."""
ENOUGH = 10
"""So many messages that /new put away are worth a request of their own."""
TRANSCRIPT_SHARE = 0.6
"""Of what the model's window leaves: the rest is for what it writes."""
BY = "consolidation"


@dataclass(frozen=True, slots=True)
class Backlog:
    """The messages that memory has not heard of, in order. `ends`: where the archived chunks of them end, by where they begin."""

    messages: tuple[Message, ...]
    ends: Mapping[int, int]


def backlog(aside: Aside) -> Backlog:
    """What memory has not heard of: archived, said to memory alone, and still in the history. What the runtime wrote is nothing new."""
    document = aside.document
    chunks = {first: _archived(aside, first) for first in document.unheard}
    said = {message.seq: message for message in chain(document.noted, *chunks.values(), document.messages)}
    news = (said[seq] for seq in sorted(said) if seq > document.consolidated and said[seq].origin != context.OURS)
    return Backlog(tuple(news), {first: chunk[-1].seq if chunk else 0 for first, chunk in chunks.items()})


def remember(aside: Aside, known: Backlog, upto: float = inf, tries: int = 1) -> bool:
    """Tell memory of what it has not heard, up to the message `upto`, in as many entries as it takes; whether there is at least one.

    It ends after `tries` answers of no use; `aside.document` says how far it came. `BackendError` when the store cannot be used.
    """
    history, heard, raw = History(aside.app.kv, aside.session), False, False
    while news := [message for message in known.messages if aside.document.consolidated < message.seq <= upto]:
        found = history.get(news[0].seq)
        made = None if found else _made(aside, news, tries, raw)
        entry = found or (history.add(made) if made else None)
        if entry is None:
            break
        _follow(aside, history, entry)
        raw = made is not None and made.raw
        last = min(entry.last, aside.document.next_seq - 1)
        unheard = tuple(first for first in aside.document.unheard if known.ends[first] > last)
        aside.document = replace(aside.document, consolidated=last, unheard=unheard, failures=0)
        heard = True
    return heard


def passively(aside: Aside, dropped: Sequence[Message], watch: Watch = unwatched) -> None:
    """Before messages leave the history: memory hears of them, and of all that came before. When it cannot, that is for the next time.

    What /new put away does not wait for that: it is told before the next message is answered, once, when it is enough.
    """
    document = aside.document
    if not dropped and (document.failures or _waiting(document) < ENOUGH):
        return
    try:
        known = backlog(aside)
        heard = remember(aside, known, dropped[-1].seq if dropped else max(known.ends.values(), default=0))
    except BackendError:
        heard = False
    told = f"memory has heard of all up to message {aside.document.consolidated}" if heard else "memory heard of nothing this time"
    watch(Step("note", "memory", told))


def put_away(session: str, document: Document, gone: Sequence[Message], app: App) -> Document:
    """Archive messages that leave a document; it knows of those that memory has not heard of."""
    app.sessions.archive(session, gone)
    if not gone or gone[-1].seq <= document.consolidated:
        return document
    return replace(document, unheard=(*document.unheard, gone[0].seq))


def _waiting(document: Document) -> int:
    """How many messages memory has not heard of that are in the history no more."""
    here = sum(message.seq > document.consolidated for message in document.messages)
    return document.next_seq - 1 - document.consolidated - here if document.unheard else 0


def _archived(aside: Aside, first: int) -> tuple[Message, ...]:
    try:
        return aside.app.sessions.archived(aside.session, first)
    except BackendError as problem:
        if problem.code != "EDAMAGED":
            raise
        return ()


def _made(aside: Aside, news: Sequence[Message], tries: int, raw: bool) -> Entry | None:
    """The entry for the first of the messages, as many as fit into a request; None when there is none this time."""
    app = aside.app
    memory = app.documents.read(aside.session, "memory")
    room = context.room(app.model.window, tokens.of_text(PROMPT) + tokens.of_text(memory.text), aside.document.ratio)
    count, said = transcript.fitting(news, room * TRANSCRIPT_SHARE)
    first, last = news[0].seq, news[count - 1]
    for _ in range(0 if raw else tries):
        if not aside.may_ask():
            return None
        draft = drafted(aside, memory.text, said, last.at)
        if draft:
            update = draft.memory if draft.memory != memory.text else None
            return Entry(first, last.seq, app.clock.now(), draft.entry, memory=update, base=memory.version)
        if not aside.may_ask():
            return None
        aside.document = replace(aside.document, failures=aside.document.failures + 1)
        if aside.document.failures >= TRIES:
            raw = True
            break
    head = f"[{transcript.stamp(app.clock.now())}] [RAW] {count} messages"
    return Entry(first, last.seq, app.clock.now(), f"{head}\n{said}", raw=True) if raw else None


def _follow(aside: Aside, history: History, entry: Entry) -> None:
    """Make the chat's memory what the entry says. When somebody else wrote it in between, theirs stands."""
    if entry.memory is None:
        return
    why = f"messages {entry.first} to {entry.last}" if entry.last > entry.first else f"message {entry.first}"
    with suppress(Conflict, UsageError):
        aside.app.documents.write(aside.session, "memory", entry.memory, by=BY, why=why, expect=entry.base)
    history.settle(entry)
