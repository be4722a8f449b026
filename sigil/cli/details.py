"""Manifests and inspections in lines for people: words for times, permissions and tests, nothing
cut, and what differs between two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import orjson

from sigil.cli.times import format_time
from sigil.protocol import Json

Line = tuple[str, str]
_MOMENTS = ("at", "expires_at", "last")
_ASKED = {"http": "http:", "secrets": "secret:", "call": "call:", "mcp": "mcp:"}
_APART = ("source", "pending")
"""The source stands below the table; what waits is told with the permissions."""


def describe_fields(row: Mapping[str, Json]) -> list[Line]:
    """Return the lines of an inspection's fields; a field of several lines is named once."""
    lines: list[Line] = []
    for field, value in row.items():
        if field not in _APART:
            lines += [
                (field if first else "", line)
                for first, line in _numbered(_shown(field, value, row))
            ]
    return lines


def _numbered(lines: Iterator[str]) -> Iterator[tuple[bool, str]]:
    return ((number == 0, line) for number, line in enumerate(lines))


def _shown(field: str, value: Json, row: Mapping[str, Json]) -> Iterator[str]:
    if field == "permissions" and isinstance(value, dict):
        yield from _permissions(value, row.get("pending") or ())
    elif field == "tests" and isinstance(value, list):
        yield from map(describe_test, value)
    elif field == "pins" and isinstance(value, list):
        yield from map(_pin, value)
    elif field in _MOMENTS:
        yield from () if value is None else (format_time(value),)
    elif field == "limits" and isinstance(value, dict):
        yield from (f"{name} {_text(limit)}" for name, limit in value.items())
    elif value not in ("", None, []):
        yield _text(value)


def _pin(pin: Mapping[str, Json]) -> str:
    """Return a version that it calls, `hash: library/hash@2 sha256:…`, and its trouble."""
    if pin.get("state") == "waiting":
        waits = "is newer than what was granted, and waits for a deploy or a grant"
        return f"{pin.get('call')}: {waits}"
    if pin.get("digest") is None:
        return f"{pin.get('call')}: was not there when this was deployed"
    name = str(pin.get("call")).partition("@")[0].rpartition("/")[2]
    stands = f"{pin.get('namespace')}/{name}@{pin.get('version')} " if pin.get("version") else ""
    wrong = {"yanked": " was withdrawn", "gone": " is gone"}.get(str(pin.get("state")), "")
    return f"{pin.get('call')}: {stands}{pin.get('digest')}{wrong}"


def _permissions(asked: Mapping[str, Json], pending: Json) -> Iterator[str]:
    """Yield what it may do, and for what an owner has to grant, whether that was done."""
    none = True
    for field, value in asked.items():
        for text in value if isinstance(value, list) else ():
            none, whole = False, f"{_ASKED.get(field, f'{field}:')}{text}"
            granted = "granted" if field != "call" or "/" in str(text) else ""
            yield f"{whole}  {'waits for an owner' if whole in pending else granted}".rstrip()
        if value is True:
            none = False
            yield field
    if none:
        yield "none"


def describe_test(test: Json) -> str:
    """Return a golden test in one line: `{input} → output`, or the error code that it expects."""
    if not isinstance(test, dict):
        return _text(test)
    error = test.get("error")
    web = f" (with {len(test['http'])} answers of the web)" if test.get("http") else ""
    return (
        f"{_text(test.get('input'))} →"
        f" {f'error {error}' if error else orjson.dumps(test.get('output')).decode()}{web}"
    )


def _text(value: Json) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return ", ".join(value)
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def describe_changes(rows: Iterable[Mapping[str, Json]]) -> Iterator[str]:
    """Yield `field: old → new`; for a list what was removed (`-`) and added (`+`), for a table each
    of its fields.
    """
    for row in rows:
        yield from _field(str(row["field"]), row["old"], row["new"])


def _field(name: str, old: Json, new: Json) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for part in dict.fromkeys((*old, *new)):
            if old.get(part) != new.get(part):
                yield from _field(f"{name}.{part}", old.get(part), new.get(part))
    elif isinstance(old, list) and isinstance(new, list):
        lines = [*(f"- {_item(name, item)}" for item in old if item not in new)]
        lines += [f"+ {_item(name, item)}" for item in new if item not in old]
        yield from (f"{name}:", *(lines or ["in another order"]))
    else:
        yield f"{name}: {orjson.dumps(old).decode()} → {orjson.dumps(new).decode()}"


def _item(name: str, item: Json) -> str:
    if name == "tests":
        return describe_test(item)
    return item if isinstance(item, str) else orjson.dumps(item).decode()
