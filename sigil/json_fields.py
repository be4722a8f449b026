"""Fields of foreign JSON: each reader returns one type, or its empty value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Json = object
"""A value of JSON whose form is not known yet: str, int, float, bool, None, list or dict.

It gets its type by `isinstance`, or by a reader of this module.
"""
ID_LIMIT = 2**63 - 1


def as_integer(value: object, low: int) -> int | None:
    """Return `value` when it is an integer from `low` to 2**63 - 1; True is none."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if low <= value <= ID_LIMIT else None


def as_number(value: object) -> float:
    """Return `value` when it is a number, else 0.0; True is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return value


def as_string(value: object) -> str:
    """Return `value` when it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def as_mapping(value: object) -> Mapping[str, Json]:
    """Return `value` when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_sequence(value: object) -> Sequence[Json]:
    """Return `value` when it is an array, else an empty one."""
    return value if isinstance(value, list) else ()
