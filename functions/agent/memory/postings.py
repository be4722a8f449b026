"""Postings say which things have a term: an inverted index in the store.

Terms are kept in buckets, so that a search reads one small item a term. The index only leads to
things: a search reads the thing itself afterwards, so a stale entry misleads nobody.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import blake2b
from typing import Final

import orjson

from sigil.storage.kv import KV, keys
from sigil.storage.kv.base import KEYS_MOST, get_many
from sigil.storage.kv.update import update

MOST: Final = 4_096
"""A term leads to at most so many things; the oldest go. A term of more tells little about any."""
BUCKETS: Final = 256
TERM_CHARACTERS: Final = 60
_SIZE, _ID = 4, 8

Lists = dict[str, bytes]
"""Maps a term to the ids of its things, 8 bytes each, the newest last."""


ScanThings = Callable[[], Iterable[tuple[int, Collection[str]]]]
"""Returns the ids of all things and the terms of each, the newest last."""


class ThingPostings:
    """The index of one scope. Ids are numbers of 64 bits.

    A damaged bucket is rebuilt from the things that `scan_things` returns.
    """

    def __init__(self, kv: KV, scope: str, scan_things: ScanThings) -> None:
        self._kv = kv
        self._scope = scope
        self._scan_things = scan_things

    def add(self, id: int, terms: Collection[str]) -> None:
        """Let `terms` lead to the thing; adding it again changes nothing."""

        def with_id(ids: bytes) -> bytes:
            if _find_position(ids, id) >= 0:
                return ids
            return (ids + id.to_bytes(_ID, "big"))[-MOST * _ID :]

        self._change_terms(terms, with_id)

    def add_many(self, things: Mapping[int, Collection[str]]) -> None:
        """Let the terms of many things lead to each of them: one write a bucket."""
        buckets: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for id, terms in things.items():
            for bucket, group in _group_by_bucket(terms).items():
                for term in group:
                    buckets[bucket][_cut_term(term)].append(id)

        def add_to(bucket: int, lists: Mapping[str, list[int]]) -> None:
            def decide(value: bytes | None) -> tuple[bytes | None, None]:
                stored = _decode_lists(value)
                after = dict(self._rebuild_bucket(bucket) if stored is None else stored)
                for term, ids in lists.items():
                    known = after.get(term, b"")
                    new = [id.to_bytes(_ID, "big") for id in ids if _find_position(known, id) < 0]
                    after[term] = b"".join((known, *new))[-MOST * _ID :]
                return (None if after == stored else _encode_lists(after)), None

            update(self._kv, keys.thing_index(self._scope, bucket), decide)

        for bucket, lists in buckets.items():
            add_to(bucket, lists)

    def drop(self, id: int, terms: Collection[str]) -> None:
        """Let `terms` lead to the thing no more."""

        def without_id(ids: bytes) -> bytes:
            at = _find_position(ids, id)
            return ids if at < 0 else ids[:at] + ids[at + _ID :]

        self._change_terms(terms, without_id)

    def find(self, terms: Collection[str]) -> dict[str, tuple[int, ...]]:
        """Return the ids of each term, the newest last, without terms that nothing has."""
        found: dict[str, tuple[int, ...]] = {}
        groups = _group_by_bucket(terms)
        places = [keys.thing_index(self._scope, bucket) for bucket in groups]
        items = [
            item
            for batch in range(0, len(places), KEYS_MOST)
            for item in get_many(self._kv, places[batch : batch + KEYS_MOST])
        ]
        for (bucket, group), item in zip(groups.items(), items, strict=True):
            stored = _decode_lists(item.value if item else None)
            lists = self._read_bucket(bucket) if stored is None else stored
            for term in group:
                ids = lists.get(_cut_term(term))
                if ids is not None:
                    found[term] = struct.unpack(f">{len(ids) // _ID}Q", ids)
        return found

    def _change_terms(self, terms: Collection[str], change: Callable[[bytes], bytes]) -> None:
        for bucket, group in _group_by_bucket(terms).items():
            self._change_bucket(bucket, group, change)

    def _change_bucket(
        self, bucket: int, terms: Collection[str], change: Callable[[bytes], bytes]
    ) -> None:
        def decide(value: bytes | None) -> tuple[bytes | None, None]:
            stored = _decode_lists(value)
            before = self._rebuild_bucket(bucket) if stored is None else stored
            after = dict(before)
            for term in terms:
                cut = _cut_term(term)
                after[cut] = change(before.get(cut, b""))
            after = {term: ids for term, ids in after.items() if ids}
            if after == stored:
                return None, None
            return _encode_lists(after), None

        update(self._kv, keys.thing_index(self._scope, bucket), decide)

    def _read_bucket(self, bucket: int) -> Lists:
        """Return the lists of a bucket; one that is damaged is rebuilt and written first."""

        def decide(value: bytes | None) -> tuple[bytes | None, Lists]:
            stored = _decode_lists(value)
            if stored is not None:
                return None, stored
            rebuilt = self._rebuild_bucket(bucket)
            return _encode_lists(rebuilt), rebuilt

        return update(self._kv, keys.thing_index(self._scope, bucket), decide)

    def _rebuild_bucket(self, bucket: int) -> Lists:
        lists: Lists = defaultdict(bytes)
        for id, terms in self._scan_things():
            for term in {_cut_term(term) for term in _group_by_bucket(terms).get(bucket, ())}:
                lists[term] = (lists[term] + id.to_bytes(_ID, "big"))[-MOST * _ID :]
        return lists


def _group_by_bucket(terms: Collection[str]) -> dict[int, set[str]]:
    groups: dict[int, set[str]] = defaultdict(set)
    for term in terms:
        digest = blake2b(_cut_term(term).encode("utf-8", "replace"), digest_size=1).digest()
        groups[digest[0]].add(term)
    return groups


def _cut_term(term: str) -> str:
    return term[:TERM_CHARACTERS]


def _encode_lists(lists: Mapping[str, bytes]) -> bytes:
    head = orjson.dumps({term: len(ids) // _ID for term, ids in lists.items()})
    return b"".join((len(head).to_bytes(_SIZE, "big"), head, *lists.values()))


def _decode_lists(data: bytes | None) -> Lists | None:
    """Return the lists of a stored bucket, empty ones when there is none, None when damaged."""
    if data is None:
        return {}
    try:
        at = _SIZE + int.from_bytes(data[:_SIZE], "big")
        lists: Lists = {}
        for term, count in orjson.loads(data[_SIZE:at]).items():
            lists[term] = data[at : at + count * _ID]
            at += count * _ID
    except (ValueError, TypeError, AttributeError):
        return None
    return lists if at == len(data) else None


def _find_position(ids: bytes, id: int) -> int:
    """Return the position of an id, -1 when it is not among these.

    The same bytes across two neighbouring ids do not count.
    """
    packed = id.to_bytes(_ID, "big")
    at = ids.find(packed)
    while at >= 0 and at % _ID:
        at = ids.find(packed, at + 1)
    return at
