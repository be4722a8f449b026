"""Search over the catalog: an index in this process that follows the store by each namespace's generation."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from sigil.catalog import Catalog, Record
from sigil.protocol import Caller, Found, Hit
from sigil.search import Document, Index

WIDE = 50


class Finder:
    """`find` first brings the index up to date with what changed in the caller's namespaces."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._index = Index()
        self._records: dict[str, Record] = {}
        self._generations: dict[str, str] = {}
        self._lock = threading.Lock()

    def find(self, text: str, caller: Caller, limit: int) -> Found:
        """The capabilities that `text` asks for among those that the caller sees; of one name only the nearest."""
        for namespace in caller.sees:
            self._follow(namespace)
        best: dict[str, Hit] = {}
        for hit in self._index.search(text, WIDE, within=caller.sees):
            record = self._records.get(hit.ref)
            if record and self._catalog.alive(record) and self._nearest(record, caller):
                best[record.name] = Hit(record.offer, hit.score)
        hits = tuple(best.values())
        return Found(hits[:limit], len(hits))

    def _nearest(self, record: Record, caller: Caller) -> bool:
        nearer = caller.sees[: caller.sees.index(record.namespace)]
        others = (self._records.get(_ref(namespace, record.name)) for namespace in nearer)
        return not any(other and self._catalog.alive(other) for other in others)

    def _follow(self, namespace: str) -> None:
        generation = self._catalog.generation(namespace)
        if self._generations.get(namespace) == generation:
            return
        with self._lock:
            if self._generations.get(namespace) != generation:
                self._reload(namespace, self._catalog.names(namespace))
                self._generations[namespace] = generation

    def _reload(self, namespace: str, records: Iterable[Record]) -> None:
        fresh = {_ref(namespace, record.name): record for record in records}
        for ref in [ref for ref, record in self._records.items() if record.namespace == namespace and ref not in fresh]:
            self._index.remove(ref)
            del self._records[ref]
        for ref, record in fresh.items():
            if ref not in self._records or self._records[ref].digest != record.digest:
                self._index.add(_document(ref, record))
            self._records[ref] = record


def _ref(namespace: str, name: str) -> str:
    return f"{namespace}/{name}"


def _document(ref: str, record: Record) -> Document:
    manifest = record.manifest
    properties = manifest.input.get("properties", {})
    parameters = {name: str(part.get("description", "")) if isinstance(part, dict) else "" for name, part in properties.items()}
    return Document(
        ref=ref,
        group=record.namespace,
        name=manifest.name,
        description=manifest.description,
        tags=manifest.tags,
        aliases=manifest.aliases,
        examples=manifest.examples,
        parameters=parameters,
    )
