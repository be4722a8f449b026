"""Which things a term stands in: an inverted index in the store, in buckets of terms, so that a
search reads one small item a term.

It only leads to things. Whoever follows it looks at the thing itself, so what is stale in it
misleads nobody.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from hashlib import blake2b
from typing import Final

import orjson

from sigil.errors import Conflict
from sigil.storage.kv import ABSENT, KV, keys

MOST: Final = 4_096
"""Of one term; the oldest go. A term that stands in more things tells little about any of them."""
TERM_CHARACTERS: Final = 60
RACES: Final = 20
_SIZE, _ID = 4, 8

Lists = dict[str, bytes]
"""Term → the ids of its things, 8 bytes each, the newest last."""


Everything = Callable[[], Iterable[tuple[int, Collection[str]]]]
"""The ids of all things and the terms of each, the newest last: what an index is made of."""


class Postings:
    """The index of one scope. Ids are numbers of 64 bits. A bucket that is damaged is made anew
    from `everything`.
    """

    def __init__(self, kv: KV, scope: str, everything: Everything) -> None:
        self._kv = kv
        self._scope = scope
        self._everything = everything

    def add(self, id: int, terms: Collection[str]) -> None:
        """Let `terms` lead to the thing; adding it again changes nothing."""
        self._each(
            terms,
            lambda ids: ids if _holds(ids, id) else (ids + id.to_bytes(_ID, "big"))[-MOST * _ID :],
        )

    def drop(self, id: int, terms: Collection[str]) -> None:
        """Let `terms` lead to it no more."""
        self._each(terms, lambda ids: _without(ids, id))

    def of(self, terms: Collection[str]) -> dict[str, tuple[int, ...]]:
        """Term → its ids, the newest last; without terms that nothing has."""
        found: dict[str, tuple[int, ...]] = {}
        for bucket, group in _buckets(terms).items():
            lists = self._read(bucket)[0]
            found |= {term: _numbers(lists[_cut(term)]) for term in group if _cut(term) in lists}
        return found

    def _each(self, terms: Collection[str], change: Callable[[bytes], bytes]) -> None:
        for bucket, group in _buckets(terms).items():
            self._change(bucket, group, change)

    def _change(
        self, bucket: int, terms: Collection[str], change: Callable[[bytes], bytes]
    ) -> None:
        key = keys.thing_index(self._scope, bucket)
        for _ in range(RACES):
            before, version = self._read(bucket)
            after = before | {cut: change(before.get(cut, b"")) for cut in map(_cut, terms)}
            after = {term: ids for term, ids in after.items() if ids}
            if after == before:
                return
            try:
                self._kv.put(key, _encoded(after), expect=version or ABSENT)
            except Conflict:
                continue
            return
        raise Conflict("the index of what is remembered is being written by others")

    def _read(self, bucket: int) -> tuple[Lists, str]:
        """The lists of a bucket and the store's version of it, empty when there is none."""
        key = keys.thing_index(self._scope, bucket)
        for _ in range(RACES):
            item = self._kv.get(key)
            lists = _decoded(item.value) if item else {}
            if lists is not None:
                return lists, item.version if item else ""
            with suppress(Conflict):
                self._kv.put(
                    key, _encoded(self._made(bucket)), expect=item.version if item else ABSENT
                )
        raise Conflict("the index of what is remembered is being mended by others")

    def _made(self, bucket: int) -> Lists:
        lists: Lists = defaultdict(bytes)
        for id, terms in self._everything():
            for term in {_cut(term) for term in _buckets(terms).get(bucket, ())}:
                lists[term] = (lists[term] + id.to_bytes(_ID, "big"))[-MOST * _ID :]
        return lists


def _buckets(terms: Collection[str]) -> dict[int, set[str]]:
    groups: dict[int, set[str]] = defaultdict(set)
    for term in terms:
        groups[blake2b(_cut(term).encode("utf-8", "replace"), digest_size=1).digest()[0]].add(term)
    return groups


def _cut(term: str) -> str:
    return term[:TERM_CHARACTERS]


def _encoded(lists: Mapping[str, bytes]) -> bytes:
    head = orjson.dumps({term: len(ids) // _ID for term, ids in lists.items()})
    return b"".join((len(head).to_bytes(_SIZE, "big"), head, *lists.values()))


def _decoded(data: bytes) -> Lists | None:
    """None when it is damaged."""
    try:
        at = _SIZE + int.from_bytes(data[:_SIZE], "big")
        lists: Lists = {}
        for term, count in orjson.loads(data[_SIZE:at]).items():
            lists[term] = data[at : at + count * _ID]
            at += count * _ID
    except (ValueError, TypeError, AttributeError):
        return None
    return lists if at == len(data) else None


def _numbers(ids: bytes) -> tuple[int, ...]:
    return struct.unpack(f">{len(ids) // _ID}Q", ids)


def _place(ids: bytes, id: int) -> int:
    """Where it stands; -1 when it does not. What only looks so across two ids does not count."""
    wanted, at = id.to_bytes(_ID, "big"), ids.find(id.to_bytes(_ID, "big"))
    while at >= 0 and at % _ID:
        at = ids.find(wanted, at + 1)
    return at


def _holds(ids: bytes, id: int) -> bool:
    return _place(ids, id) >= 0


def _without(ids: bytes, id: int) -> bytes:
    at = _place(ids, id)
    return ids if at < 0 else ids[:at] + ids[at + _ID :]
