"""Memory hears of what leaves a session's history: one path into HISTORY and memory, whoever takes
it, that loses and doubles nothing.

The order of the writes: the entry first, which no two workers can both write and which carries what
the memory shall be; then the memory; then the session's document, which says how far memory has
heard. Whoever crashes in between is gone on from where the entry is found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from math import inf

from functions.agent import context, tokens
from functions.agent.app import App, Step, Watch, unwatched
from functions.agent.consolidation import PROMPT, Draft, drafted
from functions.agent.memory import transcript
from functions.agent.memory.history import History, HistoryEntry, Removal, RemovedStatements
from functions.agent.memory.statements import compare
from functions.agent.messages import RUNTIME_ORIGIN, Message
from functions.agent.session.document import Document, Outgoing
from functions.agent.side_request import Aside
from sigil.errors import BackendError, Conflict, UsageError
from sigil.storage.kv import keys

TRIES = 3
"""After so many answers in a row that were of no use, the messages themselves enter HISTORY."""
ENOUGH = 10
"""So many messages that /new put away are worth a request of their own."""
TRANSCRIPT_SHARE = 0.6
"""Of what the model's window leaves: the rest is for what it writes."""
BY = "consolidation"
REFUSED = (
    "I kept what I remember of this chat: the model wrote my memory anew without {lost:,} of the"
    " {count:,} things in it, twice, so I only added what is new. `/mem history` shows how the"
    " memory changed, `/mem rollback N` takes a version back."
)
"""What the people of a chat are told when a rewrite of their memory was refused."""
GIVEN = (
    "What I remember of this chat was full, so the model wrote it shorter: {lost:,} of the"
    " {count:,} things in it are gone or changed. `/recall WORDS` finds them, `/mem history` shows"
    " how the memory changed, `/mem rollback N` takes a version back."
)
"""What they are told when a full memory lost more than another rewrite may lose."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """The messages that memory has not heard of, in order. `ends`: where the archived chunks of
    them end, by where they begin.
    """

    messages: tuple[Message, ...]
    ends: Mapping[int, int]


def backlog(aside: Aside) -> Backlog:
    """What memory has not heard of: archived, said to memory alone, and still in the history. What
    the runtime wrote is nothing new.
    """
    document = aside.document
    chunks = {first: _archived(aside, first) for first in document.unheard}
    said = {
        message.seq: message
        for message in chain(document.noted, *chunks.values(), document.messages)
    }
    news = (
        said[seq]
        for seq in sorted(said)
        if seq > document.consolidated and said[seq].origin != RUNTIME_ORIGIN
    )
    return Backlog(
        tuple(news), {first: chunk[-1].seq if chunk else 0 for first, chunk in chunks.items()}
    )


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of telling memory: how many entries there are, and what the people of the chat are
    to be told, if anything.
    """

    entries: int = 0
    notice: str = ""


def remember(aside: Aside, known: Backlog, upto: float = inf, tries: int = 1) -> Heard:
    """Tell memory of what it has not heard, up to the message `upto`, in as many entries as it
    takes.

    It ends after `tries` answers of no use; `aside.document` says how far it came. `BackendError`
    when the store cannot be used.
    """
    history, heard, raw = History(aside.app.kv, aside.session), Heard(), False
    while news := [
        message for message in known.messages if aside.document.consolidated < message.seq <= upto
    ]:
        found = history.get(news[0].seq)
        made, notice = (None, "") if found else _made(aside, news, tries, raw)
        entry = found or (history.add(made) if made else None)
        if entry is None:
            break
        followed = _follow(aside, history, entry)
        raw = made is not None and made.raw
        last = min(entry.last, aside.document.next_seq - 1)
        unheard = tuple(first for first in aside.document.unheard if known.ends[first] > last)
        aside.document = replace(aside.document, consolidated=last, unheard=unheard, failures=0)
        heard = replace(heard, entries=heard.entries + 1)
        if notice and (followed or entry.memory is None):
            heard = replace(heard, notice=notice)
    return heard


def passively(aside: Aside, dropped: Sequence[Message], watch: Watch = unwatched) -> None:
    """Before messages leave the history: memory hears of them, and of all that came before. When it
    cannot, that is for the next time.

    What /new put away does not wait for that: it is told before the next message is answered, once,
    when it is enough.
    """
    document = aside.document
    if not dropped and (document.failures or _waiting(document) < ENOUGH):
        return
    try:
        known = backlog(aside)
        heard = remember(
            aside, known, dropped[-1].seq if dropped else max(known.ends.values(), default=0)
        )
    except BackendError:
        heard = Heard()
    if heard.notice:
        aside.document = _noticed(aside, heard.notice)
    told = (
        f"memory has heard of all up to message {aside.document.consolidated}"
        if heard.entries
        else "memory heard of nothing this time"
    )
    watch(Step("note", "memory", told))


def _noticed(aside: Aside, notice: str) -> Document:
    """The document with a word to the people of the chat, of an id of its own beside the answer to
    whatever they wrote.
    """
    document = aside.document
    chat = keys.unescape(aside.session.partition("#")[2])
    name = f"memory:{chat}:{document.consolidated}"
    word = Outgoing(name, chat, notice, at=aside.app.clock.now())
    return replace(document, outbox=(*document.outbox, word))


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


def _made(
    aside: Aside, news: Sequence[Message], tries: int, raw: bool
) -> tuple[HistoryEntry | None, str]:
    """The entry for the first of the messages, as many as fit into a request, and what the chat is
    to be told of the memory.

    None when there is no entry this time.
    """
    app = aside.app
    memory = app.documents.read(aside.session, "memory")
    room = context.room(
        app.model.window, tokens.of_text(PROMPT) + tokens.of_text(memory.text), aside.document.ratio
    )
    count, said = transcript.fit_messages(news, room * TRANSCRIPT_SHARE)
    first, last = news[0].seq, news[count - 1]
    for _ in range(0 if raw else tries):
        if not aside.may_ask():
            return None, ""
        draft = drafted(aside, memory.text, said, last.at)
        if draft:
            update = draft.memory if draft.memory != memory.text else None
            entry = HistoryEntry(
                first, last.seq, app.clock.now(), draft.entry, memory=update, base=memory.version
            )
            return entry, _notice(draft)
        if not aside.may_ask():
            return None, ""
        aside.document = replace(aside.document, failures=aside.document.failures + 1)
        if aside.document.failures >= TRIES:
            raw = True
            break
    head = f"[{transcript.format_stamp(app.clock.now())}] [RAW] {count} messages"
    return (
        HistoryEntry(first, last.seq, app.clock.now(), f"{head}\n{said}", raw=True) if raw else None
    ), ""


def _notice(draft: Draft) -> str:
    """What the people of the chat are told of a memory that was not written as usual."""
    told = ((REFUSED, draft.refused), (GIVEN, draft.given))
    return "\n\n".join(
        text.format(lost=len(loss.lost), count=loss.count) for text, loss in told if loss
    )


def _follow(aside: Aside, history: History, entry: HistoryEntry) -> bool:
    """Make the chat's memory what the entry says; whether it is so now. When somebody else wrote it
    in between, theirs stands.

    What leaves the memory is written down first, so that a crash in between loses no statement.
    """
    if entry.memory is None:
        return False
    app = aside.app
    followed = False
    why = (
        f"messages {entry.first} to {entry.last}"
        if entry.last > entry.first
        else f"message {entry.first}"
    )
    with suppress(Conflict, UsageError):
        before = app.documents.read(aside.session, "memory")
        if before.version == entry.base:
            lost = compare(before.text, entry.memory, app.aids.terms).lost
            removal = Removal(entry.first, entry.at, tuple(statement.text for statement in lost))
            RemovedStatements(app.kv, aside.session).save(removal)
        app.documents.write(
            aside.session, "memory", entry.memory, by=BY, why=why, expect=entry.base
        )
        followed = True
    history.mark_followed(entry)
    return followed
