"""`sigil remove`: it asks first, and names the capabilities that will fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sigil.cli.conftest import Sigil


def test_remove_asks_unless_it_is_told(shout: Sigil) -> None:
    assert shout("remove", "shout").code == 2
    assert shout("remove", "shout", "--yes").code == 0
    assert shout("run", "shout").code == 3
    assert shout("remove", "shout", "-y").code == 3


def test_remove_warns_of_those_that_call_it_and_takes_no_for_an_answer(
    shout: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = place / "both"
    folder.mkdir()
    (folder / "sigil.toml").write_text(
        '[capability]\nname = "both"\ndescription = "Both."\nrequires = ["shout"]\n'
    )
    (folder / "main.js").write_text("return env.call('shout', {text: 'a'})")
    assert shout("deploy", "both").code == 0

    monkeypatch.setattr("sigil.cli.shell.typer.confirm", lambda *_, **__: False)
    monkeypatch.setattr("sigil.cli.commands.remove.require_answerer", lambda *_: None)
    declined = shout("remove", "shout")
    assert declined.code == 1
    assert (
        declined.err
        == "both calls shout, and will fail without it\nerror: nothing was removed (EDECLINED)\n"
    )
    assert shout("run", "shout", "-a", "text=a").code == 0
    assert shout("remove", "shout", "--yes", "--json").document == {
        "removed": "shout",
        "needed_by": ["both"],
    }
