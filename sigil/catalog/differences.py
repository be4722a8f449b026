"""What differs between two versions of a capability: fields, schema and source."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import orjson

from sigil.catalog.deployments import Pins
from sigil.catalog.records import Record
from sigil.manifest.languages import BINARY
from sigil.protocol import Json

if TYPE_CHECKING:
    from sigil.rows import FieldChangeRow, VersionDiffRow

SHOWN_CHARACTERS = 200_000
_APART = ("input", "name")
"""Fields that are no row of their own: the schema is a text, the name is the same."""


def differences(
    older: Record, newer: Record, sources: tuple[bytes, bytes], pins: tuple[Pins, Pins]
) -> VersionDiffRow:
    """`manifest`: rows of `field`, `old`, `new`; `pins` among them, when they call other versions.
    `schema`, `source`: unified differences, empty when there are none.
    """
    names = (f"{older.name}@{older.version}", f"{newer.name}@{newer.version}")
    schemas = (_pretty(older.manifest.input), _pretty(newer.manifest.input))
    return {
        "capability": newer.name,
        "from": older.version,
        "to": newer.version,
        "same": older.digest == newer.digest,
        "manifest": [*_fields(older, newer), *_called(pins)],
        "schema": _unified(schemas, names),
        "source": _code((older, newer), sources, names),
    }


def _fields(older: Record, newer: Record) -> Iterator[FieldChangeRow]:
    old, new = (record.manifest.model_dump(mode="json") for record in (older, newer))
    for name in old:
        if name not in _APART and old[name] != new[name]:
            yield {"field": name, "old": old[name], "new": new[name]}


def _called(pins: tuple[Pins, Pins]) -> Iterator[FieldChangeRow]:
    old, new = (dict(each) for each in pins)
    if old != new:
        yield {"field": "pins", "old": old, "new": new}


def _code(
    records: tuple[Record, Record], sources: tuple[bytes, bytes], names: tuple[str, str]
) -> str:
    if sources[0] == sources[1]:
        return ""
    if any(record.manifest.lang in BINARY for record in records):
        return f"the modules differ: {len(sources[0]):,} and {len(sources[1]):,} bytes\n"
    return _unified(
        (sources[0].decode("utf-8", "replace"), sources[1].decode("utf-8", "replace")), names
    )


def _unified(texts: tuple[str, str], names: tuple[str, str]) -> str:
    if texts[0] == texts[1]:
        return ""
    if (
        sum(map(len, texts)) > SHOWN_CHARACTERS
        or min(map(_longest, texts)) > SHOWN_CHARACTERS // 10
    ):
        return f"too large to be compared: {len(texts[0]):,} and {len(texts[1]):,} characters\n"
    lines = difflib.unified_diff(texts[0].splitlines(), texts[1].splitlines(), *names, lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _longest(text: str) -> int:
    return max(map(len, text.splitlines()), default=0)


def _pretty(value: Json) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()
