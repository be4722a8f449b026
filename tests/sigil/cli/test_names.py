"""Names that are nearly right are suggested."""

from __future__ import annotations

from tests.sigil.cli.conftest import Sigil


def test_a_name_that_is_nearly_right_is_suggested(shout: Sigil) -> None:
    assert shout("run", "shuot", "--json").error["suggestion"].startswith("did you mean shout? ")
    assert shout("inspect", "shot", "--json").error["suggestion"].startswith("did you mean shout? ")
    assert shout("run", "zzzz", "--json").error["suggestion"].startswith("`sigil list`")
    assert "Did you mean 'deploy'?" in shout("depoly").err
