"""Read JSON strictly: no NaN, no infinity, no depth beyond 1,024, no lone surrogate."""

from __future__ import annotations

from collections.abc import Collection

import orjson

from sigil.errors import UsageError
from sigil.protocol import Json

DEPTH_LIMIT = 100


def loads(data: bytes | str, *, source: str = "") -> Json:
    """Return the JSON value in `data`; `UsageError` EJSON with the reason when it is none."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as problem:
        raise UsageError(
            "EJSON",
            f"not JSON: {problem.msg} (line {problem.lineno}, column {problem.colno})",
            source=source,
        ) from None


def dumps(value: Json, *, source: str = "") -> bytes:
    """Return `value` as JSON; `UsageError` EJSON when it holds what JSON cannot express (a
    lone surrogate, a huge integer).
    """
    try:
        return orjson.dumps(value)
    except TypeError as problem:
        raise UsageError("EJSON", f"not JSON: {problem}", source=source) from None


def canonical(value: Json) -> bytes:
    """Return `value` as JSON with sorted keys and no spaces, so that equal values give equal bytes;
    `UsageError` as `dumps`.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError as problem:
        raise UsageError("EJSON", f"not JSON: {problem}") from None


def read_object(data: bytes | str, *, source: str = "") -> dict[str, Json]:
    """Return the JSON object in `data`; `UsageError` EJSON when it is none, or nested deeper than
    `DEPTH_LIMIT`, which `dumps` could not write.
    """
    value = loads(data, source=source)
    if not isinstance(value, dict):
        raise UsageError("EJSON", "this must be a JSON object", source=source)
    level: list[Json] = [value]
    for _ in range(DEPTH_LIMIT):
        level = [child for node in level for child in _children_of(node)]
        if not level:
            return value
    raise UsageError("EJSON", f"nested deeper than {DEPTH_LIMIT}", source=source)


def is_within_depth(value: Json, most: int) -> bool:
    """Tell if `value` is nested at most `most` deep."""
    children = _children_of(value)
    if most <= 0:
        return not children
    return all(is_within_depth(child, most - 1) for child in children)


def _children_of(node: Json) -> Collection[Json]:
    if isinstance(node, dict):
        return node.values()
    if isinstance(node, list):
        return node
    return ()
