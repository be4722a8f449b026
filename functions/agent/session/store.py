"""A session: opened, saved by compare-and-set at every checkpoint, closed with its outbox in one
write; what leaves it is archived.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import orjson

from functions.agent.memory.history import History
from functions.agent.messages import MESSAGES, Message
from functions.agent.safety.status import SafetyStatus
from functions.agent.session.document import Document, Unreadable, decode, encode
from functions.agent.session.overflow import LIMIT, Bodies, Shelf, packed
from functions.events import Event
from sigil.errors import BackendError, Conflict
from sigil.storage.kv import ABSENT, KV, Item, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import dumps

ARCHIVE = "archive#"
"""How the keys of dropped messages begin, before the number of the first."""
CHUNKS = 20
LAST = 10**12
"""More than any message's number."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A document with the store's version that it was read or saved at: the fence of whoever holds
    it. `size` in bytes.

    `next`: the event that lets another worker go on with the turn, when this one's time was up.
    `wait`: the seconds after which somebody should, when the model does not answer. `unread`: what
    stands there and cannot be read.
    """

    key: str
    document: Document
    version: str | None
    size: int = 0
    next: Event | None = None
    wait: float = 0.0
    unread: bytes | None = None


class Sessions:
    """Session documents in a store; what makes one too large is on `shelf` (None: documents stay
    whole, whatever their size).
    """

    def __init__(self, kv: KV, shelf: Shelf | None = None) -> None:
        self._kv = kv
        self._bodies = Bodies(shelf)

    def open(self, key: str) -> Opened:
        """The session's document; an empty one when it is new, and a locked one that begins afresh
        when it cannot be read.
        """
        return self.take(key, self._kv.get(keys.session_head(key)))

    def take(self, key: str, item: Item | None) -> Opened:
        """Return what `open` does, from the item that was just read at the session's head."""
        if item is None:
            return Opened(key, Document(), None)
        try:
            return Opened(key, decode(item.value, self._bodies), item.version, len(item.value))
        except Unreadable:
            return Opened(key, self._afresh(key), item.version, len(item.value), unread=item.value)

    def _afresh(self, key: str) -> Document:
        """A document after all that was archived and told to memory: its last messages are lost,
        and it is locked.
        """
        ends = {
            first: chunk[-1].seq if chunk else first for first, chunk in self.chunks(key, 0, LAST)
        }
        heard = max(
            (entry.last for entry in History(self._kv, key).scan() if entry.last < LAST), default=0
        )
        unheard = tuple(first for first, last in ends.items() if last > heard)
        locked = SafetyStatus(reason="damaged", told=False)
        return Document(
            next_seq=max(heard, *ends.values(), 0) + 1,
            consolidated=heard,
            unheard=unheard,
            safety=locked,
        )

    def save(self, opened: Opened, document: Document) -> Opened:
        """Write the document over the version that was opened; `Conflict` when somebody else was
        faster.

        What could not be read is put aside first.
        """
        if opened.unread is not None:
            self._kv.put(
                keys.unreadable_session(opened.key, sha256(opened.unread).hexdigest()),
                opened.unread,
            )
        expect, body = (
            ABSENT if opened.version is None else opened.version,
            encode(document, self._bodies),
        )
        version = self._kv.put(keys.session_head(opened.key), body, expect=expect)
        return Opened(opened.key, document, version, len(body))

    def holds(self, opened: Opened) -> bool:
        """Whether nobody else has saved since: asked right before something leaves that cannot be
        taken back.
        """
        item = self._kv.get(keys.session_head(opened.key))
        return (item.version if item else None) == opened.version

    def archive(self, key: str, dropped: Sequence[Message]) -> None:
        """Keep the messages that compaction is about to drop; writing the same ones again changes
        nothing.

        A worker that was overtaken may come late with another cut that begins at the same message:
        what is archived already stays.
        """
        if not dropped:
            return
        place = keys.archive_chunk(key, dropped[0].seq)
        try:
            self._kv.put(place, self._encode_chunk(dropped), expect=ABSENT)
        except Conflict:
            update(self._kv, place, lambda stored: (self._extend_chunk(stored, dropped), None))

    def _encode_chunk(self, messages: Sequence[Message]) -> bytes:
        body = dumps(messages)
        if len(body) > LIMIT and self._bodies.open:
            body = orjson.dumps({"spilled": self._bodies.put(packed(body))})
        return body

    def _extend_chunk(self, stored: bytes | None, messages: Sequence[Message]) -> bytes | None:
        """Return the stored chunk with more messages behind it, None when it has them all."""
        known = self._readable(messages[0].seq, stored or b"")
        last = known[-1].seq if known else 0
        more = [message for message in messages if message.seq > last]
        return self._encode_chunk([*known, *more]) if more else None

    def archived(self, key: str, sequence: int) -> tuple[Message, ...]:
        """The messages of the archived chunk that begins with this one; `BackendError` when it is
        gone or damaged.
        """
        item = self._kv.get(keys.archive_chunk(key, sequence))
        return self._unarchived(sequence, item.value if item else b"")

    def chunks(
        self, key: str, after: int, before: int
    ) -> Iterator[tuple[int, tuple[Message, ...]]]:
        """The archived chunks that begin beyond `after` and before `before`, by their first
        numbers; a damaged one is empty.
        """
        place = keys.archive_chunk(key, after)
        while rows := self._kv.scan(place.partition, ARCHIVE, place.sort, CHUNKS):
            for sort, item in rows:
                sequence = int(sort.removeprefix(ARCHIVE))
                if sequence >= before:
                    return
                yield sequence, self._readable(sequence, item.value)
            place = place._replace(sort=rows[-1][0])

    def _readable(self, sequence: int, body: bytes) -> tuple[Message, ...]:
        try:
            return self._unarchived(sequence, body)
        except BackendError as problem:
            if problem.code != "EDAMAGED":
                raise
            return ()

    def _unarchived(self, sequence: int, body: bytes) -> tuple[Message, ...]:
        try:
            rows = orjson.loads(body)
            if isinstance(rows, dict):
                rows = orjson.loads(zlib.decompress(self._bodies.get(rows["spilled"])))
            return MESSAGES.convert(rows)
        except (ValueError, TypeError, LookupError, AttributeError, zlib.error):
            raise BackendError(
                "EDAMAGED", f"the archived messages from {sequence} on are damaged"
            ) from None

    def was_seen(self, opened: Opened, event: str) -> bool:
        """Whether the event's turn is closed already."""
        return (
            event in opened.document.seen
            or self._kv.get(keys.seen_event(opened.key, event)) is not None
        )

    def remember(self, key: str, event: str) -> None:
        """Keep the id of a handled event for 8 days, beyond the few in the document."""
        self._kv.put(keys.seen_event(key, event), b"", ttl=keys.SEEN_TTL)

    def sent(self, opened: Opened, parts: int) -> Opened:
        """Mark `parts` of the outbox's first reply as sent."""
        first, *others = opened.document.outbox
        return self.save(
            opened, replace(opened.document, outbox=(replace(first, sent=parts), *others))
        )

    def left(self, opened: Opened) -> Opened:
        """Take the first reply out of the outbox: all of it has been sent, or it is too old."""
        return self.save(opened, replace(opened.document, outbox=opened.document.outbox[1:]))

    def delivered(self, opened: Opened) -> Opened:
        """Empty the outbox: everything in it has left."""
        return self.save(opened, replace(opened.document, outbox=()))
