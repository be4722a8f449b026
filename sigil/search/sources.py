"""The documents of a search come from sources.

These are the capabilities of one namespace, and everything that the namespaces have made public.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from sigil.catalog.catalog import Catalog
from sigil.catalog.public import EVERYWHERE, PublicCapabilities, full_name
from sigil.catalog.records import Record
from sigil.protocol import LIBRARY
from sigil.search import IndexDocument, library_index
from sigil.search.capability import make_document
from sigil.search.file_documents import hash_text
from sigil.storage.kv import Item

Found = tuple[int, Record]
"""A record that a search shows, and the stamp of what it was read from."""


class Source(Protocol):
    """A group of documents follows a source. Names are as the source has them."""

    @property
    def group(self) -> str:
        """The name of the group, and of the log of its changes."""

    def read_log(self) -> Item | None:
        """Return the log of its changes, None when there never was anything."""

    def find(self, name: str) -> Found | None:
        """Return what a search shows under a name at this moment."""

    def list_all(self) -> Iterator[tuple[str, int, Callable[[], Found | None]]]:
        """Yield name, stamp, and a function that reads it, of everything that there may be."""

    def make_document(self, name: str, found: Found) -> IndexDocument:
        """Return what a search reads of it."""

    def load_shipped(self) -> bytes | None:
        """Return an index that was made before, of documents that there may be; its stamps are
        their digests.
        """


class NamespaceSource:
    """The capabilities of one namespace."""

    def __init__(self, catalog: Catalog, group: str) -> None:
        self._catalog = catalog
        self.group = group

    def read_log(self) -> Item | None:
        return self._catalog.read_log(self.group)

    def find(self, name: str) -> Found | None:
        item = self._catalog.read_item(self.group, name)
        return self._find_visible(item) if item else None

    def list_all(self) -> Iterator[tuple[str, int, Callable[[], Found | None]]]:
        for name, item in self._catalog.scan_items(self.group):
            yield name, hash_text(item.version), lambda item=item: self._find_visible(item)  # type: ignore[misc]

    def make_document(self, name: str, found: Found) -> IndexDocument:
        return _make_document(f"{self.group}/{name}", self.group, found)

    def load_shipped(self) -> bytes | None:
        return library_index.load() if self.group == LIBRARY else None

    def _find_visible(self, item: Item) -> Found | None:
        head = self._catalog.parse_head(item)
        return (hash_text(item.version), head.record) if self._catalog.is_visible(head) else None


class PublicSource:
    """The capabilities that all namespaces have made public."""

    group = EVERYWHERE

    def __init__(self, publics: PublicCapabilities) -> None:
        self._publics = publics

    def read_log(self) -> Item | None:
        return self._publics.read_log()

    def find(self, name: str) -> Found | None:
        namespace, _, own = name.rpartition("/")
        digest = self._publics.read_mark(namespace, own)
        record = self._publics.find(namespace, own) if digest else None
        return (hash_text(digest), record) if digest and record else None

    def list_all(self) -> Iterator[tuple[str, int, Callable[[], Found | None]]]:
        for namespace, own, digest in self._publics.list_marks():
            name = f"{namespace}/{own}"
            yield name, hash_text(digest), lambda name=name: self.find(name)  # type: ignore[misc]

    def make_document(self, name: str, found: Found) -> IndexDocument:
        return _make_document(name, self.group, found, full_name(found[1]))

    def load_shipped(self) -> bytes | None:
        return None


def _make_document(ref: str, group: str, found: Found, *aliases: str) -> IndexDocument:
    """Return what a search reads of a record; `aliases` are names beside its own ones."""
    stamp, record = found
    # a bundle is found under the names of its members too
    names = (*aliases, *record.manifest.members)
    return make_document(
        record.manifest, ref, group, aliases=names, stamp=stamp, until=record.expires_at or 0.0
    )
