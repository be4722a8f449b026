"""Where the documents of a search come from: a namespace's capabilities, or what all namespaces have made public."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from sigil.catalog import Catalog
from sigil.kv import Item
from sigil.public import EVERYWHERE, Publics, full_name
from sigil.records import Record
from sigil.search import Document
from sigil.search.sealed import hashed

Found = tuple[int, Record]
"""A record that a search shows, and the stamp of what it was read from."""


class Source(Protocol):
    """What a group of documents follows. Names are as the source has them."""

    @property
    def group(self) -> str:
        """The name of the group, and of the log of its changes."""

    def log(self) -> Item | None:
        """The log of its changes, None when there never was anything."""

    def find(self, name: str) -> Found | None:
        """What a search shows under a name at this moment."""

    def all(self) -> Iterator[tuple[str, int, Callable[[], Found | None]]]:
        """Name, stamp, and a way to read it, of everything that there may be."""

    def document(self, name: str, found: Found) -> Document:
        """What a search reads of it."""


class Namespace:
    """The capabilities of one namespace."""

    def __init__(self, catalog: Catalog, group: str) -> None:
        self._catalog = catalog
        self.group = group

    def log(self) -> Item | None:
        return self._catalog.log(self.group)

    def find(self, name: str) -> Found | None:
        item = self._catalog.item(self.group, name)
        return self._found(item) if item else None

    def all(self) -> Iterator[tuple[str, int, Callable[[], Found | None]]]:
        for name, item in self._catalog.items(self.group):
            yield name, hashed(item.version), lambda item=item: self._found(item)  # type: ignore[misc]

    def document(self, name: str, found: Found) -> Document:
        return _document(f"{self.group}/{name}", self.group, found)

    def _found(self, item: Item) -> Found | None:
        head = self._catalog.read(item)
        return (hashed(item.version), head.record) if self._catalog.shows(head) else None


class Commons:
    """What all namespaces have made public."""

    group = EVERYWHERE

    def __init__(self, publics: Publics) -> None:
        self._publics = publics

    def log(self) -> Item | None:
        return self._publics.log()

    def find(self, name: str) -> Found | None:
        namespace, _, own = name.rpartition("/")
        digest = self._publics.mark(namespace, own)
        record = self._publics.record(namespace, own) if digest else None
        return (hashed(digest), record) if digest and record else None

    def all(self) -> Iterator[tuple[str, int, Callable[[], Found | None]]]:
        for namespace, own, digest in self._publics.all():
            name = f"{namespace}/{own}"
            yield name, hashed(digest), lambda name=name: self.find(name)  # type: ignore[misc]

    def document(self, name: str, found: Found) -> Document:
        return _document(name, self.group, found, full_name(found[1]))


def _document(ref: str, group: str, found: Found, *aliases: str) -> Document:
    """`aliases`: what it is called beside its own names."""
    stamp, record = found
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
        stamp=stamp,
        until=record.expires_at or 0.0,
    )
