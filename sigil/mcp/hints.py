"""What a server says of the effects of a tool, in the words of its annotations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sigil.protocol import Json

READ_ONLY = "read-only"
DESTRUCTIVE = "destructive"
ADDITIVE = "additive"
IDEMPOTENT = "idempotent"
MEANINGS = {
    READ_ONLY: "changes nothing",
    DESTRUCTIVE: "may change or delete what is there",
    ADDITIVE: "only adds to what is there",
    IDEMPOTENT: "may be called twice like once",
}
"""The hints, which are tags of a capability, and what each says of its tool."""


def read_hints(annotations: Json) -> tuple[str, ...]:
    """Return the hints in a tool's annotations; none when they say nothing of its effects.

    As the protocol has it, a tool that is not read-only counts as destructive until it says that it
    is not.
    """
    if not isinstance(annotations, Mapping):
        return ()
    values = {
        name: annotations[name]
        for name in ("readOnlyHint", "destructiveHint", "idempotentHint")
        if isinstance(annotations.get(name), bool)
    }
    if not values:
        return ()
    if values.get("readOnlyHint"):
        return (READ_ONLY,)
    effect = DESTRUCTIVE if values.get("destructiveHint", True) else ADDITIVE
    return (effect, IDEMPOTENT) if values.get("idempotentHint") else (effect,)


def find_hints(tags: Iterable[str]) -> list[str]:
    """Return those of a capability's tags that are hints."""
    return [tag for tag in tags if tag in MEANINGS]


def is_repeatable(hints: Iterable[str]) -> bool:
    """Return whether a call whose answer was lost may be sent again."""
    return not {READ_ONLY, IDEMPOTENT}.isdisjoint(hints)


def describe_hints(hints: Iterable[str]) -> str:
    """Return what a server says of a tool's effects, in words."""
    words = [MEANINGS[hint] for hint in hints if hint in MEANINGS]
    return " and ".join(words) or "does not say what it changes"
