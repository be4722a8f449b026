"""Search over what other namespaces have made public: an index in this process that follows the store."""

from __future__ import annotations

import threading

from sigil.protocol import Caller, Hit
from sigil.public import EVERYWHERE, Publics, foreign, full_name
from sigil.records import Record
from sigil.search import Document, Index

WIDE = 50


class Commons:
    """Search over the public capabilities: an index in this process that follows the store."""

    def __init__(self, publics: Publics) -> None:
        self._publics = publics
        self._index = Index()
        self._records: dict[str, Record] = {}
        self._generation = ""
        self._lock = threading.Lock()

    def find(self, text: str, caller: Caller) -> list[tuple[Record, Hit]]:
        """What `text` asks for among the public capabilities of other namespaces, best first."""
        self._follow()
        if not self._records:
            return []
        hits = ((self._records.get(hit.ref), hit) for hit in self._index.search(text, WIDE, within=(EVERYWHERE,)))
        return [(record, Hit(foreign(record), hit.score)) for record, hit in hits if record and record.namespace not in caller.sees]

    def _follow(self) -> None:
        generation = self._publics.generation()
        if generation == self._generation:
            return
        with self._lock:
            if generation != self._generation:
                self._reload()
                self._generation = generation

    def _reload(self) -> None:
        marks = {f"{namespace}/{name}": (namespace, name, digest) for namespace, name, digest in self._publics.all()}
        for ref in [ref for ref in self._records if ref not in marks]:
            self._index.remove(ref)
            del self._records[ref]
        for ref, (namespace, name, digest) in marks.items():
            if ref not in self._records or self._records[ref].digest != digest:
                self._put(ref, self._publics.record(namespace, name))

    def _put(self, ref: str, record: Record | None) -> None:
        if record:
            self._index.add(document(ref, EVERYWHERE, record, full_name(record)))
            self._records[ref] = record
        elif ref in self._records:  # its head changed, and the mark is about to follow
            self._index.remove(ref)
            del self._records[ref]


def document(ref: str, group: str, record: Record, *aliases: str) -> Document:
    """What a search reads of a capability; `aliases`: what it is called beside its own names."""
    manifest = record.manifest
    properties = manifest.input.get("properties", {})
    parameters = {name: str(part.get("description", "")) if isinstance(part, dict) else "" for name, part in properties.items()}
    return Document(
        ref=ref,
        group=group,
        name=manifest.name,
        description=manifest.description,
        tags=manifest.tags,
        aliases=(*manifest.aliases, *aliases),
        examples=manifest.examples,
        parameters=parameters,
    )
