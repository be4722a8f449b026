"""Bodies of a platform in which one field after another is odd."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlencode

from tests.selection import sample

ODD: tuple[Any, ...] = (None, [{}], {"x": 0}, 10**25, "\u202e\u0000", "x" * 3_000)
"""What stands in place of a field."""


def list_odd_bodies(body: bytes) -> Iterator[bytes]:
    """Yield a body of JSON, or of a form, with each of its fields replaced, and left out: every
    third of these in the suite, which for each field are others.
    """
    try:
        value = json.loads(body)
    except ValueError:
        bodies = list(_list_odd_forms(body))
    else:
        bodies = [json.dumps(changed).encode() for changed in _change_fields(value)]
    yield from sample(bodies, len(bodies) // 3)


def _list_odd_forms(body: bytes) -> Iterator[bytes]:
    fields = dict(parse_qsl(body.decode("utf-8", "replace")))
    for name, text in fields.items():
        yield urlencode({other: fields[other] for other in fields if other != name}).encode()
        for odd in ("", "[]", "\u202e\u0000", "x" * 3_000, *_change_text(text)):
            yield urlencode(fields | {name: odd}).encode()


def _change_fields(value: Any) -> Iterator[Any]:
    """Yield a value with each field in it, at any depth, replaced and left out."""
    yield from ODD
    if isinstance(value, dict):
        for name, field in value.items():
            yield {other: value[other] for other in value if other != name}
            for odd in _change_fields(field):
                yield value | {name: odd}
    elif isinstance(value, list):
        for place, field in enumerate(value):
            for odd in _change_fields(field):
                yield [*value[:place], odd, *value[place + 1 :]]
    elif isinstance(value, str):
        yield from _change_text(value)


def _change_text(text: str) -> Iterator[str]:
    """Yield the same of JSON in a text, as some platforms have it."""
    if text.startswith("{"):
        try:
            inner = json.loads(text)
        except ValueError:
            return
        yield from map(json.dumps, _change_fields(inner))
