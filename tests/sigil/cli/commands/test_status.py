"""`sigil status`: the state of the capabilities and of the registry."""

from __future__ import annotations

from tests.sigil.cli.conftest import Sigil


def test_status_shows_how_everything_does(shout: Sigil) -> None:
    shout("run", "shout", "-a", "text=a")
    row = shout("status", "--json").document
    assert row["items"][0]["capability"] == "shout"
    assert row["items"][0]["calls"] == 1
    assert row["store"]["read_ms"] >= 0
    shown = shout("status").out
    assert "store read ms" in shown
    assert "shout" in shown
