"""Manifests and inspections in lines for people: words for times, permissions and tests, nothing
cut, and the differences between two.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import orjson

from sigil.cli.times import format_count, format_time
from sigil.protocol import Json

if TYPE_CHECKING:
    from sigil.rows import FieldChangeRow

_TIME_FIELDS = ("at", "expires_at", "last")
_SCHEMA_FIELDS = ("schema", "output", "output_schema")
_PERMISSION_PREFIXES = {"http": "http:", "secrets": "secret:", "call": "call:", "mcp": "mcp:"}
_GRANTED_FLAGS = ("web",)
"""The permissions without a target that an owner has to grant."""
_LEFT_OUT = ("source", "pending")
"""The source is printed below the table; what is pending is marked among the permissions."""


def describe_fields(row: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Return the name and the text of each line of an inspection; a field of several lines is named
    in its first one.
    """
    lines: list[tuple[str, str]] = []
    for field, value in row.items():
        if field in _LEFT_OUT:
            continue
        name = field
        for text in _describe_field(field, value, row):
            lines.append((name, text))
            name = ""
    return lines


def _describe_field(field: str, value: Json, row: Mapping[str, Json]) -> Iterator[str]:
    if field == "permissions" and isinstance(value, dict):
        pending = row.get("pending")
        yield from _describe_permissions(value, pending if isinstance(pending, list) else ())
    elif field == "tests" and isinstance(value, list):
        yield from map(describe_test, value)
    elif field == "pins" and isinstance(value, list):
        yield from map(_describe_pin, value)
    elif field == "runs" and isinstance(value, list):
        if value:
            yield f"the last {len(value)}: `sigil logs {row.get('capability')}` shows them"
    elif field in _TIME_FIELDS:
        if isinstance(value, int | float):
            yield format_time(value)
    elif field == "limits" and isinstance(value, dict):
        for name, limit in value.items():
            yield f"{name} {_format_value(limit)}"
    elif field in _SCHEMA_FIELDS and isinstance(value, dict):
        yield json.dumps(value, ensure_ascii=False)  # with spaces, at which a line can end
    elif value not in ("", None, []):
        yield _format_value(value)


def _describe_permissions(asked: Mapping[str, Json], pending: Collection[str]) -> Iterator[str]:
    """Yield each permission that it asks for; one that an owner has to grant says whether that was
    done.
    """
    if not any(asked.values()):
        yield "none"
    for field, value in asked.items():
        if value is True and field in _GRANTED_FLAGS:
            yield f"{field}  {'waits for an owner' if field in pending else 'granted'}"
        elif value is True:
            yield field
        elif isinstance(value, list):
            prefix = _PERMISSION_PREFIXES.get(field, f"{field}:")
            for target in value:
                permission = f"{prefix}{target}"
                if permission in pending:
                    yield f"{permission}  waits for an owner"
                elif field == "call" and "/" not in str(target):
                    yield permission  # a call in its own namespace needs no grant
                else:
                    yield f"{permission}  granted"


def _describe_pin(pin: Mapping[str, Json]) -> str:
    """Return a version that it calls, `hash: library/hash@2 sha256:…`, and what is wrong with
    it.
    """
    call = pin.get("call")
    digest = pin.get("digest")
    if pin.get("state") == "waiting":
        return f"{call}: is newer than what was granted, and waits for a deploy or a grant"
    if digest is None:
        return f"{call}: was not there when this was deployed"
    version = ""
    if pin.get("version"):
        name = str(call).partition("@")[0].rpartition("/")[2]
        version = f"{pin.get('namespace')}/{name}@{pin.get('version')} "
    wrong = {"yanked": " was withdrawn", "gone": " is gone"}.get(str(pin.get("state")), "")
    return f"{call}: {version}{digest}{wrong}"


def describe_test(test: Json) -> str:
    """Return a golden test in one line: `{input} → output`, or the error code that it expects."""
    if not isinstance(test, dict):
        return _format_value(test)
    error = test.get("error")
    result = f"error {error}" if error else orjson.dumps(test.get("output")).decode()
    line = f"{_format_value(test.get('input'))} → {result}"
    responses = test.get("http")
    if responses:
        line += f" (with {format_count(len(responses), 'HTTP response')})"
    return line


def _format_value(value: Json) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return ", ".join(value)
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    return orjson.dumps(value).decode()


def describe_changes(rows: Iterable[FieldChangeRow]) -> Iterator[str]:
    """Yield `field: old → new`; for a list what was removed (`-`) and added (`+`), for a table each
    of its fields.
    """
    for row in rows:
        yield from _describe_change(row["field"], row["old"], row["new"])


def _describe_change(name: str, old: Json, new: Json) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for part in dict.fromkeys((*old, *new)):
            if old.get(part) != new.get(part):
                yield from _describe_change(f"{name}.{part}", old.get(part), new.get(part))
    elif isinstance(old, list) and isinstance(new, list):
        removed = [item for item in old if item not in new]
        added = [item for item in new if item not in old]
        yield f"{name}:"
        for item in removed:
            yield f"- {_format_item(name, item)}"
        for item in added:
            yield f"+ {_format_item(name, item)}"
        if not removed and not added:
            yield "in another order"
    else:
        yield f"{name}: {orjson.dumps(old).decode()} → {orjson.dumps(new).decode()}"


def _format_item(name: str, item: Json) -> str:
    if name == "tests":
        return describe_test(item)
    return item if isinstance(item, str) else orjson.dumps(item).decode()
