"""`sigil test`: a folder's golden tests, and the capabilities that they call."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sigil.cli.conftest import Sigil


def test_a_failed_test_is_told_and_ends_with_8(run_sigil: Sigil, place: Path) -> None:
    run_sigil("init", "greet")
    (place / "greet" / "main.js").write_text("return input.text;")
    result = run_sigil("test", "greet")
    assert result.code == 8
    assert result.out == 'FAIL 1: {"text":"Ada"} gave "Ada", expected "Hello, Ada!"\nok   2: {}\n'
    document = run_sigil("test", "greet", "--json").document
    assert (document["passed"], document["failed"]) == (1, 1)
    assert [row["ok"] for row in document["tests"]] == [False, True]
    refused = run_sigil("deploy", "greet")
    assert refused.code == 8
    assert "1 of 2 tests failed: test 1:" in refused.err


def test_without_tests_the_program_still_has_to_load(run_sigil: Sigil, place: Path) -> None:
    run_sigil("init", "greet")
    manifest = place / "greet" / "sigil.toml"
    manifest.write_text(manifest.read_text().partition("[[test]]")[0])
    result = run_sigil("test", "greet")
    assert (result.code, result.out, result.err) == (0, "", "there are no tests\n")
    (place / "greet" / "main.js").write_text("return (")
    assert run_sigil("test", "greet", "--json").error["code"] == "EMODULE"
    assert run_sigil("test", "greet").code == 5


@pytest.fixture
def both(run_sigil: Sigil, place: Path) -> Path:
    """A folder `both` whose capability calls `count`, and the folder `count` beside it."""
    for name, code, output in (
        ("count", "return input.text.length;", 3),
        ("both", 'return 2 * await env.call("count", input);', 6),
    ):
        run_sigil("init", name)
        manifest = place / name / "sigil.toml"
        manifest.write_text(manifest.read_text().replace('"Hello, Ada!"', str(output)))
        (place / name / "main.js").write_text(code)
    with (place / "both" / "sigil.toml").open("a") as file:
        file.write('\n[permissions]\ncall = ["count"]\n')
    return place / "both"


def test_the_tests_of_what_calls_others_find_what_is_deployed(run_sigil: Sigil, both: Path) -> None:
    assert run_sigil("deploy", "count").code == 0
    (both.parent / "count").rename(both.parent / "elsewhere")
    assert run_sigil("test", "both").out == 'ok   1: {"text":"Ada"}\nok   2: {}\n'
    assert run_sigil("deploy", "both").code == 0
    assert run_sigil("test", "both").code == 0


def test_what_is_not_deployed_yet_is_taken_from_the_folder_beside_it(
    run_sigil: Sigil, both: Path
) -> None:
    assert run_sigil("test", "both").code == 0
    assert run_sigil("test", "both", "--url", "http://127.0.0.1:9").code == 0  # and nobody is asked
    run_sigil("deploy", "count")
    (both.parent / "count" / "main.js").write_text("return 50;")
    assert run_sigil("test", "both").code == 0  # as a deploy would find it
    assert "gave 100, expected 6" in run_sigil("test", "both", "--url", "http://127.0.0.1:9").out


def test_the_librarys_own_are_found_in_a_test_too(
    run_sigil: Sigil, both: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (both.parent / "library").mkdir()
    (both.parent / "count").rename(both.parent / "library" / "count")
    assert "there is no count to call" in run_sigil("test", "both").out
    monkeypatch.setenv("UNCAGED_LIBRARY", str(both.parent / "library"))
    assert run_sigil("test", "both").code == 0


def test_a_test_refuses_a_circle_and_what_is_required_and_missing_as_a_deploy_does(
    run_sigil: Sigil, both: Path
) -> None:
    with (both.parent / "count" / "sigil.toml").open("a") as file:
        file.write('\n[permissions]\ncall = ["both"]\n')
    assert (
        run_sigil("test", "both", "--json").error["message"]
        == "Circular dependency detected: both -> count -> both"
    )
    manifest = both / "sigil.toml"
    manifest.write_text(
        manifest.read_text().replace('tags = ["example"]', 'requires = ["nothing"]')
    )
    assert run_sigil("test", "both", "--json").error["code"] == "EREQUIRES"


def test_one_test_is_one(run_sigil: Sigil, place: Path) -> None:
    run_sigil("init", "greet")
    manifest = place / "greet" / "sigil.toml"
    manifest.write_text(manifest.read_text().rpartition("[[test]]")[0])
    assert run_sigil("check", "greet").err.endswith(", 1 test\n")
    manifest.write_text(manifest.read_text().replace("Hello", "Goodbye"))
    assert "1 of 1 test failed" in run_sigil("deploy", "greet").err


def test_a_test_may_ask_this_machine_where_capabilities_may(
    run_sigil: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_sigil("init", "ask")
    (place / "ask" / "main.js").write_text(
        'return (await fetch("http://127.0.0.1:18777/v1/x")).text();'
    )
    (place / "ask" / "sigil.toml").write_text(
        '[capability]\nname = "ask"\ndescription = "Ask."\n[permissions]\nhttp = ["GET'
        ' 127.0.0.1:18777/v1/"]\n[[test]]\ninput = {}\noutput = "here"\nhttp = [{ url ='
        ' "http://127.0.0.1:18777/v1/x", body = "here" }]\n'
    )
    assert "only https is allowed" in run_sigil("test", "ask").out
    monkeypatch.setenv("SIGIL_LOOPBACK", "1")
    assert run_sigil("test", "ask").code == 0
    assert run_sigil("deploy", "ask").code == 0
