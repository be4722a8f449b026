"""Helpers are functions of Sigil that the wiring lends to the agent's memory and services."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

from sigil.protocol import Json

Accept = Callable[[Mapping[str, Json], Mapping[str, Json]], dict[str, Json]]
"""(schema, arguments) → arguments with defaults that fit the schema; `UsageError` EINVAL if not."""
Terms = Callable[[str], Collection[str]]
"""A text → its terms, each once, without those that are in every text."""
FindEntries = Callable[[Collection[str]], Mapping[str, Sequence[int]]]
"""Terms → the entries of postings of those that something has."""


class Ranker(Protocol):
    """Reads the terms of chunks of documents, and ranks chunks."""

    def list_strengths(
        self, title: str, headings: Sequence[str], tags: Sequence[str], text: str
    ) -> Mapping[str, int]:
        """Return term → its strength in a chunk, in 16 bits."""

    def rank(
        self, question: str, chunks: int, find: FindEntries, count: int
    ) -> Sequence[tuple[int, float]]:
        """Return the numbers of at most `count` of so many `chunks`, the best first, each with its
        score from 0 to 1. An entry has the number, and behind it 16 bits for the strength.
        """


class NoRanker:
    """Finds nothing: no search of Sigil is lent."""

    def list_strengths(
        self, title: str, headings: Sequence[str], tags: Sequence[str], text: str
    ) -> Mapping[str, int]:
        """See `Ranker.list_strengths`."""
        return {}

    def rank(
        self, question: str, chunks: int, find: FindEntries, count: int
    ) -> Sequence[tuple[int, float]]:
        """See `Ranker.rank`."""
        return ()


def copy_arguments(schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Return the arguments unchecked: services check what they use all the same."""
    return dict(arguments)


def split_words(text: str) -> frozenset[str]:
    """Return the words of a text in small letters."""
    return frozenset(text.casefold().split())


@dataclass(frozen=True, slots=True)
class ServiceHelpers:
    """The helpers of one agent.

    The calls of a round run side by side; those that write memory take `lock`.
    """

    accept: Accept = copy_arguments
    terms: Terms = split_words
    ranker: Ranker = field(default_factory=NoRanker)
    lock: Lock = field(default_factory=Lock)
