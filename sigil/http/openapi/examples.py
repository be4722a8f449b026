"""The examples of the description: requests that are sent, in this order, to a registry that begins
empty, and what it answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import orjson

from sigil.protocol import Json

FILE = Path(__file__).with_name("examples.json")


@dataclass(frozen=True, slots=True)
class Example:
    """A request and its answer. `route`: the method and the path of its row in the table. `token`:
    the kind of token, empty for none.

    `body` is the JSON that is sent, `answer` what came back: JSON, or a string for a text. None of
    them for a file.
    """

    route: str
    name: str
    title: str
    status: int
    token: str = "admin"
    ref: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Json = None
    answer: Json = None
    kind: str = "application/json"


@lru_cache(maxsize=1)
def examples() -> tuple[Example, ...]:
    """All of them, in the order in which they are sent."""
    return tuple(Example(**row) for row in orjson.loads(FILE.read_bytes()))


def of_route(method: str, path: str) -> list[Example]:
    """Those of one row of the table."""
    return [example for example in examples() if example.route == f"{method} {path}"]
