"""The index: documents in, ranked references out."""

from __future__ import annotations

import math
import threading
from collections.abc import Collection, Iterator
from typing import Final

from sigil.search.document import Document, Hit, strengths
from sigil.search.entries import Entry
from sigil.search.shelf import Shelf
from sigil.search.wanted import Wanted, weigh
from sigil.search.words import QUERY_LIMIT, Words, phrase

TOOL_PREFIX: Final = "cap_"
BESIDE: Final = 0.35
"""The share of the best document's score that any other needs."""
EXACT_NAME: Final = 1.0
EXACT_ALIAS: Final = 0.99
INEXACT: Final = 0.98

Scored = tuple[Entry, float, float]
"""An entry, the score that is shown, and the points that decide between equals."""


class Index:
    """Fielded BM25 over capabilities; a document is searchable as soon as it is added.

    Any number of threads may use it. One lock makes a change and a search see each other whole or not at all: the interpreter
    runs one of them at a time anyway, and the reading of texts, which takes longest, happens outside of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._words = Words()
        self._shelves: dict[str, Shelf] = {}
        self._groups: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def add(self, document: Document) -> None:
        """Takes the place of what has the same `ref`, and of what has the same `name` in its group."""
        found = strengths(document, self._words.terms)
        entry = Entry.of(document, tuple(found))
        with self._lock:
            self._drop(document.ref)
            replaced = self._shelves.setdefault(document.group, Shelf()).put(entry, found)
            if replaced is not None:
                del self._groups[replaced]
            self._groups[document.ref] = document.group

    def remove(self, ref: str) -> None:
        """Nothing happens when it is not there."""
        with self._lock:
            self._drop(ref)

    def search(self, query: str, limit: int, *, within: Collection[str] | None = None) -> list[Hit]:
        """At most `limit` documents, the best first: what is called exactly so, then what passes the floor; often none.

        `within` names the groups that are seen (None: all); the others change neither results nor scores. Scores are
        comparable between queries: 1 the name itself, 0.99 an alias, below it the root of the share that a document has of
        what the query could give. Equal ones stand in the order of their names."""
        if limit < 1:
            return []
        text = query[:QUERY_LIMIT]
        asked, said, tool = self._words.query(text), phrase(text), phrase(text.strip().removeprefix(TOOL_PREFIX))
        with self._lock:
            shelves = self._seen(within)
            wanted = weigh(asked, shelves)
            scored = {entry.ref: (entry, score, points) for entry, score, points in _inexact(shelves, wanted, said, limit)}
            scored |= {entry.ref: (entry, score, points) for entry, score, points in _exact(shelves, wanted, {said, tool} - {""})}
        best = sorted(scored.values(), key=_order)[:limit]
        return [Hit(entry.ref, round(score, 3)) for entry, score, _ in best]

    def _seen(self, within: Collection[str] | None) -> list[Shelf]:
        groups = self._shelves if within is None else dict.fromkeys(within)
        return [self._shelves[group] for group in groups if group in self._shelves]

    def _drop(self, ref: str) -> None:
        group = self._groups.pop(ref, None)
        if group is None:
            return
        self._shelves[group].drop(ref)
        if not self._shelves[group]:
            del self._shelves[group]


def _inexact(shelves: list[Shelf], wanted: Wanted, said: str, limit: int) -> Iterator[Scored]:
    ranked = [found for shelf in shelves for found in shelf.ranked(wanted.weights, limit, BESIDE)]
    best = max((points for _, points in ranked), default=0.0)
    for entry, points in ranked:
        if points >= BESIDE * best and (best >= wanted.floor or entry.is_said_in(said)):
            yield entry, INEXACT * math.sqrt(wanted.share(points)), points


def _exact(shelves: list[Shelf], wanted: Wanted, spellings: set[str]) -> Iterator[Scored]:
    for shelf in shelves:
        for said in spellings:
            for entry, points in shelf.called(said, wanted.weights):
                yield entry, EXACT_NAME if entry.is_named(said) else EXACT_ALIAS, points


def _order(scored: Scored) -> tuple[float, float, str, str]:
    entry, score, points = scored
    return -score, -points, entry.name, entry.ref
