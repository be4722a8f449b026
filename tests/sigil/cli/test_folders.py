"""`sigil init`, `check` and `test`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sigil.cli.conftest import Sigil


@pytest.mark.parametrize(("lang", "output"), [("js", "Hello, Ada!\n"), ("wat", '{"text":"Ada"}\n')])
def test_what_init_writes_works_from_the_first_command_to_the_last(run_sigil: Sigil, place: Path, lang: str, output: str) -> None:
    assert run_sigil("init", "greet", "--lang", lang).code == 0
    assert {path.name for path in (place / "greet").iterdir()} == {"sigil.toml", f"main.{lang}", "README.md"}
    assert run_sigil("check", "greet").code == 0
    tested = run_sigil("test", "greet")
    assert (tested.code, tested.out) == (0, 'ok   1: {"text":"Ada"}\nok   2: {}\n')
    assert run_sigil("deploy", "greet").code == 0
    assert run_sigil("run", "greet", "--arg", "text=Ada").out == output


def test_the_folder_is_the_current_one_unless_given(run_sigil: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_sigil("init", "greet")
    monkeypatch.chdir(place / "greet")
    for command in ("check", "test", "deploy"):
        assert run_sigil(command).code == 0


def test_init_never_writes_over_what_is_there(run_sigil: Sigil, place: Path) -> None:
    (place / "greet").mkdir()
    (place / "greet" / "precious").touch()
    ended = run_sigil("init", "greet", "--json")
    assert (ended.code, ended.error["code"], ended.out) == (6, "EEXIST", "")
    assert [path.name for path in (place / "greet").iterdir()] == ["precious"]


@pytest.mark.parametrize("name", ["Greet", "a_b", "../up", "a\n", "", "a@1"])
def test_init_refuses_what_is_no_name(run_sigil: Sigil, place: Path, name: str) -> None:
    ended = run_sigil("init", name, "--json")
    assert (ended.code, ended.error["code"]) == (2, "ENAME")
    assert list(place.iterdir()) == []


def test_init_may_write_elsewhere(run_sigil: Sigil, place: Path) -> None:
    assert run_sigil("init", "greet", "--folder", "a/b", "--json").document == {
        "folder": "a/b",
        "files": ["sigil.toml", "main.js", "README.md"],
    }
    assert run_sigil("test", "a/b").code == 0


def test_a_failed_test_is_told_and_ends_with_8(run_sigil: Sigil, place: Path) -> None:
    run_sigil("init", "greet")
    (place / "greet" / "main.js").write_text("return input.text;")
    ended = run_sigil("test", "greet")
    assert ended.code == 8
    assert ended.out == 'FAIL 1: {"text":"Ada"} gave "Ada", expected "Hello, Ada!"\nok   2: {}\n'
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
    ended = run_sigil("test", "greet")
    assert (ended.code, ended.out, ended.err) == (0, "", "there are no tests\n")
    (place / "greet" / "main.js").write_text("return (")
    assert run_sigil("test", "greet", "--json").error["code"] == "EMODULE"
    assert run_sigil("test", "greet").code == 5


@pytest.mark.parametrize(
    ("more", "said", "meant"),
    [
        ("[[tests]]\ninput = {}", ":4: tests: not a section of a manifest", "did you mean [[test]]?"),
        ("[limit]", ":4: limit: not a section of a manifest", "did you mean [limits]?"),
        ('tags = "one"\ndescription = "x"', ":4: tags: has to be a list", ""),
        ('public = 1\ndescription = "x"', ":4: public: has to be true or false", ""),
        ("description = 1", ":4: description: has to be a string", ""),
        ('descriptoin = "x"', ":4: descriptoin: no such field", "did you mean description?"),
        ('ttl = 1.5\ndescription = "x"', ":4: ttl: has to be a whole number", ""),
        ('ttl = 0\ndescription = "x"', ":4: ttl: has to be greater than or equal to 1", ""),
        ("[permissions]\nclok = true", ":5: permissions.clok: no such field", "did you mean clock?"),
        ('description = "x"\n[input]\ntype = "object"\n[limits]\ntimeout_ms = "5"', ":8: limits.timeout_ms: has to be a whole number", ""),
        ('description = "x"\n[[permissions]]\nlog = true', ":5: permissions: has to be a section", ""),
        ("", ":1: description: is missing", ""),
        ("description = 'x'\n[[test]]\ninput = 1\noutput = 1", ":5: test[1].input: has to be a section", ""),
        ("description = 'x'\n[[test]]\ninput = {}\noutput = 1\n\n[[test]]\noutput = 1", ":9: test[2].input: is missing", ""),
        ("description = 'x'\n[[test]]\nintput = {}\noutput = 1", ":5: test[1].intput: no such field", "did you mean input?"),
    ],
)
def test_a_manifest_that_is_wrong_is_told_in_words(run_sigil: Sigil, place: Path, more: str, said: str, meant: str) -> None:
    (place / "sigil.toml").write_text(f'# greets\n[capability]\nname = "greet"\n{more}\n')
    (place / "main.js").write_text("return 1;")
    ended = run_sigil("check")
    assert ended.code == 2
    assert said in ended.err
    assert (meant or "docs/manifest.md") in ended.err


def test_check_names_what_is_wrong(run_sigil: Sigil, place: Path) -> None:
    assert run_sigil("check", "nowhere").code == 3
    run_sigil("init", "greet")
    (place / "greet" / "main.js").write_text("return (")
    broken = run_sigil("check", "greet", "--json")
    assert (broken.code, broken.error["code"], broken.error["source"]) == (5, "EMODULE", "greet")
    manifest = place / "greet" / "sigil.toml"
    manifest.write_text(manifest.read_text().replace('tags = ["example"]', "tags = 1"))
    wrong = run_sigil("check", "greet")
    assert wrong.code == 2
    assert wrong.err.startswith("error: greet/sigil.toml:4: tags: ")
    manifest.write_bytes(b"\xff")
    assert run_sigil("check", "greet").code == 2


def test_a_source_outside_its_folder_is_refused(run_sigil: Sigil, place: Path) -> None:
    run_sigil("init", "greet")
    manifest = place / "greet" / "sigil.toml"
    manifest.write_text(manifest.read_text().replace('"main.js"', '"../secret.js"'))
    (place / "secret.js").write_text("return 1;")
    assert run_sigil("deploy", "greet").code == 2
