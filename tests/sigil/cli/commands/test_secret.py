"""`sigil secret`: values come from stdin, and are never shown."""

from __future__ import annotations

from sigil.cli.app import main
from tests.sigil.cli.conftest import Sigil


def test_a_secret_comes_from_stdin_and_is_never_shown(run_sigil: Sigil) -> None:
    assert run_sigil("secret", "set", "API_KEY", stdin=b"a value of some length\n").code == 0
    for words in (("secret", "list"), ("--json", "secret", "list")):
        shown = run_sigil(*words)
        assert "API_KEY" in shown.out
        assert "some length" not in shown.out + shown.err
    assert run_sigil("secret", "set", "API_KEY", stdin=b"short").code == 2
    assert run_sigil("secret", "set", "api-key", stdin=b"a value of some length").code == 2
    assert run_sigil("secret", "set", "API_KEY", stdin=b"\xff" * 20).code == 2
    assert run_sigil("--json", "secret", "list", "--namespace", "other").document == {"items": []}
    assert run_sigil("secret", "remove", "API_KEY").code == 0
    assert run_sigil("secret", "remove", "API_KEY").code == 3
    assert main(["secret", "set", "API_KEY", "value on the line"]) == 2
