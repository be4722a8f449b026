"""What a server says of a tool's effects, and what may be done with it."""

from __future__ import annotations

from sigil.mcp import hints
from sigil.protocol import Json
from tests.tables import each_row


@each_row(
    ("annotations", "found", "repeatable"),
    [
        (None, (), False),
        ({"title": "Read"}, (), False),
        ({"readOnlyHint": "yes"}, (), False),
        ({"readOnlyHint": True, "destructiveHint": True}, ("read-only",), True),
        ({"readOnlyHint": False}, ("destructive",), False),
        ({"idempotentHint": True}, ("destructive", "idempotent"), True),
        ({"destructiveHint": False}, ("additive",), False),
    ],
)
def test_hints_count_as_the_protocol_says(
    annotations: Json, found: tuple[str, ...], repeatable: bool
) -> None:
    assert hints.read_hints(annotations) == found
    assert hints.is_repeatable(found) is repeatable
