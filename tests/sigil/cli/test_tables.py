"""What a terminal shows: tables that fit, a spinner that leaves nothing behind, and colours for
whoever wants them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sigil.cli.conftest import Sigil
from tests.sigil.cli.processes import Terminal

STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
DESCRIPTION = (
    "Shout a text as loud as it can be shouted, once or several times, whatever the language that"
    " it is written in may be."
)


def shown(*words: str, columns: int, **environment: str) -> list[str]:
    """Return the lines; each turn of the spinner, which a slow start shows, is one of its own."""
    said = Terminal(*words, columns=columns, environment=environment).ended()
    return re.split(r"\r?\n|\r", STEERING.sub("", said))


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
    lines = shown("list", columns=columns)
    assert max(map(len, lines)) <= columns
    assert "".join(DESCRIPTION.split()) in "".join("".join(lines).split())
    widest = max(len(line) for line in lines if "Shout" in line)
    assert widest > columns * 0.4, "sentences get the room that there is"


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
    assert max(map(len, shown(*words, "--quiet", columns=40))) <= 40


def test_a_pipe_gets_a_line_for_each_row_however_long(loud: Sigil) -> None:
    assert [line for line in loud("list").out.splitlines() if DESCRIPTION in line]


def test_colours_are_for_whoever_wants_them(loud: Sigil, place: Path) -> None:
    coloured = re.compile(r"\x1b\[(?:[0-9]+;)*(?:3[0-9]|4[0-9]|9[0-7])m")
    assert coloured.search(Terminal("list", columns=120).ended())
    assert not coloured.search(Terminal("list", "--no-color", columns=120).ended())
    assert not coloured.search(Terminal("list", columns=120, environment={"NO_COLOR": "1"}).ended())


SLOW = """
if (input.enough) return await env.KV.put("enough", "1");
while (!(await env.KV.get("enough"))) for (const end = Date.now() + 50; Date.now() < end;);
return "done";
"""


def spun(run_sigil: Sigil, **environment: str) -> str:
    """What a terminal showed of a run that lasted until its spinner was seen."""
    schema = '{"properties": {"enough": {"type": "boolean"}}}'
    words = ("--permission", "clock", "--permission", "kv", "--schema", schema, "--execute", SLOW)
    assert run_sigil("deploy", "--name", "slow", *words).code == 0
    terminal = Terminal("run", "slow", environment=environment)
    terminal.until("running slow")
    assert run_sigil("run", "slow", "-a", "enough=true").code == 0
    return terminal.ended()


def test_long_work_shows_a_spinner_on_a_terminal_alone_and_takes_it_away(
    run_sigil: Sigil, place: Path
) -> None:
    seen = spun(run_sigil)
    assert "\x1b[2K" in seen
    assert seen.rstrip().endswith("done")
    piped = run_sigil("run", "slow")
    assert (piped.out, piped.err) == ("done\n", "")


def test_a_terminal_that_has_no_braille_turns_something_else(run_sigil: Sigil, place: Path) -> None:
    assert "\\u28" not in spun(run_sigil, PYTHONIOENCODING="ascii")
