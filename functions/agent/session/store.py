"""The session store opens a session, saves it by compare-and-set, and archives what leaves it.

A session is saved at every checkpoint, and closed with its outbox in one write.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import orjson

from functions.agent.access.links import find_linked_memory
from functions.agent.conversation.messages import MESSAGES, Message
from functions.agent.memory.history import History
from functions.agent.safety.status import SafetyStatus
from functions.agent.session.document import (
    Document,
    UnreadableDocument,
    decode_document,
    encode_document,
)
from functions.agent.session.overflow import (
    LIMIT,
    OverflowStore,
    compress,
    find_bodies,
)
from functions.events import Event
from sigil.errors import BackendError, Conflict
from sigil.storage.artifacts import Artifacts
from sigil.storage.evolve import evolve
from sigil.storage.kv import ABSENT, KV, Item, keys
from sigil.storage.kv.update import scan_all, update
from sigil.storage.stored import dumps

ARCHIVE = "archive#"
"""The keys of archived messages begin so, before the number of the first one."""
CHUNKS = 20
"""So many archived chunks are read at once."""
MEMORIES_MOST = 10_000
"""So many sessions are known to share a memory before that is found out anew."""
LAST = 10**12
"""A number greater than that of any message."""
CACHED: Final = 4 << 20
"""About so many bytes of JSON the documents in the cache have together."""
CACHED_DOCUMENT: Final = 1 << 20
"""About so many bytes of JSON a document in the cache has at most."""
COMPRESSION: Final = 8
"""A compressed document counts as so many times its bytes."""


@dataclass(frozen=True, slots=True)
class SessionHandle:
    """A session that was opened: its document, and the store's version of it.

    The version is the fence: a worker that holds an older one cannot save. It is None for a session
    that is not stored yet. `size` is in bytes.

    `next` is the event that lets another worker go on with the turn, when this worker's time was
    up. `wait` are the seconds after which somebody should, when the model does not answer. `unread`
    are the stored bytes that could not be read. `gathered` are the events that a turn which was
    just closed has answered beside its own, which is `answered`. `agents` are those that the
    binding of its chat names, None where nobody has read it. `repeated`: the event had been handled
    before, so nothing was done.
    """

    key: str
    document: Document
    version: str | None
    size: int = 0
    next: Event | None = None
    wait: float = 0.0
    unread: bytes | None = None
    gathered: tuple[Event, ...] = ()
    answered: Event | None = None
    agents: tuple[str, ...] | None = None
    repeated: bool = False

    @property
    def memory(self) -> str:
        """Return the scope of the memory that the chat reads and writes, mostly its own key."""
        return self.document.memory or self.key

    def with_document(self, document: Document) -> SessionHandle:
        """Return the handle with a changed document, which is not saved yet."""
        return evolve(self, document=document)


class DocumentCache:
    """The documents of the sessions that a process opened or saved last; its threads share it.

    A version of the store belongs to one write. So a document that is known by its version is not
    read from its bytes again, and is never the one that somebody else has saved since.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, int, Document]] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def find(self, key: str, version: str) -> Document | None:
        """Return the document of a session at this version, None when it is not known."""
        with self._lock:
            known = self._known.pop(key, None)
            if known is None:
                return None
            if known[0] != version:
                self._bytes -= known[1]
                return None
            self._known[key] = known  # at the end: it was used last
            return known[2]

    def keep(self, key: str, version: str, stored: bytes, document: Document) -> None:
        """Keep the document that is `stored` at this version."""
        size = len(stored) if stored.startswith(b"{") else len(stored) * COMPRESSION
        with self._lock:
            before = self._known.pop(key, None)
            if before:
                self._bytes -= before[1]
            if size > CACHED_DOCUMENT:
                return
            self._known[key] = version, size, document
            self._bytes += size
            while self._bytes > CACHED:
                oldest = next(iter(self._known))
                self._bytes -= self._known.pop(oldest)[1]

    def forget(self, key: str) -> None:
        """Keep nothing of a session, which is not in the store."""
        with self._lock:
            known = self._known.pop(key, None)
            if known:
                self._bytes -= known[1]


class Sessions:
    """The sessions in a store.

    Their largest bodies go to `artifacts`; without them, documents stay whole whatever their size.
    """

    def __init__(self, kv: KV, artifacts: Artifacts | None = None) -> None:
        self._kv = kv
        self._overflow = OverflowStore(artifacts)
        self._cache = DocumentCache()
        # the shared memories that sessions had when they were last opened here
        self._memories: dict[str, str] = {}

    def guess_memory(self, key: str) -> str:
        """Return the scope of the memory that a session had when this process last opened it.

        Who reads it together with the session saves a request, and looks at `memory` afterwards.
        """
        return self._memories.get(key, key)

    def open(self, key: str) -> SessionHandle:
        """Open a session, one with an empty document when it is new.

        A session whose document is damaged begins anew, and is locked.
        """
        return self.decode_head(key, self._kv.get(keys.session_head(key)))

    def decode_head(self, key: str, item: Item | None) -> SessionHandle:
        """Open a session as `open` does, from the item that was just read at its head."""
        if item is None:
            self._cache.forget(key)
            return SessionHandle(key, Document(), None)
        size = len(item.value)
        try:
            document = self._cache.find(key, item.version)
            if document is None:
                document = decode_document(item.value, self._overflow)
                self._cache.keep(key, item.version, item.value, document)
            if document.memory or key in self._memories:
                self._note_memory(key, document.memory)
        except UnreadableDocument:
            document = self._begin_anew(key)
            return SessionHandle(key, document, item.version, size, unread=item.value)
        return SessionHandle(key, document, item.version, size)

    def _note_memory(self, key: str, memory: str) -> None:
        if not memory:
            self._memories.pop(key, None)
            return
        if len(self._memories) >= MEMORIES_MOST:
            self._memories.clear()
        self._memories[key] = memory

    def _begin_anew(self, key: str) -> Document:
        """Return a locked document that begins behind all that was archived or told to memory."""
        ends = {}
        for first, chunk in self.scan_archive(key, 0, LAST):
            ends[first] = chunk[-1].seq if chunk else first
        entries = [entry.last for entry in History(self._kv, key).scan() if entry.last < LAST]
        heard = max(entries, default=0)
        return Document(
            memory=find_linked_memory(self._kv, key),
            next_seq=max(heard, *ends.values(), 0) + 1,
            consolidated=heard,
            unheard=tuple(first for first, last in ends.items() if last > heard),
            safety=SafetyStatus(reason="damaged", told=False),
        )

    def save(
        self, opened: SessionHandle, document: Document, body: bytes | None = None
    ) -> SessionHandle:
        """Write the document over the version that was opened. `body` is the document as it was
        encoded before, where that must not take its time now.

        Raises `Conflict` when somebody else has saved since. Bytes that could not be read are put
        aside first.
        """
        if opened.unread is not None:
            self._kv.put(
                keys.unreadable_session(opened.key, sha256(opened.unread).hexdigest()),
                opened.unread,
            )
        if body is None:
            body = encode_document(document, self._overflow)
        expect = ABSENT if opened.version is None else opened.version
        version = self._kv.put(keys.session_head(opened.key), body, expect=expect)
        self._cache.keep(opened.key, version, body, document)
        return SessionHandle(opened.key, document, version, len(body))

    def still_holds(self, opened: SessionHandle) -> bool:
        """Return whether nobody else has saved since the session was opened.

        Workers ask right before they send something, which cannot be taken back.
        """
        item = self._kv.get(keys.session_head(opened.key))
        return (item.version if item else None) == opened.version

    def archive(self, key: str, dropped: Sequence[Message]) -> None:
        """Keep messages that are about to leave; writing the same ones again changes nothing.

        A worker that was overtaken may come late with another cut that begins at the same message:
        whatever is archived already stays.
        """
        if not dropped:
            return
        place = keys.archive_chunk(key, dropped[0].seq)

        def extend(stored: bytes | None) -> tuple[bytes | None, None]:
            known = self._decode_chunk(stored or b"")
            last = known[-1].seq if known else 0
            more = [message for message in dropped if message.seq > last]
            return (self._encode_chunk([*known, *more]) if more else None), None

        try:
            self._kv.put(place, self._encode_chunk(dropped), expect=ABSENT)
        except Conflict:
            update(self._kv, place, extend)

    def load_archived(self, key: str, first: int) -> tuple[Message, ...]:
        """Return the archived chunk of messages that begins with this one.

        It is empty when it is gone or damaged.
        """
        item = self._kv.get(keys.archive_chunk(key, first))
        return self._decode_chunk(item.value if item else b"")

    def scan_archive(
        self, key: str, after: int, before: int
    ) -> Iterator[tuple[int, tuple[Message, ...]]]:
        """Yield the archived chunks that begin beyond `after` and before `before`.

        Each comes with the number of its first message; a damaged one is empty.
        """
        start = keys.archive_chunk(key, after)
        for sort, item in scan_all(self._kv, start.partition, ARCHIVE, start.sort, CHUNKS):
            first = int(sort.removeprefix(ARCHIVE))
            if first >= before:
                return
            yield first, self._decode_chunk(item.value)

    def rewrite_archived(
        self, key: str, first: int, change: Callable[[Message], Message]
    ) -> Sequence[str]:
        """Change the messages of an archived chunk, which else never change, and return the names
        of the bodies beside it from before.
        """

        def decide(stored: bytes | None) -> tuple[bytes | None, Sequence[str]]:
            before = self._decode_chunk(stored or b"")
            after = tuple(map(change, before))
            bodies = find_bodies(stored or b"")
            return (None if after == before else self._encode_chunk(after)), bodies

        return update(self._kv, keys.archive_chunk(key, first), decide)

    def _encode_chunk(self, messages: Sequence[Message]) -> bytes:
        body = dumps(messages)
        if len(body) > LIMIT and self._overflow.available:
            body = orjson.dumps({"spilled": self._overflow.put(compress(body))})
        return body

    def _decode_chunk(self, body: bytes) -> tuple[Message, ...]:
        """Return the messages of an archived chunk, none when it is damaged."""
        try:
            rows = orjson.loads(body)
            if isinstance(rows, dict):
                rows = orjson.loads(zlib.decompress(self._overflow.get(rows["spilled"])))
            return MESSAGES.convert(rows)
        except (ValueError, TypeError, LookupError, AttributeError, zlib.error):
            return ()
        except BackendError as problem:
            if problem.code != "EDAMAGED":
                raise
            return ()

    def was_seen(self, opened: SessionHandle, event: Event) -> bool:
        """Return whether the event's turn is closed already, or nothing of it may be left."""
        if event.id in opened.document.seen or opened.document.was_erased(event):
            return True
        if opened.document.is_at_work_on(event):
            return False
        return self._kv.get(keys.seen_event(opened.key, event.id)) is not None

    def mark_seen(self, key: str, event: str) -> None:
        """Keep the id of a handled event for 8 days; the document has only the last ones."""
        self._kv.put(keys.seen_event(key, event), b"", ttl=keys.SEEN_TTL)

    def encode_mark(self, opened: SessionHandle, parts: int) -> bytes:
        """Return the document as `mark_sent` writes it."""
        return encode_document(_mark_sent(opened.document, parts), self._overflow)

    def encode_removal(self, opened: SessionHandle) -> bytes:
        """Return the document as `remove_first_reply` writes it, how many parts ever have left."""
        return encode_document(_remove_first_reply(opened.document), self._overflow)

    def mark_sent(
        self, opened: SessionHandle, parts: int, body: bytes | None = None
    ) -> SessionHandle:
        """Save that `parts` of the outbox's first reply have left. `body` is as in `save`."""
        return self.save(opened, _mark_sent(opened.document, parts), body)

    def remove_first_reply(self, opened: SessionHandle, body: bytes | None = None) -> SessionHandle:
        """Take the first reply out of the outbox: all of it has been sent, or it is too old. `body`
        is as in `save`.
        """
        return self.save(opened, _remove_first_reply(opened.document), body)

    def clear_outbox(self, opened: SessionHandle) -> SessionHandle:
        """Empty the outbox: everything in it has been sent."""
        return self.save(opened, evolve(opened.document, outbox=()))


def _mark_sent(document: Document, parts: int) -> Document:
    first, *others = document.outbox
    return evolve(document, outbox=(evolve(first, sent=parts), *others))


def _remove_first_reply(document: Document) -> Document:
    return evolve(document, outbox=document.outbox[1:])
