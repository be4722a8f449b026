"""The schemas of an OpenAPI document as a capability's input needs them: references written out,
keywords of OpenAPI 3.0 translated, and only as deep as there is room.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from sigil.compile.openapi.document import ApiDocument, DocumentProblem, join_place
from sigil.errors import UsageError, one_line
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.manifest import schema
from sigil.protocol import Json
from sigil.strict_json import canonical, is_within_depth

DEPTHS = (7, 5, 3, 2, 1)
"""The depths to which a schema is written out, each tried when the one before has no room."""
PARTS_MOST = 1_500
DESCRIPTION_CHARACTERS = 200
VALUE_BYTES = 1_000
CHOICES_MOST = 100
_COPIED = (
    "format",
    "minimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
)
_TAG = re.compile(r"<[^<>]{0,200}>")
_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")


class SchemaTooLarge(Exception):
    """A schema that has too many parts when its references are written out."""


class SchemaReader:
    """Writes out the schemas of one operation, `depth` levels of each, and counts their parts."""

    def __init__(self, document: ApiDocument, depth: int) -> None:
        self._document = document
        self._depth = depth
        self._parts = 0

    def convert(self, node: Json, place: str) -> dict[str, Json]:
        """Return the schema at `place`; `DocumentProblem` when it cannot be read, `SchemaTooLarge`
        when it has too many parts.
        """
        return self._convert(node, place, self._depth, ())

    def _convert(
        self, node: Json, place: str, depth: int, above: tuple[str, ...]
    ) -> dict[str, Json]:
        self._parts += 1
        if self._parts > PARTS_MOST:
            raise SchemaTooLarge
        if isinstance(node, bool):
            return {}
        source, place = self._document.follow(node, place)
        if place in above:
            return {}  # it contains itself: what is inside is free
        above = (*above, place)
        result = _copy_plain(source)
        if depth <= 0:
            return result
        kind = result.get("type")
        if kind is None or "array" in _as_list(kind):
            self._add_items(result, source, place, depth, above)
        properties = as_mapping(source.get("properties"))
        if properties:
            self._add_properties(result, source, place, depth, above)
        free = source.get("additionalProperties")
        if free is False:
            result["additionalProperties"] = False
        elif isinstance(free, dict):
            result["additionalProperties"] = self._convert(
                free, join_place(place, "additionalProperties"), depth - 1, above
            )
        for key in ("oneOf", "anyOf"):
            branches = as_sequence(source.get(key))[:20]
            if branches:
                result[key] = [
                    self._convert(branch, join_place(place, key, number), depth - 1, above)
                    for number, branch in enumerate(branches)
                ]
        for number, branch in enumerate(as_sequence(source.get("allOf"))[:20]):
            part = self._convert(branch, join_place(place, "allOf", number), depth, above)
            _merge_all(result, part)
        return result

    def _add_items(
        self,
        result: dict[str, Json],
        source: Mapping[str, Json],
        place: str,
        depth: int,
        above: tuple[str, ...],
    ) -> None:
        """Add what the elements of a list are; `items` may be a list, one schema a position."""
        items = source.get("items")
        key = "items" if isinstance(items, list) else "prefixItems"
        positions = as_sequence(source.get(key))[:20]
        if positions:
            result["prefixItems"] = [
                self._convert(part, join_place(place, key, number), depth - 1, above)
                for number, part in enumerate(positions)
            ]
        if isinstance(items, dict | bool):
            result["items"] = self._convert(items, join_place(place, "items"), depth - 1, above)

    def _add_properties(
        self,
        result: dict[str, Json],
        source: Mapping[str, Json],
        place: str,
        depth: int,
        above: tuple[str, ...],
    ) -> None:
        converted: dict[str, Json] = {}
        for name, part in as_mapping(source.get("properties")).items():
            below = join_place(place, "properties", name)
            if isinstance(part, dict) and part.get("readOnly") is True:
                continue
            converted[name] = self._convert(part, below, depth - 1, above)
        result["properties"] = converted
        result.setdefault("type", "object")
        required: list[Json] = [
            name for name in as_sequence(source.get("required")) if name in converted
        ]
        if required:
            result["required"] = required


def _copy_plain(source: Mapping[str, Json]) -> dict[str, Json]:
    """Return the keywords of a schema that hold no other schemas, as JSON Schema 2020-12."""
    result: dict[str, Json] = {}
    kinds = [kind for kind in _as_list(source.get("type")) if kind in _TYPES]
    if kinds and source.get("nullable") is True and "null" not in kinds:
        kinds.append("null")
    if kinds:
        result["type"] = kinds if len(kinds) > 1 else kinds[0]
    description = clean_text(
        as_string(source.get("description")) or as_string(source.get("title")),
        DESCRIPTION_CHARACTERS,
    )
    if description:
        result["description"] = description
    for key in _COPIED:
        value = source.get(key)
        if isinstance(value, int | float | str):
            result[key] = value
    for key, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        value = source.get(key)
        if value is True and bound in result:
            result[key] = result.pop(bound)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            result[key] = value
    pattern = source.get("pattern")
    if isinstance(pattern, str) and _is_safe_pattern(pattern):
        result["pattern"] = pattern
    choices = as_sequence(source.get("enum"))
    if choices and len(choices) <= CHOICES_MOST and _is_small(list(choices)):
        result["enum"] = list(choices)
    if "const" in source and _is_small(source["const"]):
        result["const"] = source["const"]
    default = source.get("default")
    # not beside a pattern: a hostile one would take its time limit again for every default
    if default is not None and "pattern" not in result and _is_small(default):
        result["default"] = default
        if not _is_safe(result):
            del result["default"]
    return result


def clean_text(text: str, most: int) -> str:
    """Return a text of the document on one line, without tags, within `most` characters."""
    return " ".join(one_line(_TAG.sub(" ", text[: most * 4]), most).split())


@lru_cache(maxsize=4096)
def _is_safe_pattern(pattern: str) -> bool:
    """Return whether a registry would take a pattern, which many operations may share."""
    return _is_safe({"type": "string", "pattern": pattern})


def _is_safe(part: dict[str, Json]) -> bool:
    """Return whether a registry would take this schema of one property."""
    try:
        schema.check({"properties": {"value": part}})
    except UsageError:
        return False
    return True


def _is_small(value: Json) -> bool:
    return is_within_depth(value, 6) and len(canonical(value)) <= VALUE_BYTES * 2


def _as_list(value: Json) -> list[Json]:
    return list(value) if isinstance(value, list) else [value]


def _merge_all(result: dict[str, Json], part: Mapping[str, Json]) -> None:
    """Add a branch of `allOf`: properties join, and other keywords count where they came first."""
    for key, value in part.items():
        old = result.get(key)
        if isinstance(old, dict) and isinstance(value, dict) and key == "properties":
            result[key] = {**old, **value}
        elif isinstance(old, list) and isinstance(value, list) and key == "required":
            result[key] = [*old, *(name for name in value if name not in old)]
        else:
            result.setdefault(key, value)


def refuse_schema(place: str, problem: UsageError) -> DocumentProblem:
    """Return the problem of a schema that no capability can have."""
    return DocumentProblem(place, problem.message.removeprefix("schema refused: "))
