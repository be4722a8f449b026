"""`sigil list`: capabilities, some of them, and their states."""

from __future__ import annotations

from collections.abc import Callable

from tests.sigil.cli.conftest import Sigil


def test_a_list_shows_as_many_as_are_wanted_and_those_that_say_a_text(shout: Sigil) -> None:
    assert (
        shout(
            "deploy",
            "--name",
            "whisper",
            "--execute",
            "return 1",
            "--description",
            "Whisper a text.",
        ).code
        == 0
    )
    named: Callable[..., list[str]] = lambda *words: [  # noqa: E731
        row["capability"] for row in shout("list", "--json", *words).document["items"]
    ]
    assert named() == ["shout", "whisper"]
    assert named("WHISPER") == ["whisper"]
    assert named("text whis") == ["whisper"]
    assert named("-n", "1") == ["shout"]
    assert shout("list", "--limit", "1").err == "1 of 2\n"
    assert shout("list", "nothing like it").err == "no capability matches 'nothing like it'\n"


def test_a_list_shows_states_and_calls(two_versions: Sigil) -> None:
    two_versions("run", "word")
    (row,) = two_versions("list", "--json").document["items"]
    assert (row["state"], row["calls"], row["errors"]) == ("ok", 1, 0)
    assert two_versions("inspect", "word", "--json").document["last"]
