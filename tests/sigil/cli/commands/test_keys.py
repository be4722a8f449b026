"""`sigil keys`: access tokens."""

from __future__ import annotations

import pytest

from sigil.cli.commands.keys import parse_duration
from sigil.errors import UsageError
from tests.sigil.cli.conftest import REMOTE_TOKEN, Sigil
from tests.tables import each_row


def test_a_key_made_here_works_there_until_it_is_revoked(run_sigil: Sigil, remote_url: str) -> None:
    there = ("--url", remote_url, "--token", REMOTE_TOKEN)
    made = run_sigil(
        "keys", "create", "--kind", "deploy", "--name", "ci", "--expires", "30d", "--json", *there
    ).document
    assert (made["kind"], made["namespace"], made["scopes"]) == (
        "deploy",
        "main",
        ["deploy:main/*", "run:*"],
    )
    assert round(made["expires"] - made["created"]) == 30 * 86_400
    with_key = ("--url", remote_url, "--token", made["token"])
    assert run_sigil("deploy", "--name", "one", "--execute", "return 1;", *with_key).code == 0
    assert run_sigil("run", "one", *with_key).out == "1\n"
    assert run_sigil("keys", "list", *with_key).code == 5
    listed = run_sigil("keys", "list", *there)
    assert made["id"] in listed.out
    assert made["token"] not in listed.out
    assert run_sigil("whoami", *with_key).out.startswith(
        f"deploy token {made['id']} (ci), namespace main: deploy:main/* run:*; ends 2"
    )
    assert run_sigil("keys", "revoke", made["id"], "--json", *there).document == {
        "revoked": made["id"]
    }
    assert run_sigil("run", "one", *with_key).code == 4
    assert run_sigil("keys", "revoke", made["id"], *there).code == 3


def test_a_key_is_printed_once_and_alone(run_sigil: Sigil) -> None:
    result = run_sigil("keys", "create", "--scope", "run:alice/*", "--scope", "run:library/*")
    assert result.out.startswith("sgl_")
    assert len(result.out.strip()) == 42
    assert "namespace alice: run:alice/* run:library/*; never ends" in result.err
    assert run_sigil("keys", "create", "--scope", "fly:*").code == 2
    assert run_sigil("keys", "create", "--kind", "admin").code == 2
    assert run_sigil("keys", "create", "--expires", "soon").code == 2


@each_row(
    ("span", "seconds"),
    [
        ("", None),
        ("30s", 30),
        ("12h", 43_200),
        ("30d", 2_592_000),
        ("6w", 3_628_800),
        ("1y", 31_536_000),
    ],
)
def test_a_span_of_time_is_a_number_and_a_letter(span: str, seconds: float | None) -> None:
    assert parse_duration(span) == seconds


@each_row("span", ["30", "d", "0d", "-1d", "1.5h", "1d1h", "٣d", "1D", "9999999d", "1d\n"])
def test_other_spans_are_refused(span: str) -> None:
    with pytest.raises(UsageError):
        parse_duration(span)
