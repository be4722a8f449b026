"""The spinner of long steps: on a terminal alone, and gone at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sigil.cli.conftest import Sigil
from tests.sigil.cli.processes import open_terminal

pytestmark = pytest.mark.usefixtures("fork_commands")

SLOW = """
if (input.enough) return await env.KV.put("enough", "1");
while (!(await env.KV.get("enough"))) for (const end = Date.now() + 50; Date.now() < end;);
return "done";
"""


def record_spinner(run_sigil: Sigil, **environment: str) -> str:
    """Return what a terminal showed of a run that lasted until its spinner was seen."""
    schema = '{"properties": {"enough": {"type": "boolean"}}}'
    words = ("--permission", "clock", "--permission", "kv", "--schema", schema, "--execute", SLOW)
    assert run_sigil("deploy", "--name", "slow", *words).code == 0
    terminal = open_terminal("run", "slow", environment=environment)
    terminal.wait_for("running slow")
    assert run_sigil("run", "slow", "-a", "enough=true").code == 0
    return terminal.wait_for_end()


def test_long_work_shows_a_spinner_on_a_terminal_alone_and_takes_it_away(
    run_sigil: Sigil, place: Path
) -> None:
    seen = record_spinner(run_sigil)
    assert "\x1b[2K" in seen
    assert seen.rstrip().endswith("done")
    piped = run_sigil("run", "slow")
    assert (piped.out, piped.err) == ("done\n", "")


def test_a_terminal_that_has_no_braille_turns_something_else(run_sigil: Sigil, place: Path) -> None:
    assert "\\u28" not in record_spinner(run_sigil, PYTHONIOENCODING="ascii")
