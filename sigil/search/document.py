"""Documents go into the index and hits come out; each field of a document counts by its weight."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from sigil.search.shapes import find_shapes
from sigil.search.words import normalize_spelling

NAME_SEPARATOR: Final = re.compile("[;；]")
NAME_PARTS: Final = re.compile("(?<=[a-z0-9])(?=[A-Z])|[-_]")
FIELD_LIMIT: Final = 4_000
"""Characters of a field that are read; words further back are not found."""
SATURATION: Final = 2.0
"""BM25's k1: how slowly a repeated word stops counting."""
STRONGEST: Final = SATURATION + 1
"""What no word's strength reaches."""


@dataclass(frozen=True, slots=True)
class IndexDocument:
    """A capability as people look for it.

    `ref` is the caller's own key for it, `parameters` maps name to description, `inner` is what
    lies within the parameters: names and descriptions of their own parts, and the values that
    they take; a search can be kept to some groups, and `ref` is unique in its own. `stamp` (64
    bits) is the caller's too, to know later which state of the document this was; `until`: when it
    ends, in the caller's seconds, 0 for never.
    """

    name: str
    description: str
    ref: str
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    inner: tuple[str, ...] = ()
    group: str = ""
    stamp: int = 0
    until: float = 0.0


@dataclass(frozen=True, slots=True)
class IndexHit:
    """A found document: its `ref` and how well it answers, 0 to 1 in steps of a thousandth."""

    ref: str
    score: float


@dataclass(frozen=True, slots=True)
class IndexAnswer:
    """The hits of a query, best first, and the best of what fits too little to be one."""

    hits: list[IndexHit]
    weak: list[IndexHit]


@dataclass(frozen=True, slots=True)
class Field:
    """Weight of a word in the field; how much a long field dilutes it (b of BM25); the length in
    words that dilutes nothing.
    """

    weight: float
    dilution: float
    length: float

    def per_word(self, words: float) -> float:
        return self.weight / (1 - self.dilution + self.dilution * words / self.length)


NAME: Final = Field(2.1, 0.5, 3)
ALIASES: Final = Field(2.0, 0.3, 3)
TAGS: Final = Field(0.5, 0.3, 3)
DESCRIPTION: Final = Field(1.0, 0.5, 20)
EXAMPLES: Final = Field(0.5, 0.5, 20)
PARAMETER_NAMES: Final = Field(0.4, 0.75, 4)
PARAMETER_DESCRIPTIONS: Final = Field(0.5, 0.6, 30)
MOST_NAMES: Final = 300
"""Names in a document's aliases that are read: each costs time in the queries that it meets."""
SHAPE: Final = 1.0
"""The strength of a shape that an alias or an example has."""
INNER: Final = Field(0.4, 0.6, 30)
"""A field of its own, so that a large schema does not dilute the parameters at its top."""


def term_strengths(
    document: IndexDocument, terms: Callable[[str], Iterable[str]]
) -> dict[str, float]:
    """Return term → its strength in the document, 0 to `STRONGEST`: BM25F without the rarity, which
    only a query knows.
    """
    found = sum_fields(
        (
            (NAME, document.name),
            (TAGS, "\n".join(document.tags)),
            (DESCRIPTION, document.description),
            (EXAMPLES, "\n".join(document.examples)),
            (PARAMETER_NAMES, "\n".join(document.parameters)),
            (PARAMETER_DESCRIPTIONS, "\n".join(document.parameters.values())),
            (INNER, "\n".join(document.inner)),
        ),
        terms,
    )
    names = list_names(document.aliases)
    for word, strength in _name_strengths(names, terms).items():
        found[word] = found.get(word, 0.0) + strength
    for text in (*names, *document.examples):
        for shape in find_shapes(normalize_spelling(text[:FIELD_LIMIT])):
            found[shape] = SHAPE
    return saturate(found)


def sum_fields(
    fields: Iterable[tuple[Field, str]], terms: Callable[[str], Iterable[str]]
) -> dict[str, float]:
    """Return term → its weight in all fields of a document together."""
    found: dict[str, float] = {}
    for field_, text in fields:
        words = list(terms(text[:FIELD_LIMIT]))
        each = field_.per_word(len(words))
        for word in words:
            found[word] = found.get(word, 0.0) + each
    return found


def saturate(weights: Mapping[str, float]) -> dict[str, float]:
    """Return term → its strength, which a repeated word adds less and less to."""
    return {term: STRONGEST * weight / (SATURATION + weight) for term, weight in weights.items()}


def list_names(aliases: Iterable[str]) -> list[str]:
    """Return the names in some aliases: semicolons separate several names of one alias."""
    names = (name.strip() for alias in aliases for name in NAME_SEPARATOR.split(alias))
    return list(islice(filter(None, names), MOST_NAMES))


def _name_strengths(
    names: Iterable[str], terms: Callable[[str], Iterable[str]]
) -> dict[str, float]:
    """Return term → its strength in the names.

    Each is a name of its own: what a thing is called besides takes nothing from it, and a word in
    many of them counts as in the best.
    """
    found: dict[str, float] = {}
    left = FIELD_LIMIT
    for name in names:
        words = list(terms(name[:left]))
        left -= len(name)
        if left <= 0:
            break
        each = ALIASES.per_word(len(words))
        for word in words:
            found[word] = max(found.get(word, 0.0), each)
    return found


def summarize(document: IndexDocument) -> str:
    """Return what a document says of itself in one sentence."""
    return f"{NAME_PARTS.sub(' ', document.name).title()}: {document.description}"[:FIELD_LIMIT]
