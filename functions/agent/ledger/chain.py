"""A chain is one session's part of the ledger: each entry carries a hash that covers the one before
it.

Entries ride in the session's own writes: the document holds the end of its chain, and the entries
that may not be in the ledger yet. So they are saved by the same compare-and-set as what they tell,
and nothing is told twice or left out.

A chain has a name of its own that says nothing of the session, and people and chats are salted
hashes in it. When the session is erased, its name and its salt go with it, and nothing tells any
more whose the entries were.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Annotated, Final

import orjson
from msgspec import Meta

from functions.agent.ledger.entry import Entry, clean_facts, hash_name, hash_names
from functions.events import CONSOLIDATION, Event
from sigil.errors import one_line
from sigil.protocol import Json
from sigil.storage.evolve import evolve
from sigil.storage.stored import Stored

EVENT_CHARACTERS: Final = 300
JOURNALS_MOST: Final = 4
Row = Mapping[str, Json]
"""An entry in its place: `seq`, `at`, `what`, `event` and its `kind`, `by`, `facts`, `hash`."""


@dataclass(frozen=True, slots=True)
class LedgerChain(Stored):
    """The end of a session's chain.

    `count` is the number of its last entry, and `tip` that entry's hash. `pending` are the last
    entries as far as they may not be in the ledger yet. `adopted` has how many rows of each of the
    last journals it has, by the journals' ids. `salt` is that of the people and chats in the
    entries that come next; only here does it stand.
    """

    name: str = ""
    count: Annotated[int, Meta(ge=0, lt=10**12)] = 0
    tip: str = ""
    pending: tuple[Row, ...] = ()
    adopted: Mapping[str, int] = field(default_factory=dict, hash=False)
    salt: str = ""

    def with_salt(self) -> LedgerChain:
        """Return the chain with a salt, a new one where it has none."""
        return self if self.salt else evolve(self, salt=secrets.token_hex(16))

    def forget_names(self) -> LedgerChain:
        """Return the chain without its salt: nobody knows any more whom its entries name, and what
        comes next gets another one.
        """
        return evolve(self, salt="")

    def add(self, entries: Sequence[Entry], event: Event, now: float) -> LedgerChain:
        """Return the chain with entries of the turn of `event` at its end."""
        chain = self.with_salt()
        by = event.behalf
        return chain.append(
            [
                describe_entry(entry, event.id, event.kind, by, now, salt=chain.salt)
                for entry in entries
            ]
        )

    def adopt(self, journal: str, rows: Sequence[Row]) -> LedgerChain:
        """Return the chain with what a journal has beyond the rows that it had."""
        known = self.adopted.get(journal, 0)
        if len(rows) <= known:
            return self
        adopted = {id: count for id, count in self.adopted.items() if id != journal}
        latest = list(adopted.items())[1 - JOURNALS_MOST :]
        chain = evolve(self, adopted={**dict(latest), journal: len(rows)})
        return chain.append(rows[known:])

    def begin_anew(self, rows: Sequence[Row]) -> LedgerChain:
        """Return another chain with these entries alone."""
        plain = [
            {name: value for name, value in row.items() if name not in ("seq", "hash")}
            for row in rows
        ]
        return LedgerChain(adopted=self.adopted, salt=self.salt).append(plain)

    def append(self, entries: Sequence[Row]) -> LedgerChain:
        """Return the chain with entries, which have no place in a chain yet, at its end."""
        if not entries:
            return self
        name = self.name or secrets.token_hex(8)
        count = self.count
        tip = self.tip or find_root(name)
        rows: list[Row] = []
        for entry in entries:
            count += 1
            row: dict[str, Json] = {"seq": count, **entry}
            tip = hash_row(row, tip)
            rows.append({**row, "hash": tip})
        return evolve(self, name=name, count=count, tip=tip, pending=(*self.pending, *rows))


def describe_entry(entry: Entry, event: str, kind: str, by: str, now: float, *, salt: str) -> Row:
    """Return an entry as the ledger has it, before it has a place there.

    `event` names the event that it belongs to, `kind` says what that was, and `by` on whose behalf.
    """
    return {
        "at": round(entry.at or now, 3),
        "what": entry.what,
        "event": name_event(event, salt),
        "kind": kind,
        "by": hash_name(entry.by or by, salt),
        "facts": clean_facts(hash_names(entry.facts, entry.names, salt)),
    }


def name_event(event: str, salt: str) -> str:
    """Return the id of an event as the ledger has it: that of a consolidation names its chat."""
    if event.startswith(CONSOLIDATION):
        event = f"{CONSOLIDATION}{hash_name(event.removeprefix(CONSOLIDATION), salt)}"
    return one_line(event, EVENT_CHARACTERS)


def find_root(name: str) -> str:
    """Return the hash that the first entry of a chain follows: no entry fits into another chain."""
    return sha256(name.encode()).hexdigest()


def hash_row(row: Row, previous: str) -> str:
    """Return the hash of an entry that follows the one with the hash `previous`."""
    covered = {name: value for name, value in row.items() if name != "hash"}
    body = orjson.dumps(covered, option=orjson.OPT_SORT_KEYS)
    return sha256(previous.encode() + body).hexdigest()
