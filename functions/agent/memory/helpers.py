"""Helpers are functions of Sigil that the wiring lends to the agent's memory and services."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from threading import Lock

from sigil.protocol import Json

Accept = Callable[[Mapping[str, Json], Mapping[str, Json]], dict[str, Json]]
"""(schema, arguments) → arguments with defaults that fit the schema; `UsageError` EINVAL if not."""
Terms = Callable[[str], Collection[str]]
"""A text → its terms, each once, without those that are in every text."""


def copy_arguments(schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Return the arguments unchecked: services check what they use all the same."""
    return dict(arguments)


def split_words(text: str) -> frozenset[str]:
    """Return the words of a text in small letters."""
    return frozenset(text.casefold().split())


@dataclass(frozen=True, slots=True)
class ServiceHelpers:
    """The helpers of one agent.

    The calls of a round run side by side; those that write memory take `lock`.
    """

    accept: Accept = copy_arguments
    terms: Terms = split_words
    lock: Lock = field(default_factory=Lock)
