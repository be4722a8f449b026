"""The index takes documents and returns ranked references."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cached_property
from heapq import merge
from itertools import repeat
from operator import itemgetter
from typing import Final

from sigil.search.dense import Encoder, QueryVector, quantize
from sigil.search.document import (
    IndexAnswer,
    IndexDocument,
    IndexHit,
    summarize,
    term_strengths,
)
from sigil.search.entries import IndexEntry
from sigil.search.file_documents import FileDocuments
from sigil.search.group import Group, Part
from sigil.search.index_file import DamagedIndexError, rules_version
from sigil.search.index_writer import write_index
from sigil.search.matching import Answers, Scored, find_answers
from sigil.search.postings import rarity
from sigil.search.query import Query
from sigil.search.ranking import Candidate
from sigil.search.words import QUERY_LIMIT, Tokenizer, normalize_phrase

SAMPLE_SIZE: Final = 200
"""Documents of a group that are candidates when nothing is asked for.

Of the same group they are always the same ones.
"""
WIDER: Final = (1, 10, 100)
"""How many times the limit of answers are looked at, while too few of them pass the filter."""

Filter = Callable[[str], bool]
"""Returns whether a reference may be given; called while the index is locked."""


class Index:
    """Fielded BM25 over capabilities; a document is searchable as soon as it is added.

    Any number of threads may use it. One lock makes a change and a search see each other whole or
    not at all: the interpreter runs one of them at a time anyway, and the reading of texts, which
    takes longest, happens outside of it. A group's documents may come from a file, which
    `write_file` writes and `open_file` reads; what such a file holds that makes no sense raises
    `DamagedIndexError` then or later. With an `encoder`, what a document means counts beside its
    words.
    """

    def __init__(self, encoder: Encoder | None = None) -> None:
        self._lock = threading.Lock()
        self._tokenizer = Tokenizer()
        self._encoder = encoder
        self._groups: dict[str, Group] = {}

    def __len__(self) -> int:
        return sum(map(len, self._groups.values()))

    def add(self, document: IndexDocument) -> None:
        """Add a document in the place of the one with the same `ref` in its group."""
        strengths = term_strengths(document, self._tokenizer.terms)
        vector = b""
        if self._encoder:
            vector = quantize(self._encoder.encode([summarize(document)])[0])
        with self._lock:
            self._groups.setdefault(document.group, Group()).put(document, strengths, vector)

    def remove(self, ref: str, group: str = "") -> None:
        """Remove a document; nothing happens when it is not there."""
        with self._lock:
            if group in self._groups:
                self._groups[group].drop(ref)
                if not self._groups[group]:
                    del self._groups[group]

    def open_file(self, group: str, body: bytes) -> dict[str, object]:
        """Put the documents of a file in the place of a group; return the header that it was
        written with.
        """
        file = FileDocuments(body, self.rules)
        opened = Group(file)
        with self._lock:
            self._groups[group] = opened
        return file.header

    def copy_group(self, group: str) -> Group:
        """Return the group as it is at this moment; what changes in it later changes nothing
        there.
        """
        with self._lock:
            return self._groups[group].copy() if group in self._groups else Group()

    def write_file(self, group: Group, header: Mapping[str, object]) -> bytes:
        """Return a copied group as a file. `ValueError` when a document is not Unicode."""
        return write_index(group, {**header, "made": self.rules})

    def forget(self, group: str) -> None:
        """Drop a group with all its documents."""
        with self._lock:
            self._groups.pop(group, None)

    def has(self, ref: str, group: str) -> bool:
        """Return whether the group has this document."""
        with self._lock:
            return group in self._groups and self._groups[group].has(ref)

    def list_called(self, name: str, group: str) -> list[str]:
        """Return the documents of the group that have this name or alias."""
        phrase = normalize_phrase(name)
        with self._lock:
            parts = self._groups[group].parts if group in self._groups else []
            return [
                part.get_entry(number).ref
                for part in parts
                for number, _ in part.find_called(phrase, {})
            ]

    def set_stamp(self, ref: str, group: str, stamp: int) -> None:
        """Give a document of the group's file another stamp."""
        with self._lock:
            file = self._groups[group].file if group in self._groups else None
            if file is not None:
                file.set_stamp(ref, stamp)

    def get_stamp(self, ref: str, group: str) -> int | None:
        """Return the stamp of one document, None when the group does not have it."""
        with self._lock:
            return self._groups[group].get_stamp(ref) if group in self._groups else None

    def count_documents(self, group: str) -> int:
        """Return how many documents the group has."""
        return len(self._groups.get(group, ()))

    def count_outdated(self, group: str) -> int:
        """Return how many documents of the group's file are outdated."""
        with self._lock:
            file = self._groups[group].file if group in self._groups else None
            return file.outdated if file is not None else 0

    def list_stamps(self, group: str) -> dict[str, int]:
        """Return the stamp of each document of the group."""
        with self._lock:
            return self._groups[group].list_stamps() if group in self._groups else {}

    def list_expired(self, group: str, now: float) -> list[str]:
        """Return the documents of the group whose `until` has passed."""
        with self._lock:
            return self._groups[group].list_expired(now) if group in self._groups else []

    def search(
        self,
        query: str,
        limit: int,
        *,
        within: Collection[str] | None = None,
        among: Filter | None = None,
    ) -> list[IndexHit]:
        """Return at most `limit` documents, the best first: those that are called exactly so, then
        those that pass the cutoff; often none.

        `within` names the groups that are seen (None: all); the others change neither results nor
        scores. `among` then says of each answer whether it is given. Scores are comparable between
        queries: 1 the name itself, 0.99 an alias, below it the root of the share that a document
        has of what the query could give. Equal ones come in the order of their names.
        """
        return self.find(query, limit, within=within, among=among).hits

    def find(
        self,
        query: str,
        limit: int,
        *,
        within: Collection[str] | None = None,
        among: Filter | None = None,
    ) -> IndexAnswer:
        """Return what `search` does, and beside it at most `limit` documents that fit too little,
        the best first.
        """
        read = self._read_query(query)
        with self._lock:
            best = self._find_best(read, limit, self._select_groups(within), among)
            return IndexAnswer(_list_hits(best.found), _list_hits(best.weak))

    def find_candidates(
        self,
        query: str,
        limit: int,
        *,
        within: Collection[str] | None = None,
        among: Filter | None = None,
    ) -> list[Candidate]:
        """Return what `search` finds, with its terms.

        Where nothing is asked for, it is some of everything, in the order of `within` and of names.
        """
        read = None
        if query[:QUERY_LIMIT].strip():
            read = replace(self._read_query(query), exploring=True)
        with self._lock:
            groups = self._select_groups(within)
            if read:
                best = self._find_best(read, limit, groups, among).found
                drawn = [
                    (entry.ref, score, _find_terms(entry.ref, groups)) for entry, score, _ in best
                ]
            else:
                drawn = _draw_sample(groups, among)
            parts = [part for group in groups for part in group.parts]
            documents = sum(map(len, parts))
            candidates = []
            for ref, score, terms in drawn:
                weights = {}
                for term in terms:
                    holders = sum(part.count_holders(term) for part in parts)
                    weights[term] = rarity(holders, documents)
                candidates.append(Candidate(ref, score, weights))
            return candidates

    @cached_property
    def rules(self) -> str:
        """The version of the rules that its files are written by: it opens no others."""
        version = rules_version(self._tokenizer)
        return f"{version}-{self._encoder.name}" if self._encoder else version

    def _read_query(self, query: str) -> Query:
        text = query[:QUERY_LIMIT]
        vector = None
        if self._encoder and text.strip():
            vector = QueryVector(self._encoder.encode([text])[0])
        return Query.read(text, self._tokenizer, vector)

    def _find_best(
        self, query: Query, limit: int, groups: list[Group], among: Filter | None
    ) -> Answers:
        parts = [part for group in groups for part in group.parts]
        if among is None:
            return find_answers(query, parts, self._tokenizer, limit)
        passed = Answers([], [])
        for times in WIDER:
            answers = find_answers(query, parts, self._tokenizer, limit * times)
            passed = Answers(
                [each for each in answers.found if among(each[0].ref)],
                [each for each in answers.weak if among(each[0].ref)],
            )
            if len(passed.found) >= limit or len(answers.found) < limit * times:
                break
        return Answers(passed.found[:limit], passed.weak[:limit])

    def _select_groups(self, within: Collection[str] | None) -> list[Group]:
        names = self._groups if within is None else dict.fromkeys(within)
        return [self._groups[name] for name in names if name in self._groups]


Drawn = tuple[str, float, Collection[str]]
"""A candidate's reference, score and terms."""


def _list_hits(scored: list[Scored]) -> list[IndexHit]:
    return [IndexHit(entry.ref, round(score, 3)) for entry, score, _ in scored]


def _draw_sample(groups: list[Group], among: Filter | None) -> list[Drawn]:
    """Return some documents of each group, in the order of their names."""
    drawn: list[Drawn] = []
    for group in groups:
        # their order by hash depends on their references alone, and so does the choice
        orders = [zip(part.by_hash(), repeat(part), strict=False) for part in group.parts]
        rows: list[tuple[IndexEntry, Part, int]] = []
        for (_, number), part in merge(*orders, key=itemgetter(0)):
            entry = part.get_entry(number)
            if among is None or among(entry.ref):
                rows.append((entry, part, number))
                if len(rows) == SAMPLE_SIZE:
                    break
        rows.sort(key=lambda row: (row[0].name, row[0].ref))
        drawn.extend((entry.ref, 1.0, part.list_terms(number)) for entry, part, number in rows)
    return drawn


def _find_terms(ref: str, groups: list[Group]) -> Collection[str]:
    """Return the terms of a document that was found."""
    for group in groups:
        for part in group.parts:
            number = part.find_ref(ref)
            if number is not None:
                return part.list_terms(number)
    raise DamagedIndexError("a document that was found in it is missing from it")
