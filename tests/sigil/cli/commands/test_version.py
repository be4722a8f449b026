"""`sigil version`: it prints the version."""

from __future__ import annotations

from tests.sigil.cli.conftest import Sigil


def test_the_version_is_told(run_sigil: Sigil) -> None:
    assert run_sigil("version").out.startswith("sigil ")
    assert run_sigil("--version").out == run_sigil("version").out
    assert set(run_sigil("version", "--json").document) == {"version"}
    assert (
        run_sigil("--version", "--json").document
        == run_sigil("--json", "--version").document
        == run_sigil("version", "--json").document
    )
