"""What all chats of an agent remember, as a file: a thing a line, in JSON.

The lines stand in the order in which the things were written, as far as that is known, so that an
import of them makes the same part of the prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from functions.agent.memory.thing import (
    Thing,
    check_thing,
    decode_thing,
    encode_thing,
    is_same_text,
)
from functions.agent.memory.things import (
    CHARACTERS_MOST,
    RECENT,
    THINGS_MOST,
    Things,
    ThingUse,
)
from sigil.errors import BackendError, UsageError
from sigil.protocol import Json
from sigil.strict_json import canonical, read_object

FILE_BYTES: Final = 32 * 1024 * 1024
_USE: Final = ("uses", "used_at")
"""How often a thing was recalled, and the time for which that holds."""


@dataclass(frozen=True, slots=True)
class KeptThing:
    """A thing of the file, and its recalls; None when it was never recalled."""

    thing: Thing
    use: ThingUse | None


def list_things(things: Things) -> list[Thing]:
    """Return all things of a scope in the order in which they were written."""
    recent = {thing.id: place for place, thing in enumerate(things.list_newest(RECENT))}
    return sorted(
        things.scan(), key=lambda each: (-recent.get(each.id, len(recent)), each.at, each.id)
    )


def write_lines(things: Sequence[Thing], uses: Sequence[ThingUse]) -> bytes:
    """Return the file."""
    used = {use.id: use for use in uses}
    lines = []
    for thing in things:
        row: dict[str, Json] = orjson.loads(encode_thing(thing))
        use = used.get(thing.id)
        if use:
            row |= dict(zip(_USE, (use.weight, use.at), strict=True))
        lines.append(canonical(row) + b"\n")
    return b"".join(lines)


def read_lines(body: bytes, name: str) -> tuple[KeptThing, ...]:
    """Return the things of a file, each checked; `UsageError` EINVAL with the line that is none."""
    found: list[KeptThing] = []
    for number, line in enumerate(body.splitlines(), 1):
        if not line.strip():
            continue
        where = f"line {number} of {name}"
        row = read_object(line, source=where)
        weight, at = row.pop(_USE[0], None), row.pop(_USE[1], 0)
        try:
            thing = check_thing(decode_thing("", canonical(row)))
        except (BackendError, UsageError) as problem:
            why = problem.message if isinstance(problem, UsageError) else "it cannot be read"
            raise UsageError("EINVAL", f"{where} is nothing to remember: {why}") from None
        use = None
        if isinstance(weight, int | float) and isinstance(at, int | float):
            use = ThingUse(thing.id, float(weight), float(at))
        found.append(KeptThing(thing, use))
    size = sum(each.thing.size for each in found)
    if len(found) > THINGS_MOST or size > CHARACTERS_MOST:
        raise UsageError("ETOOBIG", f"{name} has {len(found):,} things, {size:,} characters long")
    return tuple(found)


def list_missing(things: Things, kept: Sequence[KeptThing]) -> list[KeptThing]:
    """Return those that a scope does not remember in these words."""
    missing = []
    for each in kept:
        known = things.get(each.thing.id)
        if known is None or not is_same_text(known, each.thing):
            missing.append(each)
    return missing


def write_missing(things: Things, kept: Sequence[KeptThing]) -> None:
    """Remember what is missing, and how often all of it was recalled."""
    for each in list_missing(things, kept):
        things.save(each.thing)
    things.add_uses(each.use for each in kept if each.use)
