"""Search over the catalog: an index in this process that follows the store by each namespace's generation."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

from sigil.catalog import Catalog, Record
from sigil.commons import Commons, document
from sigil.protocol import Caller, Found, Hit
from sigil.public import Publics
from sigil.search import Index

WIDE = 50
NAMESPACES = 256
"""Of so many namespaces, those that asked last, the index is kept; another one is read again when it asks."""


class Finder:
    """`find` first brings the index up to date with what changed in the caller's namespaces."""

    def __init__(self, catalog: Catalog, publics: Publics | None = None) -> None:
        self._catalog = catalog
        self._commons = Commons(publics) if publics else None
        self._index = Index()
        self._records: dict[str, Record] = {}
        self._generations: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, text: str, caller: Caller, limit: int) -> Found:
        """The capabilities that `text` asks for among those that the caller sees; of one name only the nearest.

        What others have made public comes behind all that, however well it fits: no stranger's words push one's own down.
        """
        for namespace in caller.sees:
            self._follow(namespace)
        best: dict[str, tuple[Record, float]] = {}
        for hit in self._index.search(text, WIDE, within=caller.sees):
            record = self._records.get(hit.ref)
            if record and self._shown(record, caller) and self._nearest(record, caller):
                best[record.name] = record, hit.score
        ours = tuple(Hit(record.offer, score) for record, score in list(best.values())[:limit])
        others = self._commons.find(text, caller) if self._commons else []
        theirs = tuple(hit for record, hit in others if self._shown(record, caller))
        return Found((*ours, *theirs)[:limit], len(best) + len(theirs))

    def _shown(self, record: Record, caller: Caller) -> bool:
        return self._catalog.alive(record) and caller.reaches(record.namespace, record.name)

    def _nearest(self, record: Record, caller: Caller) -> bool:
        nearer = caller.sees[: caller.sees.index(record.namespace)]
        others = (self._records.get(_ref(namespace, record.name)) for namespace in nearer)
        return not any(other and self._catalog.alive(other) for other in others)

    def _follow(self, namespace: str) -> None:
        generation = self._catalog.generation(namespace)
        with self._lock:
            if self._generations.get(namespace, "") != generation:
                self._reload(namespace, self._catalog.names(namespace))
                self._generations[namespace] = generation
            if generation:
                self._generations.move_to_end(namespace)
            else:
                self._generations.pop(namespace, None)  # nothing was ever deployed there: nothing to keep
            while len(self._generations) > NAMESPACES:
                self._reload(self._generations.popitem(last=False)[0], ())

    def _reload(self, namespace: str, records: Iterable[Record]) -> None:
        fresh = {_ref(namespace, record.name): record for record in records}
        for ref in [ref for ref, record in self._records.items() if record.namespace == namespace and ref not in fresh]:
            self._index.remove(ref)
            del self._records[ref]
        for ref, record in fresh.items():
            if ref not in self._records or self._records[ref].digest != record.digest:
                self._index.add(document(ref, record.namespace, record))
            self._records[ref] = record


def _ref(namespace: str, name: str) -> str:
    return f"{namespace}/{name}"
