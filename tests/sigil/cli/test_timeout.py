"""`--timeout`: a command that takes longer ends with 7."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.sigil.cli.conftest import Sigil


def test_a_command_that_takes_longer_than_it_may_ends_with_7(run_sigil: Sigil, place: Path) -> None:
    assert (
        run_sigil(
            "deploy",
            "--name",
            "busy",
            "--execute",
            "if (input.on) for (;;); return 1",
            "--schema",
            '{"properties": {"on": {}}}',
        ).code
        == 0
    )
    result = run_sigil("run", "busy", '{"on": true}', "--timeout", "0.2", "--json")
    assert (result.code, result.error["code"]) == (7, "ETIMEDOUT")
    assert result.error["message"].startswith("not done after 0.2 s; ")
    assert run_sigil("run", "busy", "--timeout=30").out == "1\n"
    for wrong in ("0", "-1", "inf", "nan", "x", "1e9"):
        assert run_sigil("list", "--timeout", wrong).code == 2, wrong
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
