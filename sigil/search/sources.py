"""The documents of a search come from sources.

These are the capabilities of one namespace, and everything that the namespaces have made public.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol

from sigil.catalog.catalog import Catalog
from sigil.catalog.public import EVERYWHERE, PublicCapabilities, full_name
from sigil.catalog.records import Record
from sigil.protocol import Json
from sigil.search import IndexDocument
from sigil.search.file_documents import hash_text
from sigil.storage.kv import Item

NODES_MOST: Final = 1_000
"""So many parts of a schema are read; the deepest ones are left out."""
TEXTS_MOST: Final = 300
VALUES_MOST: Final = 40
"""Of one enumeration."""
VALUE_CHARACTERS: Final = 60
"""A longer value is no word that anybody would ask for."""
_LISTED: Final = ("oneOf", "anyOf", "allOf", "prefixItems")
_HELD: Final = ("items", "additionalProperties", "then", "else", "contains", "propertyNames")

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


def _make_document(ref: str, group: str, found: Found, *aliases: str) -> IndexDocument:
    """Return what a search reads of a record; `aliases` are names beside its own ones."""
    stamp, record = found
    manifest = record.manifest
    properties = manifest.input.get("properties", {})
    parameters: dict[str, str] = {}
    for name, part in properties.items():
        parameters[name] = str(part.get("description", "")) if isinstance(part, dict) else ""
    return IndexDocument(
        ref=ref,
        group=group,
        name=manifest.name,
        description=manifest.description,
        tags=manifest.tags,
        aliases=(*manifest.aliases, *aliases),
        examples=manifest.examples,
        parameters=parameters,
        inner=inner_texts(manifest.input),
        stamp=stamp,
        until=record.expires_at or 0.0,
    )


def inner_texts(schema: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the texts within a schema's properties: the names and descriptions of their own
    properties, in lists and branches too, and their values.

    The properties at its top are parameters, whose names and descriptions are fields of their own.
    The nearest texts come first.
    """
    definitions = schema.get("$defs")
    waiting: deque[Json] = deque(_list_values(schema, "properties"))
    texts: dict[str, None] = {}
    entered: set[str] = set()
    for _ in range(NODES_MOST):
        if not waiting or len(texts) >= TEXTS_MOST:
            break
        node = waiting.popleft()
        if not isinstance(node, dict):
            continue
        listed = node.get("enum")
        values = listed[:VALUES_MOST] if isinstance(listed, list) else []
        for value in (*values, node.get("const")):
            if isinstance(value, str) and len(value) <= VALUE_CHARACTERS:
                texts[value] = None
        properties = node.get("properties")
        for name, part in properties.items() if isinstance(properties, dict) else ():
            about = part.get("description") if isinstance(part, dict) else None
            texts[f"{name} {about}" if isinstance(about, str) else name] = None
            waiting.append(part)
        for branch in _list_branches(node):
            if isinstance(branch, dict):
                for key in ("title", "description"):
                    text = branch.get(key)
                    if isinstance(text, str):
                        texts[text] = None
            waiting.append(branch)
        name = str(node.get("$ref", "")).removeprefix("#/$defs/")
        if isinstance(definitions, dict) and name in definitions and name not in entered:
            entered.add(name)
            waiting.append(definitions[name])
    return tuple(filter(str.strip, texts))[:TEXTS_MOST]


def _list_values(node: Mapping[str, Json], key: str) -> list[Json]:
    part = node.get(key)
    return list(part.values()) if isinstance(part, dict) else []


def _list_branches(node: Mapping[str, Json]) -> list[Json]:
    listed: list[Json] = []
    for key in _LISTED:
        parts = node.get(key)
        if isinstance(parts, list):
            listed.extend(parts)
    return [
        *listed,
        *(node[key] for key in _HELD if key in node),
        *_list_values(node, "patternProperties"),
        *_list_values(node, "dependentSchemas"),
    ]
