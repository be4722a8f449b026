"""A capability becomes a document of the index, with the texts of its input schema."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Final, Protocol

from sigil.protocol import Json
from sigil.search.document import IndexDocument

NODES_MOST: Final = 1_000
"""So many parts of a schema are read; the deepest ones are left out."""
TEXTS_MOST: Final = 300
VALUES_MOST: Final = 40
"""Of one enumeration."""
VALUE_CHARACTERS: Final = 60
"""A longer value is no word that anybody would ask for."""
_LISTED: Final = ("oneOf", "anyOf", "allOf", "prefixItems")
_HELD: Final = ("items", "additionalProperties", "then", "else", "contains", "propertyNames")


class Described(Protocol):
    """What people search a capability by, as its manifest has it."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def tags(self) -> tuple[str, ...]: ...

    @property
    def aliases(self) -> tuple[str, ...]: ...

    @property
    def examples(self) -> tuple[str, ...]: ...

    @property
    def input(self) -> Mapping[str, Json]: ...


def make_document(
    capability: Described,
    ref: str,
    group: str,
    *,
    aliases: tuple[str, ...] = (),
    stamp: int = 0,
    until: float = 0.0,
) -> IndexDocument:
    """Return what a search reads of a capability; `aliases` are names beside its own ones."""
    properties = capability.input.get("properties", {})
    parameters: dict[str, str] = {}
    for name, part in properties.items() if isinstance(properties, dict) else ():
        parameters[name] = str(part.get("description", "")) if isinstance(part, dict) else ""
    return IndexDocument(
        ref=ref,
        group=group,
        name=capability.name,
        description=capability.description,
        tags=capability.tags,
        aliases=(*capability.aliases, *aliases),
        examples=capability.examples,
        parameters=parameters,
        inner=inner_texts(capability.input),
        stamp=stamp,
        until=until,
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
