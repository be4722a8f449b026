"""JSON from outside, read strictly: no NaN, no infinity, no depth beyond 1,024, no lone
surrogate.
"""

from __future__ import annotations

from typing import Any

import orjson

from sigil.errors import UsageError


def loads(data: bytes | str, *, source: str = "") -> Any:
    """The JSON value in `data`; `UsageError` with EJSON and the reason when it is none."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as problem:
        raise UsageError(
            "EJSON",
            f"not JSON: {problem.msg} (line {problem.lineno}, column {problem.colno})",
            source=source,
        ) from None


def dumps(value: Any, *, source: str = "") -> bytes:
    """`value` as JSON; `UsageError` with EJSON when it holds what JSON cannot say (a lone
    surrogate, a huge integer).
    """
    try:
        return orjson.dumps(value)
    except TypeError as problem:
        raise UsageError("EJSON", f"not JSON: {problem}", source=source) from None


def canonical(value: Any) -> bytes:
    """`value` as JSON with sorted keys and no spaces: equal values give equal bytes. `UsageError`
    as `dumps`.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError as problem:
        raise UsageError("EJSON", f"not JSON: {problem}") from None


def depth(value: Any, most: int) -> bool:
    """Whether `value` is nested at most `most` deep."""
    children = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    )
    return all(depth(child, most - 1) for child in children) if most > 0 else not children
