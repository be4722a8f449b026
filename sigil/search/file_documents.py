"""Documents as a file has them: nothing is made of it before a query asks, so that opening costs
next to nothing.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from hashlib import blake2b
from itertools import chain
from typing import Any, Final

import orjson

from sigil.search.entries import Entry, key
from sigil.search.index_file import DamagedIndexError, unpack
from sigil.search.postings import UNIT, Posting
from sigil.search.ranking import Weighted, rank, score_of
from sigil.search.spelling import closest, compared, grams

KINDS: Final = {
    "entries": "B",
    "entry_ends": "I",
    "stamps": "Q",
    "until_numbers": "I",
    "until": "d",
    "refs": "Q",
    "ref_numbers": "I",
    "keys": "Q",
    "key_numbers": "I",
    "terms": "B",
    "posting_ends": "I",
    "numbers": "H I",
    "strengths": "H",
    "strongest": "H",
    "owned_ends": "I",
    "owned": "H I",
    "grams": "Q",
    "gram_ends": "I",
    "gram_terms": "H I",
    "vectors": "B",
}
"""Sections and their kinds of number. `…_ends`: where the part of the n-th ends; the next one
begins there.
"""
PAIRS: Final = (
    ("refs", "ref_numbers"),
    ("keys", "key_numbers"),
    ("grams", "gram_ends"),
    ("until", "until_numbers"),
    ("numbers", "strengths"),
)
WHOLES: Final = (
    ("entry_ends", "entries"),
    ("posting_ends", "numbers"),
    ("owned_ends", "owned"),
    ("gram_ends", "gram_terms"),
)


class Sealed:
    """A shelf whose documents only ever leave. What a query meets that does not hold together
    raises `DamagedIndexError`.

    `made`: by which rules documents become terms and strengths; an index of others would rank
    differently.
    """

    def __init__(self, body: bytes, made: str) -> None:
        self.header, self._parts = unpack(body, KINDS)
        self._terms = (
            str(self._parts["terms"], "utf-8", "replace").split("\n")
            if len(self._parts["terms"])
            else []
        )
        self._ids = dict(zip(self._terms, range(len(self._terms)), strict=True))
        self._check(made)
        self._until = dict(zip(self._parts["until_numbers"], self._parts["until"], strict=True))
        self._gone: set[int] = set()
        self._lost: Counter[int] = Counter()

    def __len__(self) -> int:
        return len(self._parts["entry_ends"]) - len(self._gone)

    def __iter__(self) -> Iterator[int]:
        """The numbers of what is left, ascending."""
        return (
            number for number in range(len(self._parts["entry_ends"])) if number not in self._gone
        )

    def scattered(self) -> Iterator[tuple[int, int]]:
        """The hash of each reference, ascending, and the number of its document."""
        pairs = zip(self._parts["refs"], self._parts["ref_numbers"], strict=True)
        return ((value, number) for value, number in pairs if number not in self._gone)

    @property
    def gone(self) -> int:
        """How many documents have left."""
        return len(self._gone)

    def copy(self) -> Sealed:
        """The same, from which nothing leaves that leaves this one later."""
        other = copy(self)
        other._gone, other._lost = set(self._gone), Counter(self._lost)
        return other

    def drop(self, ref: str) -> None:
        number = self.with_ref(ref)
        if number is not None:
            self._gone.add(number)
            self._lost.update(self._owned(number))

    def with_ref(self, ref: str) -> int | None:
        found = (
            number
            for number in self._hashed("refs", ref)
            if number not in self._gone and self.entry(number).ref == ref
        )
        return next(found, None)

    def entry(self, number: int) -> Entry:
        try:
            ref, name, called, aliases = orjson.loads(self._part("entries", "entry_ends", number))
            stamp, until = self._parts["stamps"][number], self._until.get(number, 0.0)
            return Entry(
                str(ref), str(name), str(called), frozenset(map(str, aliases)), stamp, until
            )
        except (ValueError, TypeError, IndexError):
            raise DamagedIndexError("a document is damaged") from None

    def terms(self, number: int) -> list[str]:
        try:
            return [self._terms[term] for term in self._owned(number)]
        except IndexError:
            raise DamagedIndexError("a document's terms are damaged") from None

    def until(self) -> Iterator[tuple[float, str]]:
        """When those documents end that do, and their references."""
        return (
            (end, self.entry(number).ref)
            for number, end in self._until.items()
            if number not in self._gone
        )

    def holders(self, term: str) -> int:
        number = self._ids.get(term)
        if number is None:
            return 0
        start, end = self._span("posting_ends", number)
        return min(max(end - start - self._lost[number], 0), len(self))

    def posting(self, term: str) -> Posting | None:
        """With the documents that have left."""
        number = self._ids.get(term)
        if number is None:
            return None
        start, end = self._span("posting_ends", number)
        parts = self._parts
        return Posting(
            _copied(parts["numbers"][start:end]),
            _copied(parts["strengths"][start:end]),
            parts["strongest"][number],
        )

    def neighbours(self, term: str) -> list[tuple[float, str]]:
        if not compared(term):
            return []
        mine = grams(term)
        shared = Counter(chain.from_iterable(map(self._having, mine)))
        near = (
            number
            for number, count in shared.items()
            if 3 * count >= len(mine) and number < len(self._terms)
        )
        words = {self._terms[number]: shared[number] for number in near}
        return closest(
            len(mine),
            {word: words[word] for word in words if self.holders(word)} if self._gone else words,
        )

    def ranked(
        self, weights: Mapping[str, float], count: int, share: float
    ) -> Iterator[tuple[int, float]]:
        """At least the best `count` documents with their scores, as `rank` has it."""
        return iter(rank(self._weighted(weights), count, share, self._gone).items())

    def called(self, said: str, weights: Mapping[str, float]) -> Iterator[tuple[int, float]]:
        """The documents whose name or alias is this phrase, with their scores."""
        for number in self._hashed("keys", key(said)):
            if number not in self._gone and key(said) in self.entry(number).keys:
                yield number, self.points(number, weights)

    def points(self, number: int, weights: Mapping[str, float]) -> float:
        """The score of one document."""
        return score_of(self._weighted(weights), number)

    def vectors(self) -> tuple[Sequence[int], bytes | memoryview]:
        """The numbers of the documents, and their vectors one after the other."""
        if not self._gone:
            return range(len(self._parts["entry_ends"]) if self._wide else 0), self._parts[
                "vectors"
            ]
        left = list(self) if self._wide else []
        return left, b"".join(map(self.vector, left))

    def vector(self, number: int) -> bytes:
        return bytes(self._parts["vectors"][number * self._wide : (number + 1) * self._wide])

    def _weighted(self, weights: Mapping[str, float]) -> list[Weighted]:
        found = ((term, weight, self.posting(term)) for term, weight in weights.items())
        return [
            Weighted(weight / UNIT, term, posting)
            for term, weight, posting in found
            if posting is not None
        ]

    def _hashed(self, section: str, text: str) -> list[int]:
        """The numbers of the documents that have this text, and perhaps of one that has another."""
        hashes, numbers, wanted = (
            self._parts[section],
            self._parts[f"{section[:-1]}_numbers"],
            hashed(text),
        )
        place, found = bisect_left(hashes, wanted), []
        while place < len(hashes) and hashes[place] == wanted:
            found.append(numbers[place])
            place += 1
        return found

    def _having(self, gram: str) -> memoryview:
        """The terms that have this group of characters."""
        hashes, wanted = self._parts["grams"], hashed(gram)
        place = bisect_left(hashes, wanted)
        here = place < len(hashes) and hashes[place] == wanted
        return (
            self._part("gram_terms", "gram_ends", place) if here else self._parts["gram_terms"][:0]
        )

    def _owned(self, number: int) -> memoryview:
        return self._part("owned", "owned_ends", number)

    def _part(self, section: str, ends: str, number: int) -> memoryview:
        start, end = self._span(ends, number)
        return self._parts[section][start:end]

    def _span(self, ends: str, number: int) -> tuple[int, int]:
        try:
            return (self._parts[ends][number - 1] if number else 0), self._parts[ends][number]
        except IndexError:
            raise DamagedIndexError("it points outside of itself") from None

    def _check(self, made: str) -> None:
        """That what is counted twice is counted alike; what single numbers say is checked where
        they are used.
        """
        parts, documents, terms = self._parts, len(self._parts["entry_ends"]), len(self._ids)
        alike = all(len(parts[one]) == len(parts[other]) for one, other in PAIRS)
        whole = all(
            (parts[ends][-1] if len(parts[ends]) else 0) == len(parts[all_])
            for ends, all_ in WHOLES
        )
        each = all(len(parts[name]) == documents for name in ("stamps", "refs", "owned_ends"))
        every = len(self._terms) == terms and all(
            len(parts[name]) == terms for name in ("posting_ends", "strongest")
        )
        self._wide = len(parts["vectors"]) // documents if documents else 0
        even = self._wide * documents == len(parts["vectors"])
        if not (alike and whole and each and every and even) or self.header.get("made") != made:
            raise DamagedIndexError("it does not hold together, or other rules made it")


def hashed(text: str) -> int:
    """64 bits of a text; two that share them are told apart by the texts themselves."""
    return int.from_bytes(
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
    )


def _copied(part: memoryview) -> array[Any]:
    values: array[Any] = array(part.format)
    values.frombytes(part.tobytes())
    return values
