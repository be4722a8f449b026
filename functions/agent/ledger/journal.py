"""A journal notes the requests to the model that no saved turn tells of, before each of them.

Such are the requests of commands, of compaction, and of memory beside the turns. The session's next
write takes their entries over into its chain. The journal's rows are only ever added to, and the
chain counts how many of them it has: whoever takes over the same ones again adds nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from functions.agent.ledger.chain import LedgerChain, Row, describe_entry
from functions.agent.ledger.entry import UNKNOWN, Entry
from sigil.protocol import Json
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, dumps

ROWS_MOST: Final = 100
"""A journal with so many rows is followed by a new one, once the chain has all of them."""


@dataclass(frozen=True, slots=True)
class Journal(Stored):
    """The requests that were begun in one place.

    `rows` are entries without a place in a chain, and `begun` is that of a request under way, whose
    cost is not known yet. `writer` is whoever wrote it last.
    """

    id: str
    writer: str
    rows: tuple[Row, ...] = ()
    begun: Row | None = None

    @property
    def ended(self) -> tuple[Row, ...]:
        """Return the rows, with that of a request which nobody works on any more."""
        return (*self.rows, self.begun) if self.begun else self.rows


_JOURNAL: Final = Shape[Journal](Journal)


def read_journal(value: bytes | None) -> Journal | None:
    """Return the journal in a value, None where there is none that can be read."""
    try:
        return _JOURNAL.read(value) if value is not None else None
    except ValueError:
        return None


def adopt_journal(chain: LedgerChain, item: Item | None, *, is_over: bool) -> LedgerChain:
    """Return the chain with what a journal has beyond what it had. `is_over` says that nobody else
    is at work there, so that a request under way was cut off.
    """
    journal = read_journal(item.value if item else None)
    if journal is None:
        return chain
    return chain.adopt(journal.id, journal.ended if is_over else journal.rows)


class RequestJournal:
    """Writes down the requests of one piece of work in a session (S of the keys), `beside` its
    turns or before its turn is saved.

    `event` names the event that it belongs to and `kind` what it is; `by` is the person on whose
    behalf it is.
    """

    def __init__(
        self, kv: KV, session: str, event: str, kind: str, by: str, *, beside: bool = False
    ) -> None:
        self._kv = kv
        self._key: Key = keys.begun_requests(keys.memory_of(session) if beside else session)
        self._event = event
        self._kind = kind
        self._by = by
        self._writer = secrets.token_hex(8)
        self._rows: tuple[Row, ...] = ()
        self._base = 0
        self._written = Journal("", "")

    def begin(self, facts: Mapping[str, Json], now: float, chain: LedgerChain) -> None:
        """Note that a request begins; `chain` is that of the session, with its salt."""
        begun = self._describe(Entry("request", {**facts, UNKNOWN: True}), now, chain)
        self._write(begun, chain)

    def end(self, entry: Entry, now: float, chain: LedgerChain) -> LedgerChain:
        """Return the session's chain with what became of the request; the next write saves it."""
        self._rows = (*self._rows, self._describe(entry, now, chain))
        rows = (*self._written.rows[: self._base], *self._rows)
        return chain.adopt(self._written.id, rows)

    def finish(self, chain: LedgerChain) -> None:
        """Save how the requests ended, where no write of the session does."""
        if self._rows:
            self._write(None, chain)

    def _describe(self, entry: Entry, now: float, chain: LedgerChain) -> Row:
        return describe_entry(entry, self._event, self._kind, self._by, now, salt=chain.salt)

    def _write(self, begun: Row | None, chain: LedgerChain) -> None:
        def decide(value: bytes | None) -> tuple[bytes, tuple[int, Journal]]:
            stored = read_journal(value)
            if stored and stored.writer == self._writer:
                before = stored.rows[: self._base]
            elif stored is None:
                before = ()
            else:
                before = stored.ended
                if len(before) >= ROWS_MOST and chain.adopted.get(stored.id, 0) >= len(before):
                    stored = None
                    before = ()
            id = stored.id if stored else secrets.token_hex(8)
            journal = Journal(id, self._writer, (*before, *self._rows), begun)
            return dumps(journal), (len(before), journal)

        self._base, self._written = update(self._kv, self._key, decide, keys.SEEN_TTL)
