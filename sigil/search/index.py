"""The index: documents in, ranked references out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from heapq import merge
from itertools import islice, repeat
from operator import itemgetter
from typing import Any, Final

from sigil.search.dense import Encoder, Meaning, kept
from sigil.search.diversity import Candidate
from sigil.search.document import Document, Hit, sentence, strengths
from sigil.search.entries import Entry
from sigil.search.file_documents import Sealed
from sigil.search.group import Group
from sigil.search.index_file import DamagedIndexError
from sigil.search.index_rules import rules
from sigil.search.index_writer import seal
from sigil.search.matching import Asked, Scored, answers
from sigil.search.postings import rarity
from sigil.search.query import Part
from sigil.search.words import QUERY_LIMIT, Words

POOL: Final = 200
"""So many documents of a group are looked around at, when nothing is asked for: always the same
ones of the same.
"""
WIDER: Final = (1, 10, 100)
"""So many times as many answers as are wanted are looked at, one after the other, while too few of
them may be given.
"""

Among = Callable[[str], bool]
"""Whether a reference may be given; asked while the index is locked."""


class Index:
    """Fielded BM25 over capabilities; a document is searchable as soon as it is added.

    Any number of threads may use it. One lock makes a change and a search see each other whole or
    not at all: the interpreter runs one of them at a time anyway, and the reading of texts, which
    takes longest, happens outside of it. A group's documents may come from a file, which `seal`
    writes and `open` reads; what such a file holds that makes no sense raises `DamagedIndexError`
    then or later. With an `encoder`, what a document means counts beside its words.
    """

    def __init__(self, encoder: Encoder | None = None) -> None:
        self._lock = threading.Lock()
        self._words = Words()
        self._encoder = encoder
        self._groups: dict[str, Group] = {}

    def __len__(self) -> int:
        return sum(map(len, self._groups.values()))

    def add(self, document: Document) -> None:
        """Takes the place of what has the same `ref` in its group."""
        found = strengths(document, self._words.terms)
        vector = kept(self._encoder.encode([sentence(document)])[0]) if self._encoder else b""
        with self._lock:
            self._groups.setdefault(document.group, Group()).put(document, found, vector)

    def remove(self, ref: str, group: str = "") -> None:
        """Nothing happens when it is not there."""
        with self._lock:
            if group in self._groups:
                self._groups[group].drop(ref)
                if not self._groups[group]:
                    del self._groups[group]

    def open(self, group: str, body: bytes) -> dict[str, Any]:
        """Put the documents of a file in the place of a group; the header that it was written
        with.
        """
        sealed = Sealed(body, self.made)
        opened = Group(sealed)
        with self._lock:
            self._groups[group] = opened
        return sealed.header

    def still(self, group: str) -> Group:
        """The group as it is at this moment; what changes in it later changes nothing there."""
        with self._lock:
            return self._groups[group].still() if group in self._groups else Group()

    def seal(self, still: Group, header: Mapping[str, Any]) -> bytes:
        """A group as a file. `ValueError` when a document is not Unicode."""
        return seal(still.sealed, still.shelf, {**header, "made": self.made})

    def forget(self, group: str) -> None:
        """Drop a group with all its documents."""
        with self._lock:
            self._groups.pop(group, None)

    def has(self, ref: str, group: str) -> bool:
        """Whether the group has this document."""
        with self._lock:
            return group in self._groups and self._groups[group].has(ref)

    def stamp(self, ref: str, group: str) -> int | None:
        """The stamp of one document, None when the group does not have it."""
        with self._lock:
            return self._groups[group].stamp(ref) if group in self._groups else None

    def size(self, group: str) -> int:
        """How many documents the group has."""
        return len(self._groups.get(group, ()))

    def gone(self, group: str) -> int:
        """How many documents of the group's file are outdated."""
        with self._lock:
            sealed = self._groups[group].sealed if group in self._groups else None
            return sealed.gone if sealed is not None else 0

    def stamps(self, group: str) -> dict[str, int]:
        """The stamp of each document of the group."""
        with self._lock:
            return self._groups[group].stamps() if group in self._groups else {}

    def ended(self, group: str, now: float) -> list[str]:
        """The documents of the group whose `until` has passed."""
        with self._lock:
            return self._groups[group].ended(now) if group in self._groups else []

    def search(
        self,
        query: str,
        limit: int,
        *,
        within: Collection[str] | None = None,
        among: Among | None = None,
    ) -> list[Hit]:
        """At most `limit` documents, the best first: what is called exactly so, then what passes
        the floor; often none.

        `within` names the groups that are seen (None: all); the others change neither results nor
        scores. `among` then says of each answer whether it is given. Scores are comparable between
        queries: 1 the name itself, 0.99 an alias, below it the root of the share that a document
        has of what the query could give. Equal ones stand in the order of their names.
        """
        asked = self._asked(query)
        with self._lock:
            return [
                Hit(entry.ref, round(score, 3))
                for entry, score, _ in self._best(asked, limit, self._seen(within), among)
            ]

    def candidates(
        self,
        query: str,
        limit: int,
        *,
        within: Collection[str] | None = None,
        among: Among | None = None,
    ) -> list[Candidate]:
        """What `search` finds, with its terms; where nothing is asked for, some of everything, in
        the order of `within` and of names.
        """
        asked = replace(self._asked(query), around=True) if query[:QUERY_LIMIT].strip() else None
        with self._lock:
            groups = self._seen(within)
            found = (
                {entry.ref: score for entry, score, _ in self._best(asked, limit, groups, among)}
                if asked
                else None
            )
            parts = [part for group in groups for part in group.parts]
            documents = sum(map(len, parts))
            return [
                Candidate(ref, score, _weights(terms, parts, documents))
                for ref, score, terms in _drawn(groups, found, among)
            ]

    @cached_property
    def made(self) -> str:
        """By which rules its files are made: those of others it does not open."""
        return rules(self._words) + (f"-{self._encoder.name}" if self._encoder else "")

    def _asked(self, query: str) -> Asked:
        text = query[:QUERY_LIMIT]
        meaning = (
            Meaning(self._encoder.encode([text])[0]) if self._encoder and text.strip() else None
        )
        return Asked.of(text, self._words, meaning)

    def _best(
        self, asked: Asked, limit: int, groups: list[Group], among: Among | None
    ) -> list[Scored]:
        parts = [part for group in groups for part in group.parts]
        if among is None:
            return answers(asked, parts, self._words, limit)
        given: list[Scored] = []
        for times in WIDER:
            found = answers(asked, parts, self._words, limit * times)
            given = [each for each in found if among(each[0].ref)]
            if len(given) >= limit or len(found) < limit * times:
                break
        return given[:limit]

    def _seen(self, within: Collection[str] | None) -> list[Group]:
        names = self._groups if within is None else dict.fromkeys(within)
        return [self._groups[name] for name in names if name in self._groups]


def _drawn(
    groups: list[Group], found: Mapping[str, float] | None, among: Among | None
) -> Iterator[tuple[str, float, Collection[str]]]:
    """(reference, score, terms) of each of those that were found, in their order; of some of each
    group where nothing was asked.
    """
    if found is not None:
        for ref, score in found.items():
            yield ref, score, _terms(ref, groups)
        return
    for group in groups:
        drawn = sorted(
            islice(_scattered(group, among), POOL), key=lambda row: (row[0].name, row[0].ref)
        )
        yield from ((entry.ref, 1.0, part.terms(number)) for entry, part, number in drawn)


def _terms(ref: str, groups: list[Group]) -> Collection[str]:
    """The terms of a document that was found."""
    parts = (part for group in groups for part in group.parts)
    found = next(
        ((part, number) for part in parts if (number := part.with_ref(ref)) is not None), None
    )
    if found is None:
        raise DamagedIndexError("what was found in it is not in it")
    return found[0].terms(found[1])


def _scattered(group: Group, among: Among | None) -> Iterator[tuple[Entry, Part, int]]:
    """The documents of a group in an order that has to do with nothing but their references."""
    orders = [zip(part.scattered(), repeat(part), strict=False) for part in group.parts]
    rows = (
        (part.entry(number), part, number)
        for (_, number), part in merge(*orders, key=itemgetter(0))
    )
    return (row for row in rows if among is None or among(row[0].ref))


def _weights(terms: Collection[str], parts: list[Part], documents: int) -> dict[str, float]:
    return {term: rarity(sum(part.holders(term) for part in parts), documents) for term in terms}
