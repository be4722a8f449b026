"""`sigil init`, `check` and `test`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sigil.cli.conftest import Sigil


@pytest.mark.parametrize(("lang", "output"), [("js", "Hello, Ada!\n"), ("wat", '{"text":"Ada"}\n')])
def test_what_init_writes_works_from_the_first_command_to_the_last(
    run_sigil: Sigil, place: Path, lang: str, output: str
) -> None:
    assert run_sigil("init", "greet", "--lang", lang).code == 0
    assert {path.name for path in (place / "greet").iterdir()} >= {
        "sigil.toml",
        f"main.{lang}",
        "README.md",
    }
    assert run_sigil("check", "greet").code == 0
    tested = run_sigil("test", "greet")
    assert (tested.code, tested.out) == (0, 'ok   1: {"text":"Ada"}\nok   2: {}\n')
    assert run_sigil("deploy", "greet").code == 0
    assert run_sigil("run", "greet", "--arg", "text=Ada").out == output


def test_the_folder_is_the_current_one_unless_given(
    run_sigil: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_sigil("init", "greet")
    monkeypatch.chdir(place / "greet")
    for command in ("check", "test", "deploy"):
        assert run_sigil(command).code == 0


def test_init_never_writes_over_what_is_there(run_sigil: Sigil, place: Path) -> None:
    (place / "greet").mkdir()
    (place / "greet" / "precious").touch()
    result = run_sigil("init", "greet", "--json")
    assert (result.code, result.error["code"], result.out) == (6, "EEXIST", "")
    assert [path.name for path in (place / "greet").iterdir()] == ["precious"]


@pytest.mark.parametrize("name", ["Greet", "a_b", "../up", "a\n", "", "a@1"])
def test_init_refuses_what_is_no_name(run_sigil: Sigil, place: Path, name: str) -> None:
    result = run_sigil("init", name, "--json")
    assert (result.code, result.error["code"]) == (2, "ENAME")
    assert list(place.iterdir()) == []


def test_init_may_write_elsewhere(run_sigil: Sigil, place: Path) -> None:
    assert run_sigil("init", "greet", "--folder", "a/b", "--json").document == {
        "folder": "a/b",
        "files": [
            "sigil.toml",
            "main.js",
            "README.md",
            "sigil.d.ts",
            "input.d.ts",
            "jsconfig.json",
        ],
    }
    assert run_sigil("test", "a/b").code == 0
    assert run_sigil("new", "greet").out == "greet\n"  # the same under another name


@pytest.mark.parametrize(
    ("more", "said", "meant"),
    [
        (
            "[[tests]]\ninput = {}",
            ":4: tests: not a section of a manifest",
            "did you mean [[test]]?",
        ),
        ("[limit]", ":4: limit: not a section of a manifest", "did you mean [limits]?"),
        ('tags = "one"\ndescription = "x"', ":4: tags: has to be a list", ""),
        ('public = 1\ndescription = "x"', ":4: public: has to be true or false", ""),
        ("description = 1", ":4: description: has to be a string", ""),
        ('descriptoin = "x"', ":4: descriptoin: no such field", "did you mean description?"),
        ('ttl = 1.5\ndescription = "x"', ":4: ttl: has to be a whole number", ""),
        ('ttl = 0\ndescription = "x"', ":4: ttl: has to be greater than or equal to 1", ""),
        (
            "[permissions]\nclok = true",
            ":5: permissions.clok: no such field",
            "did you mean clock?",
        ),
        (
            'description = "x"\n[input]\ntype = "object"\n[limits]\ntimeout_ms = "5"',
            ":8: limits.timeout_ms: has to be a whole number",
            "",
        ),
        (
            'description = "x"\n[[permissions]]\nlog = true',
            ":5: permissions: has to be a section",
            "",
        ),
        ("", ":1: description: is missing", ""),
        (
            "description = 'x'\n[[test]]\ninput = 1\noutput = 1",
            ":5: test[1].input: has to be a section",
            "",
        ),
        (
            "description = 'x'\n[[test]]\ninput = {}\noutput = 1\n\n[[test]]\noutput = 1",
            ":9: test[2].input: is missing",
            "",
        ),
        (
            "description = 'x'\n[[test]]\nintput = {}\noutput = 1",
            ":5: test[1].intput: no such field",
            "did you mean input?",
        ),
    ],
)
def test_a_manifest_that_is_wrong_is_told_in_words(
    run_sigil: Sigil, place: Path, more: str, said: str, meant: str
) -> None:
    (place / "sigil.toml").write_text(f'# greets\n[capability]\nname = "greet"\n{more}\n')
    (place / "main.js").write_text("return 1;")
    result = run_sigil("check")
    assert result.code == 2
    assert said in result.err
    assert (meant or "docs/manifest.md") in result.err


def test_a_source_outside_its_folder_is_refused(run_sigil: Sigil, place: Path) -> None:
    run_sigil("init", "greet")
    manifest = place / "greet" / "sigil.toml"
    manifest.write_text(manifest.read_text().replace('"main.js"', '"../secret.js"'))
    (place / "secret.js").write_text("return 1;")
    assert run_sigil("deploy", "greet").code == 2


def test_javascript_that_is_nested_too_deep_to_be_read_is_refused(
    run_sigil: Sigil, place: Path
) -> None:
    deep = f"return {'[' * 400}{']' * 400}"
    refused = run_sigil("deploy", "--name", "deep", "--execute", deep)
    assert (refused.code, run_sigil("list", "--json").document) == (5, {"items": []})
    assert "deep: it is nested too deep to be read (EMODULE)" in refused.err
    run_sigil("init", "greet")
    (place / "greet" / "main.js").write_text(deep)
    for command in ("check", "test", "deploy"):
        assert run_sigil(command, "greet", "--json").error["code"] == "EMODULE"


def test_a_capability_that_fails_at_an_empty_input_is_still_deployed(run_sigil: Sigil) -> None:
    for number, code in enumerate(
        (
            "const f = () => f() + 1; return f()",
            "const a = []; for (;;) a.push(new Uint8Array(1 << 20))",
        )
    ):
        assert run_sigil("deploy", "--name", f"n{number}", "--execute", code).code == 0


@pytest.mark.parametrize("command", ["check", "test", "deploy"])
def test_a_source_that_cannot_be_read_is_told_with_file_line_and_text(
    run_sigil: Sigil, place: Path, command: str
) -> None:
    run_sigil("init", "greet")
    (place / "greet" / "main.js").write_text("const a = 1;\nreturn a + ];\n")
    message = run_sigil(command, "greet", "--json").error["message"]
    assert message == "greet/main.js:2:12: unexpected token in expression: ']': `return a + ];`"


@pytest.mark.parametrize(
    ("permissions", "field"),
    [
        ('http = ["example.com"]', "http"),
        ('log = true\nsecrets = ["key@example.com"]', "secrets"),
        ('call = ["A B"]', "call"),
    ],
)
def test_a_permission_that_is_none_is_told_with_its_line(
    run_sigil: Sigil, place: Path, permissions: str, field: str
) -> None:
    run_sigil("init", "greet")
    manifest = place / "greet" / "sigil.toml"
    begun = manifest.read_text().replace("error = ", "http = []\nerror = ")
    manifest.write_text(f"{begun}\n[permissions]\n{permissions}\n")
    line = len(f"{begun}\n[permissions]\n{permissions}".splitlines())
    for command in ("check", "test", "deploy"):
        assert (
            f"greet/sigil.toml:{line}: permissions.{field}: not a permission: "
            in run_sigil(command, "greet").err
        )


def test_a_source_outside_is_told_with_its_line(run_sigil: Sigil, place: Path) -> None:
    run_sigil("init", "greet")
    manifest = place / "greet" / "sigil.toml"
    manifest.write_text(manifest.read_text().replace('"main.js"', '"../x.js"'))
    assert (
        run_sigil("check", "greet", "--json").error["message"]
        == "greet/sigil.toml:9: build.source: it leaves the folder"
    )


def test_a_section_is_not_offered_as_a_field(run_sigil: Sigil, place: Path) -> None:
    (place / "sigil.toml").write_text(
        '[capability]\nname = "greet"\ndescription = "x"\nversion = 2\n'
    )
    assert "permissions" not in run_sigil("check").err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('[[test]]\ninput = {}\nerror = "nope"', "test[1]: error is a code"),
        ("ttl = 5", ":4: ttl: it does nothing here"),
        ('lifetime = "persistent"\nttl = 5', ":5: ttl: it does nothing here"),
    ],
)
def test_what_could_never_do_anything_is_refused(
    run_sigil: Sigil, place: Path, more: str, said: str
) -> None:
    (place / "sigil.toml").write_text(f'[capability]\nname = "greet"\ndescription = "x"\n{more}\n')
    (place / "main.js").write_text("return 1;")
    assert said in run_sigil("check").err


def test_the_mark_with_which_editors_begin_a_file_is_no_part_of_it(
    run_sigil: Sigil, place: Path
) -> None:
    run_sigil("init", "greet")
    for name in ("sigil.toml", "main.js"):
        (place / "greet" / name).write_bytes(
            b"\xef\xbb\xbf" + (place / "greet" / name).read_bytes()
        )
    assert run_sigil("test", "greet").code == 0
    assert run_sigil("deploy", "greet").code == 0


def test_c_that_is_not_utf_8_is_told_as_that(run_sigil: Sigil, place: Path) -> None:
    run_sigil("init", "greet", "--lang", "c")
    (place / "greet" / "main.c").write_bytes(
        b'#include "sigil.h"\n// caf\xe9\nint answer(void) { return 0; }\n'
    )
    assert (
        run_sigil("check", "greet", "--json").error["message"]
        == "greet/main.c:2: the source is not UTF-8"
    )


def test_half_a_folder_is_never_left(run_sigil: Sigil, place: Path) -> None:
    (place / "closed").write_text("no folder")
    assert (
        run_sigil("init", "greet", "--folder", "closed/greet", "--json").error["code"] == "EWRITE"
    )
    assert [path.name for path in place.iterdir()] == ["closed"]


def test_the_first_wait_for_the_c_library_is_told_before(
    run_sigil: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNCAGED_CACHE", str(place / "cache"))
    run_sigil("init", "greet", "--lang", "c")
    (place / "greet" / "main.c").write_text(
        '#embed "/etc/passwd"\n'
    )  # refused before anything is compiled
    result = run_sigil("check", "greet")
    assert result.err.startswith(
        "the C library is compiled once, for this and all later sources: about ten seconds\nerror: "
    )
    assert "greet/main.c:1: no embed here" in result.err
    assert run_sigil("deploy", "greet").err == result.err
    assert run_sigil("check", "greet", "--quiet").err.startswith("error: ")
    monkeypatch.setattr(
        "sigil.compile.toolchain.c.find_spec", lambda name: None
    )  # an installed wheel, or Lambda: there is no compiler
    assert run_sigil("check", "greet").err.startswith("error: ")


def test_the_types_of_the_input_follow_the_schema(run_sigil: Sigil, place: Path) -> None:
    run_sigil("init", "greet")
    types = place / "greet" / "input.d.ts"
    assert "interface Input {\n  /** Whom to greet. */\n  text: string;\n}\n" in types.read_text()
    assert run_sigil("check", "greet", "--strict").code == 0
    manifest = place / "greet" / "sigil.toml"
    manifest.write_text(manifest.read_text().replace('type = "string"', 'type = "integer"'))
    assert (
        "input.d.ts: is older than the schema: `sigil types` writes"
        in run_sigil("check", "greet").out
    )
    written = run_sigil("types", "greet")
    assert (written.code, written.out) == (0, "greet/input.d.ts\n")
    assert "  text: number;\n" in types.read_text()
    assert run_sigil("types", "greet", "--json").document["changed"] == []
    types.write_text("interface Input {}\n")
    refused = run_sigil("types", "greet")
    assert (refused.code, types.read_text()) == (6, "interface Input {}\n")


@pytest.mark.parametrize(
    ("lang", "helper"), [("c", "sigil.h"), ("rust", "sigil.rs"), ("assemblyscript", "sigil.ts")]
)
def test_a_starter_has_the_header_of_its_language(
    run_sigil: Sigil, place: Path, lang: str, helper: str
) -> None:
    run_sigil("init", "fast", "--lang", lang)
    path = place / "fast" / helper
    before = path.read_bytes()
    path.write_text("of an older version\n")
    assert run_sigil("types", "fast").out == f"fast/{helper}\n"
    assert path.read_bytes() == before
