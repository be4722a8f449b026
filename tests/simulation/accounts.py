"""The account at the end, when nothing waits any more: every message has its answer, every chat its
whole history.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise

import orjson

from functions.agent.conversation.messages import RUNTIME_ORIGIN
from functions.agent.ledger.ledger import Ledger
from functions.agent.memory.documents import Documents
from functions.agent.memory.history import History, HistoryEntry
from functions.agent.session.document import Document
from functions.agent.session.store import Sessions
from functions.reply_sender import UNSENT_TRIES
from sigil.storage.kv import keys
from sigil.storage.kv.memory import MemoryKV
from tests.simulation.promises import Promises


def missing(kv: MemoryKV, promises: Promises) -> Iterator[str]:
    """What is not as it was promised."""
    events = [post.event for post in promises.posts.values()]
    for event in events:
        tried = event.skips_queue and promises.refused[event.id] >= UNSENT_TRIES
        excused = event.is_control or tried or promises.is_excused(event.id)
        if not (excused or promises.told(event.id)):
            yield f"{event.id} was never answered"
    for session in sorted({keys.session_of(event.agent, event.session) for event in events}):
        yield from _unrest(kv, session, promises.given_back[session])


def _unrest(kv: MemoryKV, session: str, given_back: set[int]) -> Iterator[str]:
    document = Sessions(kv).open(session).document
    if document.turn or document.outbox:
        yield f"{session} has not come to rest"
    kept = {message.seq for message in document.messages}
    for _, item in kv.scan(f"session#{session}", "archive#", limit=10_000):
        kept |= {message["seq"] for message in orjson.loads(item.value)}
    if lost := set(range(1, document.next_seq)) - kept - given_back:
        yield f"messages {sorted(lost)} of {session} are lost"
    agent = keys.unescape(session.partition("#")[0])
    chain = document.ledger
    if problem := Ledger(kv, agent).verify({chain.name: chain} if chain.count else {}).problem:
        yield f"the ledger after {session}: {problem}"
    yield from _forgotten(kv, session, document)


def _forgotten(kv: MemoryKV, session: str, document: Document) -> Iterator[str]:
    """Memory has heard of every message once, or it is known that it has not; and it is what the
    entries say.
    """
    entries = History(kv, session).list_page(limit=10_000)
    if not all(before.last < after.first for before, after in pairwise(entries)):
        yield f"{session} has entries that overlap: {entries}"
    covered = {seq for entry in entries for seq in range(entry.first, entry.last + 1)}
    chunks = [
        Sessions(kv).load_archived(session, int(sort.removeprefix("archive#")))
        for sort, _ in kv.scan(f"session#{session}", "archive#")
    ]
    waits = {
        message.seq for chunk in chunks if chunk[0].seq in document.unheard for message in chunk
    }
    for message in (*document.messages, *chain(*chunks)):
        known = (
            message.seq in covered
            if message.seq <= document.consolidated
            else message in document.messages or message.seq in waits
        )
        if not known and message.origin != RUNTIME_ORIGIN:
            yield f"memory will never hear of message {message.seq} of {session}"
    memory = Documents(kv, "main", lambda: 0.0).read(session, "memory").text
    lines = [line for line in memory.split("\n") if line.startswith("- entry")]
    heard = _lines(entry for entry in entries if entry.last <= document.consolidated)
    # a worker that was overtaken may have told memory more than the session knows of so far: the
    # next one finds its entries and goes on behind them
    ahead = _lines(entry for entry in entries if entry.last > document.consolidated)
    if lines[: len(heard)] != heard or lines[len(heard) :] != ahead[: len(lines) - len(heard)]:
        yield f"the memory of {session} is not what its entries say: {memory!r}, {heard}, {ahead}"


def _lines(entries: Iterable[HistoryEntry]) -> list[str]:
    """The lines that entries add to the memory."""
    return [
        line.partition("] ")[2]
        for entry in entries
        if not entry.raw
        for line in entry.text.split("\n")
    ]
