"""The exit code of every failure, as docs/sigil.md publishes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sigil.cli.exit_codes import describe_bug, exit_code
from sigil.errors import BackendError, Conflict, Halt, Refused, SigilError, ToolError, UsageError
from tests.sigil.cli.conftest import Sigil


def test_every_failure_has_its_exit_code() -> None:
    problems = {
        1: [ToolError("ENOENT", ""), SigilError("EBUG", "")],
        2: [UsageError("EINVAL", "")],
        3: [UsageError("ENOENT", "")],
        4: [Refused("EAUTH", "")],
        5: [Refused("EPERM", ""), Refused("EMODULE", ""), Halt("EBUDGET", "")],
        6: [Conflict(), Refused("EEXIST", "")],
        7: [BackendError("EUNAVAILABLE", "")],
        8: [Refused("ETESTS", "")],
    }
    assert {
        number: [exit_code(problem) for problem in some] for number, some in problems.items()
    } == {number: [number] * len(some) for number, some in problems.items()}


CODES: tuple[tuple[int, tuple[str, ...]], ...] = (
    *(
        (0, words)
        for words in (
            ("list",),
            ("run", "shout", "-a", "text=a"),
            ("query", "nothing like it"),
            ("version",),
            ("help", "run"),
        )
    ),
    *(
        (0, words)
        for words in (
            ("audit", "--verify"),
            ("grants",),
            ("keys", "list"),
            ("secret", "list"),
            ("import", "shout.sigil"),
        )
    ),
    *((1, words) for words in (("run", "broken"), ("check", "fails", "--strict"))),
    *(
        (2, words)
        for words in (
            ("frob",),
            ("run", "shout"),
            ("run", "shout", "nonsense"),
            ("run", "A B"),
            ("list", "--url", "ftp://x"),
        )
    ),
    *(
        (2, words)
        for words in (
            ("remove", "shout"),
            ("grant", "asks"),
            ("keys", "create", "--expires", "soon"),
            ("list", "--timeout", "soon"),
        )
    ),
    *(
        (3, words)
        for words in (
            ("run", "nothing"),
            ("inspect", "shout@9"),
            ("deploy", "nowhere"),
            ("import", "nowhere"),
            ("versions", "nope"),
        )
    ),
    *((3, words) for words in (("list", "--profile", "nobody"), ("logs", "nothing"))),
    *((5, words) for words in (("check", "unfit"), ("deploy", "unfit"))),
    *((6, words) for words in (("init", "fails"),)),
    *((7, words) for words in (("list", "--url", "http://127.0.0.1:9", "--token", "t"),)),
    *(
        (8, words)
        for words in (("test", "fails"), ("deploy", "fails"), ("deploy", "fails", "--dry-run"))
    ),
)


def test_every_failure_ends_with_its_published_code_and_a_next_step(stocked: Sigil) -> None:
    for code, words in CODES:
        result = stocked(*words, "--json")
        assert result.code == code, (words, result)
        assert "Traceback" not in result.err
        if code > 1 and words[0] != "test":
            assert set(result.error) == {"source", "code", "message", "suggestion"}
            assert result.error["suggestion"], words
        if result.out:
            json.loads(result.out)


def test_a_wrong_token_ends_with_4_and_what_the_library_owns_with_5(
    run_sigil: Sigil, remote_url: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run_sigil("list", "--url", remote_url, "--token", "wrong")
    assert (result.code, "sigil login" in result.err) == (4, True)
    run_sigil("init", "greet", "--folder", "library/greet")
    monkeypatch.setenv("UNCAGED_LIBRARY", str(place / "library"))
    assert run_sigil("remove", "greet", "--yes").code == 5


def test_a_module_that_is_not_there_asks_for_an_installation_and_no_report() -> None:
    told = describe_bug(ModuleNotFoundError("No module named 'Stemmer'", name="Stemmer"), "sigil")
    assert told.code == "EINSTALL"
    assert "Stemmer is not installed" in told.message
    assert "scripts/install" in told.suggestion
    assert describe_bug(KeyError("x"), "sigil").code == "EBUG"
