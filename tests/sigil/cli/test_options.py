"""The options that every command takes."""

from __future__ import annotations

from sigil.cli.options import hoist_options


def test_shared_options_may_stand_anywhere_before_the_double_dash() -> None:
    assert hoist_options(["query", "x", "--json", "-q"]) == (["--json", "-q"], ["query", "x"])
    assert hoist_options(["run", "x", "--url", "http://a", "--token=t"]) == (
        ["--url", "http://a", "--token=t"],
        ["run", "x"],
    )
    assert hoist_options(["run", "--", "--json"]) == ([], ["run", "--", "--json"])
    assert hoist_options(["list", "--url"]) == (["--url"], ["list"])
