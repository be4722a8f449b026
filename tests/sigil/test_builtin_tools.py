"""What the model reads of a query."""

from __future__ import annotations

from sigil.builtin_tools import found_row
from sigil.protocol import Found, WeakHit


def test_the_model_reads_what_was_near_and_what_to_do_with_it() -> None:
    near = Found((), 0, (WeakHit("plant-radish", "Plant a radish.", "js"),))

    row = found_row(near)

    assert row["weak"] == [{"capability": "plant-radish", "description": "Plant a radish."}]
    assert str(row["next"]).startswith("if one in weak can do it, query its name; else: nothing")
    assert "sigil_deploy" in str(row["next"])
    assert "sigil_deploy" not in str(found_row(near, may_deploy=False)["next"])
    assert "weak" not in found_row(Found((), 0))
