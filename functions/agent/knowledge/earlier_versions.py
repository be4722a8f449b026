"""The earlier versions of the documents of a knowledge base.

The chunks of a version stay where they are when another one replaces it, and its record comes here,
so a text is written once. Nothing leads to them from the index: a search finds the newest alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from functions.agent.knowledge.record import DOCUMENT, TEXT_CHARACTERS, KnowledgeDocument
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import dumps

VERSIONS_MOST: Final = 20
"""A document has at most so many earlier versions, which have together at most `TEXT_CHARACTERS`:
the oldest go.
"""
KEPT_SECONDS: Final = 90 * 86_400.0
"""An earlier version is kept for so long after it was replaced."""


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """A version of the document `id`, as its record was while it was the newest."""

    id: str
    record: KnowledgeDocument


class EarlierVersions:
    """The records of the earlier versions in the knowledge base of one scope."""

    def __init__(self, kv: KV, scope: str) -> None:
        self._kv = kv
        self._scope = scope

    def put(self, id: str, record: KnowledgeDocument) -> None:
        """Write the record of a version that is about to be replaced; again changes nothing."""
        self._kv.put(keys.knowledge_version(self._scope, id, record.version), dumps(record))

    def drop(self, id: str, version: int) -> None:
        """Delete the record of a version, after its chunks."""
        self._kv.delete(keys.knowledge_version(self._scope, id, version))

    def find(self, id: str, version: int) -> KnowledgeDocument | None:
        """Return the record of a version, None when there is none that can be read."""
        item = self._kv.get(keys.knowledge_version(self._scope, id, version))
        return _decode(item.value) if item else None

    def scan(self, id: str = "") -> Iterator[DocumentVersion]:
        """Yield the versions of a document, or of all, the oldest first; damaged ones are left out.

        A write that was interrupted leaves the newest among them.
        """
        first = keys.knowledge_version(self._scope, id, 0)
        for sort, item in scan_all(self._kv, first.partition, f"{id}#" if id else ""):
            record = _decode(item.value)
            if record:
                yield DocumentVersion(sort.partition("#")[0], record)


def list_surplus(
    versions: list[KnowledgeDocument], newest: KnowledgeDocument, now: float
) -> list[KnowledgeDocument]:
    """Return which of the earlier versions of a document, the oldest first, are not kept."""
    surplus: list[KnowledgeDocument] = []
    characters = 0
    after = newest
    for number, record in enumerate(reversed(versions)):
        characters += record.characters
        is_old = now - after.at > KEPT_SECONDS
        if is_old or number >= VERSIONS_MOST or characters > TEXT_CHARACTERS:
            surplus.append(record)
        after = record
    return surplus


def _decode(data: bytes) -> KnowledgeDocument | None:
    try:
        return DOCUMENT.read(data)
    except ValueError:
        return None
