"""`sigil inspect`: everything about one version."""

from __future__ import annotations

from tests.sigil.cli.conftest import SHOUT, Sigil


def test_a_list_and_an_inspection_are_plain_aligned_text(shout: Sigil) -> None:
    head, row = shout("list").out.splitlines()
    assert head.split() == [
        "capability",
        "version",
        "kind",
        "namespace",
        "lifetime",
        "state",
        "calls",
        "description",
    ]
    assert row.split(maxsplit=7) == [
        "shout",
        "1",
        "wasm",
        "main",
        "normal",
        "ok",
        "0",
        "Shout a text.",
    ]
    assert head.index("description") == row.index("Shout")
    shown = shout("inspect", "shout@1").out
    assert "description  Shout a text.\n" in shown
    assert shown.endswith(f"\n{SHOUT}\n")


def test_a_version_that_is_not_there_is_not_a_capability_that_is_not_there(shout: Sigil) -> None:
    for command in ("inspect", "run"):
        error = shout(command, "shout@99", "--json").error
        assert (error["code"], error["message"]) == ("ENOENT", "there is no version 99 of shout")
    assert shout("inspect", "shout@1").code == 0
