"""The ledger in the store: nothing in it is ever changed, and nothing but the store's own end
removes it.

What a turn added is one item: `ledger#AGENT / CHAIN#SEQ`, named by the number of its first entry.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from functions.agent.ledger.chain import LedgerChain, Row, find_root, hash_row
from sigil.errors import Conflict
from sigil.storage.evolve import evolve
from sigil.storage.kv import ABSENT, KV, Key, keys
from sigil.storage.kv.update import scan_all

PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class LedgerCheck:
    """The check of an agent's ledger: how many entries in how many chains hold, and the first
    problem, empty when there is none.
    """

    entries: int
    chains: int
    problem: str = ""


class Ledger:
    """The ledger of one agent; the agents below a root have ledgers of their own."""

    def __init__(self, kv: KV, agent: str) -> None:
        self._kv = kv
        self._agent = agent

    def flush(self, chain: LedgerChain) -> LedgerChain:
        """Write down the pending entries of a chain, and return it without them.

        Only what a session's document has already saved may be flushed. Whoever repeats it, or
        comes late, writes nothing twice: an item that is there has the same entries, or the first
        of them. It has others where the document was restored from a backup that is older than the
        ledger: then the entries begin a new chain, which the session's next write saves.
        """
        rows = chain.pending
        while rows:
            key = self._key(chain.name, rows[0])
            try:
                self._kv.put(key, orjson.dumps(rows), expect=ABSENT)
                break
            except Conflict:
                item = self._kv.get(key)
                known = _read_rows(item.value) if item else []
                if known and known[0].get("hash") != rows[0].get("hash"):
                    return chain.begin_anew(rows)
                # one that is damaged stays, for the check to find
                rows = rows[max(len(known), 1) :]
        return evolve(chain, pending=())

    def scan(self, since: float = 0.0) -> Iterator[tuple[str, Row]]:
        """Yield the entries from a time on (seconds since 1970), each with the name of its chain:
        chain by chain, in order. What cannot be read is left out.
        """
        for _, chain, rows in self.scan_places():
            for row in rows:
                at = row.get("at")
                if isinstance(at, int | float) and at >= since:
                    yield chain, row

    def scan_places(self, after: str = "") -> Iterator[tuple[str, str, list[Row]]]:
        """Yield what was written down together, behind the place `after`: its own place, the name
        of its chain, and the entries.
        """
        for sort, value in self._scan_items(after):
            yield sort, sort.partition("#")[0], _read_rows(value)

    def mentions(self, chain: str, texts: Collection[str]) -> bool:
        """Return whether one of these texts, such as hashes of people and chats, is in an entry of
        a chain.
        """
        wanted = [each.encode() for each in texts]
        partition = keys.ledger_entries(self._agent, "", 0).partition
        for _, item in scan_all(self._kv, partition, f"{chain}#", page=PAGE):
            if any(each in item.value for each in wanted):
                return True
        return False

    def verify(self, ends: Mapping[str, LedgerChain]) -> LedgerCheck:
        """Check every entry of every chain.

        `ends` are the ends of chains by their names, as the sessions know them: entries behind the
        last one that is there are missing unless they are still pending.
        """
        entries = 0
        known: dict[str, tuple[int, str]] = {}
        for sort, value in self._scan_items():
            name, _, number = sort.partition("#")
            count, tip = known.get(name, (0, find_root(name)))
            rows = _read_rows(value)
            place = f"entry {count + 1} of chain {name}"
            if not number.isdecimal() or int(number) != count + 1:
                return LedgerCheck(entries, len(known), f"{place} is missing")
            if not rows or orjson.dumps(rows) != value:
                return LedgerCheck(entries, len(known), f"{place} was changed")
            for row in rows:
                found = hash_row(row, tip)
                if row.get("seq") != count + 1 or row.get("hash") != found:
                    problem = f"entry {count + 1} of chain {name} was changed"
                    return LedgerCheck(entries, len(known), problem)
                count += 1
                tip = found
                entries += 1
            known[name] = (count, tip)
        for name, end in ends.items():
            count, tip = known.get(name, (0, find_root(name)))
            written = end.count - len(end.pending)
            if count < written:
                problem = f"entry {count + 1} of chain {name} is missing"
                return LedgerCheck(entries, len(known), problem)
            if count == end.count and tip != end.tip:
                problem = f"entry {count} of chain {name} is not the one that was written"
                return LedgerCheck(entries, len(known), problem)
        return LedgerCheck(entries, len(known))

    def _scan_items(self, after: str = "") -> Iterator[tuple[str, bytes]]:
        partition = keys.ledger_entries(self._agent, "", 0).partition
        for sort, item in scan_all(self._kv, partition, after=after, page=PAGE):
            yield sort, item.value

    def _key(self, name: str, first: Row) -> Key:
        number = first["seq"]
        assert isinstance(number, int), "a chain numbers its entries"
        return keys.ledger_entries(self._agent, name, number)


def _read_rows(value: bytes) -> list[Row]:
    """Return the entries of an item, none of one that somebody damaged."""
    try:
        rows = orjson.loads(value)
    except ValueError:
        return []
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return []
    return rows
