"""What a terminal shows: tables that fit, a spinner that leaves nothing behind, and colours for whoever wants them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sigil.cli.conftest import Sigil
from tests.sigil.cli.processes import Terminal

STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
DESCRIPTION = "Shout a text as loud as it can be shouted, once or several times, whatever the language that it is written in may be."


def shown(*words: str, columns: int, **environment: str) -> list[str]:
    return STEERING.sub("", Terminal(*words, columns=columns, environment=environment).ended()).replace("\r\n", "\n").split("\n")


@pytest.fixture
def loud(shout: Sigil) -> Sigil:
    assert shout("deploy", "--name", "loud", "--execute", "return 1", "--description", DESCRIPTION).code == 0
    return shout


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_list_fits_and_cuts_nothing(loud: Sigil, place: Path, columns: int) -> None:
    lines = shown("list", columns=columns)
    assert max(map(len, lines)) <= columns
    assert "".join(DESCRIPTION.split()) in "".join("".join(lines).split())
    widest = max(len(line) for line in lines if "Shout" in line)
    assert widest > columns * 0.4, "sentences get the room that there is"


@pytest.mark.parametrize(
    "words", [("versions", "loud"), ("inspect", "loud"), ("doctor",), ("status",), ("audit",), ("query", "shout a text")]
)
def test_every_table_fits_a_narrow_terminal(loud: Sigil, place: Path, words: tuple[str, ...]) -> None:
    assert max(map(len, shown(*words, "--quiet", columns=40))) <= 40


def test_a_pipe_gets_a_line_for_each_row_however_long(loud: Sigil) -> None:
    assert [line for line in loud("list").out.splitlines() if DESCRIPTION in line]


def test_colours_are_for_whoever_wants_them(loud: Sigil, place: Path) -> None:
    coloured = re.compile(r"\x1b\[(?:[0-9]+;)*(?:3[0-9]|4[0-9]|9[0-7])m")
    assert coloured.search(Terminal("list", columns=120).ended())
    assert not coloured.search(Terminal("list", "--no-color", columns=120).ended())
    assert not coloured.search(Terminal("list", columns=120, environment={"NO_COLOR": "1"}).ended())


def test_long_work_shows_a_spinner_on_a_terminal_alone_and_takes_it_away(run_sigil: Sigil, place: Path) -> None:
    code = "const end = Date.now() + 900; while (Date.now() < end); return 1"
    assert run_sigil("deploy", "--name", "slow", "--permission", "clock", "--execute", code).code == 0
    seen = Terminal("run", "slow").ended()
    assert "running slow" in seen
    assert "\x1b[2K" in seen
    assert seen.rstrip().endswith("1")
    piped = run_sigil("run", "slow")
    assert (piped.out, piped.err) == ("1\n", "")


def test_a_terminal_that_has_no_braille_turns_something_else(run_sigil: Sigil, place: Path) -> None:
    code = "const end = Date.now() + 900; while (Date.now() < end); return 1"
    assert run_sigil("deploy", "--name", "slow", "--permission", "clock", "--execute", code).code == 0
    seen = Terminal("run", "slow", environment={"PYTHONIOENCODING": "ascii"}).ended()
    assert "running slow" in seen
    assert "\\u28" not in seen
