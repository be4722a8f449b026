"""An entry of the ledger tells one thing that was begun, spent or allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, Literal

from sigil.errors import one_line
from sigil.protocol import Json

What = Literal[
    "request", "call", "grant", "spend", "proposal", "policy", "spawn", "task", "read", "person"
]
FACTS_MOST: Final = 20
PARTS_MOST: Final = 20
"""So many facts has an entry at most, and so many parts a fact that is a list."""
TEXT_CHARACTERS: Final = 500
NAME_CHARACTERS: Final = 40
NUMBER_MOST: Final = 2**53
"""A whole number beyond this may not come back from a JSON parser as it was."""
UNKNOWN: Final = "unknown"
"""The fact of a request whose answer nobody saw: what it cost is not known."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing for the ledger, before it has its place there.

    `what` says what it is: a `request` to the model, a `call` of a tool, a `grant`, something that
    was `spend`, a `proposal` and what became of it, a change of the `policy`, an agent that was
    `spawn`, a `task` of the board that was claimed or ended, another one's chat that was `read`, a
    `person` whom an owner let in, took out or gave another role or id.
    `facts` are scalars or lists of them, never a text of somebody's chat; `names` are the chats
    and people that they name. `by` is the person who did or decided it, empty for the one on whose
    behalf the turn is; `at` is in seconds since 1970, 0 for the time at which it enters the
    session.
    """

    what: What
    facts: Mapping[str, Json] = field(default_factory=dict)
    by: str = ""
    at: float = 0.0
    names: tuple[str, ...] = ()


def hash_name(name: str, salt: str) -> str:
    """Return the id of a person or a chat as the ledger has it, empty for nobody.

    It is the same in every entry of a chain. Ids are few and known: without the `salt` somebody
    would find out whose it is by trying them all.
    """
    return sha256(f"{salt}\n{name}".encode(errors="replace")).hexdigest()[:16] if name else ""


def hash_names(facts: Mapping[str, Json], names: Sequence[str], salt: str) -> dict[str, Json]:
    """Return the facts with hashes in the place of these ids of chats."""
    hashed = dict(facts)
    for name in filter(None, names):
        hidden = hash_name(name, salt)
        for fact, value in hashed.items():
            if isinstance(value, str):
                hashed[fact] = value.replace(name, hidden)
            elif isinstance(value, list | tuple):
                parts = [
                    part.replace(name, hidden) if isinstance(part, str) else part for part in value
                ]
                hashed[fact] = parts
    return hashed


def clean_facts(facts: Mapping[str, Json]) -> dict[str, Json]:
    """Return the facts as an entry holds them: bounded, on one line each, in JSON that reads back
    as the same values. Facts that are None are left out.
    """
    cleaned: dict[str, Json] = {}
    for name, value in facts.items():
        if value is not None and len(cleaned) < FACTS_MOST:
            cleaned[one_line(name, NAME_CHARACTERS)] = _clean_fact(value)
    return cleaned


def _clean_fact(value: Json) -> Json:
    if isinstance(value, list | tuple):
        return [_clean_scalar(part) for part in value[:PARTS_MOST]]
    return _clean_scalar(value)


def _clean_scalar(value: Json) -> Json:
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= NUMBER_MOST:
        return value
    if isinstance(value, float) and abs(value) <= NUMBER_MOST:
        return round(value, 6)
    return one_line(str(value), TEXT_CHARACTERS)
