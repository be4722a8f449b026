"""The examples of the description: requests to a registry that begins empty, and its answers."""

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
def load_examples() -> tuple[Example, ...]:
    """Return all examples, in the order in which they are sent."""
    return tuple(Example(**row) for row in orjson.loads(FILE.read_bytes()))


def examples_of(method: str, path: str) -> list[Example]:
    """Return the examples of one route."""
    return [example for example in load_examples() if example.route == f"{method} {path}"]
