"""Search looks for what answers a question in the knowledge bases that an agent reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from functions.agent.knowledge.knowledge_base import FoundChunk, KnowledgeBase, Wanted
from functions.agent.knowledge.record import KnowledgeDocument
from sigil.errors import UsageError, one_line

Scope = Literal["agent", "team"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
PUBLIC: Final = "public"
"""The tag of a document that guests find too."""
QUESTION_CHARACTERS: Final = 500
USUAL, MOST = 5, 20


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
        author = record.author or record.by
        return (
            set(self.tags) <= set(record.tags)
            and self.source.casefold() in record.source.casefold()
            and self.author.casefold() in author.casefold()
            and record.time >= self.since
            and record.confidence >= self.confidence
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
