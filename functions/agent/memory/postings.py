"""Postings say where a term occurs: an inverted index in the store.

Terms are kept in buckets, so that a search reads one small item a term. The index only leads to
what is kept elsewhere: a search reads that itself afterwards, so a stale entry misleads nobody.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Final

import orjson

from sigil.errors import Refused
from sigil.storage.kv import KV, Key
from sigil.storage.kv.base import ABSENT, KEYS_MOST, Item, get_many
from sigil.storage.kv.update import update, update_item

MOST: Final = 4_096
"""A term has at most so many entries; the oldest go. A term of more tells little about any."""
BUCKETS: Final = 256
BUCKET_BYTES: Final = 380_000
"""A bucket has at most so many bytes: an item of DynamoDB has at most 400 KB."""
TERM_CHARACTERS: Final = 60
FEW: Final = 8
"""Fewer entries are looked up one by one."""
_SIZE, _ENTRY = 4, 8

Lists = dict[str, bytes]
"""Maps a term to its entries, 8 bytes each, the newest last."""
Entries = Mapping[str, Sequence[int]]
"""Maps a term to its entries, numbers of 64 bits."""
ScanEntries = Callable[[], Iterable[tuple[int, Collection[str]]]]
"""Returns all entries and the terms of each, the newest last."""


class StoredPostings:
    """The index of one scope, in as many buckets as it says; `name_bucket` returns the key of one.

    A damaged bucket is rebuilt from what `scan_entries` returns.
    """

    def __init__(
        self,
        kv: KV,
        name_bucket: Callable[[int], Key],
        scan_entries: ScanEntries,
        buckets: int = BUCKETS,
    ) -> None:
        self._kv = kv
        self._name_bucket = name_bucket
        self._scan_entries = scan_entries
        self._buckets = buckets

    def add(self, entry: int, terms: Collection[str]) -> None:
        """Let `terms` lead to an entry; adding it again changes nothing."""
        self.add_many({entry: terms})

    def add_many(self, terms_of: Mapping[int, Collection[str]]) -> None:
        """Let the terms of many entries lead to each of them: one write a bucket."""
        entries: dict[str, list[int]] = defaultdict(list)
        for entry, terms in terms_of.items():
            for term in terms:
                entries[term].append(entry)
        self.add_entries(entries)

    def add_entries(self, entries: Entries) -> None:
        """Add entries to terms: one write a bucket.

        `Refused` EQUOTA when a bucket has no room for them.
        """

        def add(known: bytes, term: str) -> bytes:
            wanted = entries[term]
            if len(wanted) < FEW:
                new = [entry for entry in wanted if _find_position(known, entry) < 0]
            else:
                there = set(_decode_entries(known))
                new = [entry for entry in wanted if entry not in there]
            return b"".join((known, _encode_entries(new)))[-MOST * _ENTRY :] if new else known

        self._change_terms(entries, add)

    def drop(self, entry: int, terms: Collection[str]) -> None:
        """Let `terms` lead to an entry no more."""
        self.drop_entries(terms, lambda each: each == entry)

    def drop_entries(self, terms: Collection[str], is_gone: Callable[[int], bool]) -> None:
        """Take the entries that are gone from terms."""

        def leave(known: bytes, term: str) -> bytes:
            there = _decode_entries(known)
            left = [entry for entry in there if not is_gone(entry)]
            return known if len(left) == len(there) else _encode_entries(left)

        self._change_terms(terms, leave)

    def find(self, terms: Collection[str]) -> dict[str, tuple[int, ...]]:
        """Return the entries of each term, the newest last, without terms that have none."""
        found: dict[str, tuple[int, ...]] = {}
        groups = self._group_by_bucket(terms)
        for (bucket, group), item in zip(groups.items(), self._read_items(groups), strict=True):
            stored = _decode_lists(item.value if item else None)
            lists = self._read_bucket(bucket) if stored is None else stored
            for term in group:
                entries = lists.get(_cut_term(term))
                if entries is not None:
                    found[term] = _decode_entries(entries)
        return found

    def _read_items(self, buckets: Iterable[int]) -> list[Item | None]:
        places = [self._name_bucket(bucket) for bucket in buckets]
        return [
            item
            for start in range(0, len(places), KEYS_MOST)
            for item in get_many(self._kv, places[start : start + KEYS_MOST])
        ]

    def _change_terms(self, terms: Collection[str], change: Callable[[bytes, str], bytes]) -> None:
        """Change the entries of terms; `change` gets those of a term, and it.

        Buckets are read many at a time, and no more of them are held than are read at once.
        """
        groups = self._group_by_bucket(terms)
        buckets = list(groups)
        for start in range(0, len(buckets), KEYS_MOST):
            batch = buckets[start : start + KEYS_MOST]
            for bucket, item in zip(batch, self._read_items(batch), strict=True):
                self._change_bucket(bucket, groups[bucket], change, item)

    def _change_bucket(
        self,
        bucket: int,
        terms: Collection[str],
        change: Callable[[bytes, str], bytes],
        known: Item | None,
    ) -> None:
        def decide(item: Item | None) -> tuple[bytes | None, None]:
            stored = _decode_lists(item.value if item else None)
            before = self._rebuild_bucket(bucket) if stored is None else stored
            after = dict(before)
            for term in terms:
                cut = _cut_term(term)
                after[cut] = change(after.get(cut, b""), term)
            after = {term: entries for term, entries in after.items() if entries}
            if after == stored:
                return None, None
            encoded = _encode_lists(after)
            if len(encoded) > max(BUCKET_BYTES, len(item.value) if item else 0):
                raise Refused(
                    "EQUOTA",
                    "the search index has no room for these words",
                    suggestion="drop what is not needed any more",
                )
            return encoded, None

        update_item(self._kv, self._name_bucket(bucket), decide, known=known or ABSENT)

    def _read_bucket(self, bucket: int) -> Lists:
        """Return the lists of a bucket; one that is damaged is rebuilt and written first."""

        def decide(value: bytes | None) -> tuple[bytes | None, Lists]:
            stored = _decode_lists(value)
            if stored is not None:
                return None, stored
            rebuilt = self._rebuild_bucket(bucket)
            return _encode_lists(rebuilt), rebuilt

        return update(self._kv, self._name_bucket(bucket), decide)

    def _rebuild_bucket(self, bucket: int) -> Lists:
        lists: Lists = defaultdict(bytes)
        for entry, terms in self._scan_entries():
            group = self._group_by_bucket(terms).get(bucket, ())
            for term in {_cut_term(term) for term in group}:
                lists[term] = (lists[term] + _encode_entries((entry,)))[-MOST * _ENTRY :]
        return lists

    def _group_by_bucket(self, terms: Iterable[str]) -> dict[int, set[str]]:
        size = 1 if self._buckets <= BUCKETS else 2
        groups: dict[int, set[str]] = defaultdict(set)
        for term in terms:
            cut = _cut_term(term).encode("utf-8", "replace")
            digest = blake2b(cut, digest_size=size).digest()
            groups[int.from_bytes(digest, "big") % self._buckets].add(term)
        return groups


def _cut_term(term: str) -> str:
    return term[:TERM_CHARACTERS]


def _encode_entries(entries: Sequence[int]) -> bytes:
    return struct.pack(f">{len(entries)}Q", *entries)


def _decode_entries(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f">{len(data) // _ENTRY}Q", data)


def _encode_lists(lists: Mapping[str, bytes]) -> bytes:
    head = orjson.dumps({term: len(entries) // _ENTRY for term, entries in lists.items()})
    return b"".join((len(head).to_bytes(_SIZE, "big"), head, *lists.values()))


def _decode_lists(data: bytes | None) -> Lists | None:
    """Return the lists of a stored bucket, empty ones when there is none, None when damaged."""
    if data is None:
        return {}
    try:
        at = _SIZE + int.from_bytes(data[:_SIZE], "big")
        lists: Lists = {}
        for term, count in orjson.loads(data[_SIZE:at]).items():
            lists[term] = data[at : at + count * _ENTRY]
            at += count * _ENTRY
    except (ValueError, TypeError, AttributeError):
        return None
    return lists if at == len(data) else None


def _find_position(entries: bytes, entry: int) -> int:
    """Return the position of an entry, -1 when it is not among these.

    The same bytes across two neighbouring entries do not count.
    """
    packed = entry.to_bytes(_ENTRY, "big")
    at = entries.find(packed)
    while at >= 0 and at % _ENTRY:
        at = entries.find(packed, at + 1)
    return at
