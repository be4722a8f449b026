"""What the wiring lends to the agent's own services: arguments by a schema, and the words of a text
that tell what it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from threading import Lock

from sigil.protocol import Json

Accept = Callable[[Mapping[str, Json], Mapping[str, Json]], dict[str, Json]]
"""Arguments with defaults filled, valid against a schema; `UsageError` EINVAL otherwise."""
Terms = Callable[[str], Collection[str]]
"""The terms of a text, each once, without those that stand in every text."""


def as_they_are(schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Nobody validates: services look at what they are given all the same."""
    return dict(arguments)


def plain(text: str) -> frozenset[str]:
    """The words as they stand there."""
    return frozenset(text.casefold().split())


@dataclass(frozen=True, slots=True)
class Aids:
    """`lock`: a round's calls run side by side, and those that write memory take turns."""

    accept: Accept = as_they_are
    terms: Terms = plain
    lock: Lock = field(default_factory=Lock)
