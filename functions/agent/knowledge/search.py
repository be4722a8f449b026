"""Search looks for what answers a question in the knowledge bases that an agent reads."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from functions.agent.knowledge.knowledge_base import FoundChunk, KnowledgeBase, Wanted
from functions.agent.knowledge.record import KnowledgeDocument, describe_document
from functions.texts.en import Texts
from sigil.errors import UsageError, one_line

Scope = Literal["agent", "team"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
SEARCH, INGEST, UPDATE = "kb-search", "kb-ingest", "kb-update"
"""The capabilities of the knowledge base."""
PUBLIC: Final = "public"
"""The tag of a document that guests find too."""
QUESTION_CHARACTERS: Final = 500
USUAL, MOST = 5, 20
FOUND_FIELDS: Final = (
    "id",
    "scope",
    "title",
    "source",
    "author",
    "stated_by_owner",
    "by",
    "time",
    "confidence",
    "tags",
)
"""What a passage tells of its document."""
_HEADING_MARKS: Final = re.compile(r"^#{1,6}\s+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Which documents are meant: those that have all of the tags, whose source and author contain
    these words, and that are as sure and not older; empty and 0 for any.
    """

    tags: tuple[str, ...] = ()
    source: str = ""
    author: str = ""
    since: float = 0.0
    confidence: float = 0.0

    def accepts(self, record: KnowledgeDocument) -> bool:
        """Return whether a document is meant."""
        return (
            set(self.tags) <= set(record.tags)
            and self.source.casefold() in record.source.casefold()
            and self.author.casefold() in record.known_author.casefold()
            and record.time >= self.since
            and record.known_confidence >= self.confidence
        )

    @property
    def wanted(self) -> Wanted | None:
        """The test of a document, None where all are meant."""
        return None if self == DocumentFilter() else self.accepts


@dataclass(frozen=True, slots=True)
class ScopedChunk:
    """A chunk that was found, and the scope that it is of."""

    scope: Scope
    found: FoundChunk


def search_knowledge(
    bases: Mapping[Scope, KnowledgeBase],
    question: str,
    limit: int,
    documents: DocumentFilter = DocumentFilter(),
) -> list[ScopedChunk]:
    """Return at most `limit` chunks that answer a question, the best of all bases first."""
    found: list[ScopedChunk] = []
    for scope, base in bases.items():
        chunks = base.find(question[:QUESTION_CHARACTERS], limit, documents.wanted)
        found += [ScopedChunk(scope, chunk) for chunk in chunks]
    found.sort(key=lambda each: -each.found.score)
    return found[:limit]


def make_excerpt(text: str, most: int) -> str:
    """Return the beginning of a passage on one line, without the marks of its headings."""
    return one_line(" ".join(_HEADING_MARKS.sub("", text).split()), most)


def describe_author(by: str, stated: str, texts: Texts) -> str:
    """Return who has added a document, or the author whom an owner has stated."""
    if stated:
        return texts.kb_stated.format(author=stated, by=by)
    return texts.kb_added.format(by=by)


def describe_found(each: ScopedChunk) -> dict[str, object]:
    """Return a passage as programs see it, with the document that it is of."""
    document = describe_document(each.found.id, each.found.record, each.scope)
    chunk = each.found.chunk
    return {
        "text": chunk.text,
        "place": chunk.place,
        "first_line": chunk.first,
        "last_line": chunk.last,
        "score": each.found.score,
        **{name: document[name] for name in FOUND_FIELDS},
    }


def read_scopes(scope: str) -> Sequence[Scope]:
    """Return the scope of a name, all for none; `UsageError` EINVAL for another name."""
    if not scope:
        return SCOPES
    return (read_scope(scope),)


def read_scope(scope: str) -> Scope:
    """Return the scope of a name; `UsageError` EINVAL for another one."""
    for known in SCOPES:
        if scope == known:
            return known
    raise UsageError(
        "EINVAL",
        f"{one_line(scope, 40)!r} is no scope",
        source="knowledge",
        suggestion="agent for this agent alone, team for all agents of the root",
    )
