"""Tables on a terminal: they fit, cut nothing, and have colours unless they are turned off."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sigil.cli.tables import align_columns
from tests.sigil.cli.conftest import Sigil
from tests.sigil.cli.processes import open_terminal

pytestmark = pytest.mark.usefixtures("fork_commands")

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


DESCRIPTION = (
    "Shout a text as loud as it can be shouted, once or several times, whatever the language that"
    " it is written in may be."
)


def show_lines(*words: str, columns: int, **environment: str) -> list[str]:
    """Return the lines; each turn of the spinner, which a slow start shows, is one of its own."""
    screen = open_terminal(*words, columns=columns, environment=environment).wait_for_end()
    return re.split(r"\r?\n|\r", CONTROL.sub("", screen))


@pytest.fixture
def loud(shout: Sigil) -> Sigil:
    assert (
        shout(
            "deploy", "--name", "loud", "--execute", "return 1", "--description", DESCRIPTION
        ).code
        == 0
    )
    return shout


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_list_fits_and_cuts_nothing(loud: Sigil, place: Path, columns: int) -> None:
    lines = show_lines("list", columns=columns)
    assert max(map(len, lines)) <= columns
    assert "".join(DESCRIPTION.split()) in "".join("".join(lines).split())
    widest = max(len(line) for line in lines if "Shout" in line)
    assert widest > columns * 0.4, "sentences use the width that there is"


@pytest.mark.parametrize(
    "words",
    [
        ("versions", "loud"),
        ("inspect", "loud"),
        ("doctor",),
        ("status",),
        ("audit",),
        ("query", "shout a text"),
    ],
)
def test_every_table_fits_a_narrow_terminal(
    loud: Sigil, place: Path, words: tuple[str, ...]
) -> None:
    assert max(map(len, show_lines(*words, "--quiet", columns=40))) <= 40


def test_no_digest_is_folded_on_a_terminal_of_80_columns(loud: Sigil, place: Path) -> None:
    digest = loud("inspect", "loud", "--json").document["digest"]
    for command in ("inspect", "versions"):
        lines = show_lines(command, "loud", "--quiet", columns=80)
        assert [line.strip() for line in lines if digest in line] == [digest]
        assert max(map(len, lines)) <= 80
    shown = show_lines("inspect", "loud", "--quiet", columns=80)

    assert [line for line in shown if line.startswith("schema  ")]


def test_a_pipe_gets_a_line_for_each_row_however_long(loud: Sigil) -> None:
    assert [line for line in loud("list").out.splitlines() if DESCRIPTION in line]


def test_colours_are_for_whoever_wants_them(loud: Sigil, place: Path) -> None:
    coloured = re.compile(r"\x1b\[(?:[0-9]+;)*(?:3[0-9]|4[0-9]|9[0-7])m")
    assert coloured.search(open_terminal("list", columns=120).wait_for_end())
    assert not coloured.search(open_terminal("list", "--no-color", columns=120).wait_for_end())
    assert not coloured.search(
        open_terminal("list", columns=120, environment={"NO_COLOR": "1"}).wait_for_end()
    )


def test_columns_are_aligned_for_wide_characters_too() -> None:
    assert align_columns([["名", "b"], ["x", "c"]]) == ["名  b", "x   c"]
