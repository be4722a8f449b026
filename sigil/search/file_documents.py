"""The documents of an index file are read where a query needs them, so opening it costs little."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from hashlib import blake2b
from itertools import chain
from typing import Final

import orjson

from sigil.search.entries import IndexEntry, join_words
from sigil.search.index_file import DamagedIndexError, Section, unpack
from sigil.search.postings import Posting
from sigil.search.ranking import rank, score_of, weigh_postings
from sigil.search.spelling import is_comparable, list_grams, select_closest

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
ENTRIES_REMEMBERED: Final = 1_024
WHOLES: Final = (
    ("entry_ends", "entries"),
    ("posting_ends", "numbers"),
    ("owned_ends", "owned"),
    ("gram_ends", "gram_terms"),
)


class FileDocuments:
    """The documents of an opened file, which only ever leave. What a query meets that is not
    consistent raises `DamagedIndexError`.

    `rules`: the version of the rules by which documents become terms and strengths; an index of
    others would rank differently.
    """

    def __init__(self, body: bytes, rules: str) -> None:
        self.header, self._parts = unpack(body, KINDS)
        self._terms: list[str] = []
        if len(self._parts["terms"]):
            self._terms = str(self._parts["terms"], "utf-8", "replace").split("\n")
        self._ids = dict(zip(self._terms, range(len(self._terms)), strict=True))
        # sections that count the same things have the same length; what single numbers say is
        # checked where they are used
        parts = self._parts
        documents = len(parts["entry_ends"])
        terms = len(self._ids)
        self._vector_bytes = len(parts["vectors"]) // documents if documents else 0
        consistent = (
            all(len(parts[one]) == len(parts[other]) for one, other in PAIRS)
            and all(
                len(parts[whole]) == (parts[ends][-1] if len(parts[ends]) else 0)
                for ends, whole in WHOLES
            )
            and all(len(parts[name]) == documents for name in ("stamps", "refs", "owned_ends"))
            and len(self._terms) == terms
            and all(len(parts[name]) == terms for name in ("posting_ends", "strongest"))
            and self._vector_bytes * documents == len(parts["vectors"])
        )
        if not consistent or self.header.get("made") != rules:
            raise DamagedIndexError("it is not consistent, or it was written by other rules")
        self._until = dict(zip(self._parts["until_numbers"], self._parts["until"], strict=True))
        self._stamps = _copy_numbers(parts["stamps"])
        self._hashes = {
            "refs": (parts["refs"], parts["ref_numbers"]),
            "keys": (parts["keys"], parts["key_numbers"]),
        }
        self._entries: dict[int, IndexEntry] = {}
        self._gone: set[int] = set()
        self._lost: Counter[int] = Counter()

    def __len__(self) -> int:
        return len(self._parts["entry_ends"]) - len(self._gone)

    def __iter__(self) -> Iterator[int]:
        """The numbers of what is left, ascending."""
        return (
            number for number in range(len(self._parts["entry_ends"])) if number not in self._gone
        )

    def by_hash(self) -> Iterator[tuple[int, int]]:
        """Yield the hash of each reference, ascending, and the number of its document."""
        for value, number in zip(self._parts["refs"], self._parts["ref_numbers"], strict=True):
            if number not in self._gone:
                yield value, number

    @property
    def outdated(self) -> int:
        """The number of documents that have left."""
        return len(self._gone)

    def copy(self) -> FileDocuments:
        """Return the same documents, from which nothing leaves that leaves these later."""
        other = copy(self)
        other._stamps = self._stamps[:]
        other._entries = {}
        other._gone = set(self._gone)
        other._lost = Counter(self._lost)
        return other

    def drop(self, ref: str) -> None:
        number = self.find_ref(ref)
        if number is not None:
            self._gone.add(number)
            self._lost.update(self._terms_of(number))

    def find_ref(self, ref: str) -> int | None:
        for number in self._with_hash("refs", ref):
            if number not in self._gone and self.get_entry(number).ref == ref:
                return number
        return None

    def set_stamp(self, ref: str, stamp: int) -> None:
        number = self.find_ref(ref)
        if number is not None:
            self._stamps[number] = stamp
            self._entries.pop(number, None)

    def list_sections(self) -> dict[str, Section]:
        """Return the sections of a file with the same documents, those that have left too."""
        sections: dict[str, Section] = {}
        for name, part in self._parts.items():
            sections[name] = part.tobytes() if part.format == "B" else _copy_numbers(part)
        return {**sections, "stamps": self._stamps}

    def get_entry(self, number: int) -> IndexEntry:
        """Return an entry; those that were read last are remembered."""
        entry = self._entries.get(number)
        if entry is None:
            if len(self._entries) >= ENTRIES_REMEMBERED:
                self._entries.clear()
            entry = self._entries[number] = self._read_entry(number)
        return entry

    def _read_entry(self, number: int) -> IndexEntry:
        try:
            ref, name, called, aliases = orjson.loads(self._slice("entries", "entry_ends", number))
            stamp = self._stamps[number]
            until = self._until.get(number, 0.0)
            return IndexEntry(
                str(ref), str(name), str(called), frozenset(map(str, aliases)), stamp, until
            )
        except (ValueError, TypeError, IndexError):
            raise DamagedIndexError("a document is damaged") from None

    def list_terms(self, number: int) -> list[str]:
        try:
            return [self._terms[term] for term in self._terms_of(number)]
        except IndexError:
            raise DamagedIndexError("a document's terms are damaged") from None

    def has_term(self, number: int, term: str) -> bool:
        """Return whether a document has a term."""
        place = self._ids.get(term)
        if place is None:
            return False
        start, end = self._span("posting_ends", place)
        numbers = self._parts["numbers"]
        try:
            place = bisect_left(numbers, number, start, end)
            return place < end and numbers[place] == number
        except (IndexError, ValueError):
            raise DamagedIndexError("it points outside of itself") from None

    def list_ends(self) -> Iterator[tuple[float, str]]:
        """Yield the end and the reference of each document that has an end."""
        for number, end in self._until.items():
            if number not in self._gone:
                yield end, self.get_entry(number).ref

    def count_holders(self, term: str) -> int:
        number = self._ids.get(term)
        if number is None:
            return 0
        start, end = self._span("posting_ends", number)
        return min(max(end - start - self._lost[number], 0), len(self))

    def get_posting(self, term: str) -> Posting | None:
        """Return the posting of a term, with the documents that have left."""
        number = self._ids.get(term)
        if number is None:
            return None
        start, end = self._span("posting_ends", number)
        parts = self._parts
        return Posting(
            _copy_numbers(parts["numbers"][start:end]),
            _copy_numbers(parts["strengths"][start:end]),
            parts["strongest"][number],
        )

    def similar_words(self, term: str) -> list[tuple[float, str]]:
        if not is_comparable(term):
            return []
        mine = list_grams(term)
        shared = Counter(chain.from_iterable(map(self._terms_with_gram, mine)))
        words: dict[str, int] = {}
        for number, count in shared.items():
            if 3 * count >= len(mine) and number < len(self._terms):
                word = self._terms[number]
                if not self._gone or self.count_holders(word):
                    words[word] = count
        return select_closest(term, words)

    def rank_best(
        self, weights: Mapping[str, float], count: int, share: float
    ) -> Iterator[tuple[int, float]]:
        """Yield at least the best `count` documents with their scores, see `rank`."""
        return iter(
            rank(weigh_postings(weights, self.get_posting), count, share, self._gone).items()
        )

    def find_called(self, phrase: str, weights: Mapping[str, float]) -> Iterator[tuple[int, float]]:
        """Yield the documents whose name or alias is this phrase, with their scores."""
        joined = join_words(phrase)
        for number in self._with_hash("keys", joined):
            if number not in self._gone and self.get_entry(number).is_called(joined):
                yield number, self.score_one(number, weights)

    def score_one(self, number: int, weights: Mapping[str, float]) -> float:
        """Return the score of one document."""
        return score_of(weigh_postings(weights, self.get_posting), number)

    def all_vectors(self) -> tuple[Sequence[int], bytes | memoryview]:
        """Return the numbers of the documents, and their vectors one after the other."""
        if not self._gone:
            documents = len(self._parts["entry_ends"]) if self._vector_bytes else 0
            return range(documents), self._parts["vectors"]
        left = list(self) if self._vector_bytes else []
        return left, b"".join(map(self.get_vector, left))

    def get_vector(self, number: int) -> bytes:
        start = number * self._vector_bytes
        return bytes(self._parts["vectors"][start : start + self._vector_bytes])

    def _with_hash(self, section: str, text: str) -> list[int]:
        """Return the numbers of the documents that have this text, and perhaps of one that has
        another.
        """
        hashes, numbers = self._hashes[section]
        value = hash_text(text)
        found: list[int] = []
        place = bisect_left(hashes, value)
        while place < len(hashes) and hashes[place] == value:
            found.append(numbers[place])
            place += 1
        return found

    def _terms_with_gram(self, gram: str) -> memoryview:
        """Return the terms that have this group of characters."""
        hashes = self._parts["grams"]
        value = hash_text(gram)
        place = bisect_left(hashes, value)
        if place < len(hashes) and hashes[place] == value:
            return self._slice("gram_terms", "gram_ends", place)
        return self._parts["gram_terms"][:0]

    def _terms_of(self, number: int) -> memoryview:
        return self._slice("owned", "owned_ends", number)

    def _slice(self, section: str, ends: str, number: int) -> memoryview:
        start, end = self._span(ends, number)
        return self._parts[section][start:end]

    def _span(self, ends: str, number: int) -> tuple[int, int]:
        try:
            return (self._parts[ends][number - 1] if number else 0), self._parts[ends][number]
        except IndexError:
            raise DamagedIndexError("it points outside of itself") from None


def hash_text(text: str) -> int:
    """Return 64 bits of a text; two that share them are told apart by the texts themselves."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _copy_numbers(part: memoryview) -> array[int]:
    values: array[int] = array(part.format)
    values.frombytes(part.tobytes())
    return values
