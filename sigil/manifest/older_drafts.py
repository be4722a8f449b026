"""Writes a schema of an older draft of JSON Schema, or of OpenAPI 3.0, as one of 2020-12.

Servers and generators write the forms of every draft since the fourth. What a schema refers to
within itself becomes a definition in `$defs`, and what its top refers to becomes the top.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain, count
from typing import Final
from urllib.parse import unquote

from sigil.errors import UsageError
from sigil.json_fields import as_mapping, as_sequence
from sigil.protocol import Json
from sigil.tool_schemas.keywords import SUBSCHEMAS

PARTS_MOST: Final = 20_000
DEPTH_MOST: Final = 100
REFERENCES_MOST: Final = 20
"""The most references that lead from the top to the next."""
NAME_CHARACTERS: Final = 40
_OWN: Final = "#/$defs/"
_MAPS: Final = ("properties", "patternProperties", "$defs", "dependentSchemas")
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
_MAY_BE_NULL: Final = frozenset(("default", "const", "example"))
"""Keywords for which null is a value; with any other it says that the keyword is not used."""
_TOP_ALONE: Final = ("$id", "id", "$schema", "$defs", "definitions")
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_.-]+", re.ASCII)


def modernize(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return a schema in the forms of draft 2020-12; one that has them already is returned equal.

    References to other documents stay as they are. `UsageError` ESCHEMA when the schema is nested
    too deep, or grows too large.
    """
    return _Modernizer(schema).write_root()


class _Modernizer:
    """Writes one schema. `_names` has the name of the definition for each reference so far."""

    def __init__(self, root: Mapping[str, Json]) -> None:
        self._root = root
        address = root.get("$id", root.get("id"))
        self._address = address.partition("#")[0] if isinstance(address, str) else ""
        self._known = as_mapping(root.get("$defs"))
        self._names: dict[str, str] = {}
        self._waiting: list[tuple[str, Json]] = []
        self._parts = 0

    def write_root(self) -> dict[str, Json]:
        """Return the whole schema."""
        unused = ("$id", "definitions")
        root = self._write(
            {key: value for key, value in self._root.items() if key not in unused}, 0
        )
        definitions: dict[str, Json] = {**as_mapping(root.get("$defs"))}
        while self._waiting:
            name, node = self._waiting.pop()
            definitions[name] = self._write(node, 0)
        if definitions:
            root["$defs"] = definitions
        for _ in range(REFERENCES_MOST):
            reference = root.get("$ref")
            if not isinstance(reference, str):
                break
            target = as_mapping(root.get("$defs")).get(_name_of(reference))
            if not isinstance(target, dict):
                break
            del root["$ref"]
            root = {**target, **root}
        if isinstance(root.get("type"), list) and "object" in as_sequence(root["type"]):
            root["type"] = "object"
        return root

    def _write(self, node: Json, depth: int) -> dict[str, Json]:
        """Return an object that is a schema; what is none is returned by `_write_any`."""
        self._parts += 1
        if self._parts > PARTS_MOST or depth > DEPTH_MOST:
            raise UsageError("ESCHEMA", "schema refused: it is nested too deep, or too large")
        fields = as_mapping(node)
        written: dict[str, Json] = {}
        for key, value in fields.items():
            if value is None and key not in _MAY_BE_NULL:
                continue
            if key in ("$ref", "$recursiveRef") and isinstance(value, str):
                written["$ref"] = self._write_reference(value)
            elif key in _MAPS and isinstance(value, dict):
                parts = {name: self._write_any(part, depth + 1) for name, part in value.items()}
                written[key] = parts
            elif key in _LISTS and isinstance(value, list):
                written[key] = [self._write_any(part, depth + 1) for part in value]
            elif key in SUBSCHEMAS and isinstance(value, dict):
                written[key] = self._write(value, depth + 1)
            elif key not in ("additionalItems", "nullable"):
                written[key] = value
        self._write_items(written, fields, depth)
        _write_bounds(written)
        _write_null(written, fields)
        return written

    def _write_any(self, node: Json, depth: int) -> Json:
        """Return a schema, or as it is what is none."""
        return self._write(node, depth) if isinstance(node, dict) else node

    def _write_items(
        self, written: dict[str, Json], fields: Mapping[str, Json], depth: int
    ) -> None:
        """Write a list of `items`, each for one position, as `prefixItems`."""
        if not isinstance(written.get("items"), list):
            return
        positions = as_sequence(written.pop("items"))
        if positions:
            written["prefixItems"] = list(positions)
        rest = fields.get("additionalItems")
        if rest is not None:
            written["items"] = self._write_any(rest, depth + 1)

    def _write_reference(self, reference: str) -> str:
        """Return a reference to the definition that holds what another one leads to."""
        local = reference
        if self._address and reference.startswith(self._address):
            local = reference[len(self._address) :] or "#"
        is_own = local.startswith(_OWN) and "/" not in local.removeprefix(_OWN)
        if is_own and _name_of(local) in self._known:
            return local
        if local not in self._names:
            found = self._find(local)
            if not isinstance(found, dict):
                return reference
            self._names[local] = self._choose_name(local)
            self._waiting.append((self._names[local], found))
        return _OWN + self._names[local]

    def _find(self, pointer: str) -> Json:
        """Return what a pointer leads to; None where that is nothing."""
        if pointer == "#":
            return {key: value for key, value in self._root.items() if key not in _TOP_ALONE}
        if not pointer.startswith("#/"):
            return None
        node: Json = dict(self._root)
        for part in pointer[2:].split("/"):
            key = _unescape(part)
            if isinstance(node, dict) and key in node:
                node = node[key]
            elif isinstance(node, list) and key.isdecimal() and int(key[:6]) < len(node):
                node = node[int(key[:6])]
            else:
                return None
        return node

    def _choose_name(self, pointer: str) -> str:
        """Return a name for a definition that no other has."""
        words = _UNFIT.sub("_", _unescape(pointer.rpartition("/")[2])).strip("_")
        name = words[:NAME_CHARACTERS] or "part"
        if pointer == "#":
            name = "input"
        taken = {*self._known, *self._names.values()}
        numbered = (f"{name}_{number}" for number in count(2))
        return next(each for each in chain((name,), numbered) if each not in taken)


def _unescape(part: str) -> str:
    """Return the key that a part of a JSON pointer in a fragment means."""
    return unquote(part).replace("~1", "/").replace("~0", "~")


def _name_of(reference: str) -> str:
    """Return the name of the definition that a reference to one leads to."""
    return _unescape(reference.removeprefix(_OWN))


def _write_bounds(written: dict[str, Json]) -> None:
    """Write a bound that draft 4 calls exclusive as an exclusive one."""
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if written.get(exclusive) is True and bound in written:
            written[exclusive] = written.pop(bound)
        elif isinstance(written.get(exclusive), bool):
            del written[exclusive]


def _write_null(written: dict[str, Json], fields: Mapping[str, Json]) -> None:
    """Write what OpenAPI 3.0 calls nullable as one more type."""
    kind = written.get("type")
    if fields.get("nullable") is not True or not isinstance(kind, str) or kind == "null":
        return
    written["type"] = [kind, "null"]
    choices = written.get("enum")
    if isinstance(choices, list) and None not in choices:
        written["enum"] = [*choices, None]
