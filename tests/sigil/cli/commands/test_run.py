"""`sigil query` and `run`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sigil.cli.conftest import Sigil


def test_a_query_shows_what_is_relevant_and_nothing_else(shout: Sigil) -> None:
    head, row = shout("query", "shout a text").out.splitlines()
    assert head.split() == ["capability", "version", "kind", "score", "description"]
    assert row.startswith("shout ")
    nothing = shout("query", "quantum chromodynamics")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "nothing found\n")
    assert shout("query", "quantum chromodynamics", "--json").document == {"items": [], "total": 0}
    item = shout("query", "shout", "--json").document["items"][0]
    assert (item["capability"], item["tool"]) == ("shout", "cap_shout")
    assert {"schema", "tags", "examples", "score"} <= item.keys()


def test_who_looks_around_sees_what_there_is(shout: Sigil) -> None:
    for words in (("query",), ("query", "--explore"), ("query", "shout", "--explore")):
        head, *rows = shout(*words).out.splitlines()
        assert head.split() == ["capability", "score", "description"]
        assert any(row.startswith("shout ") for row in rows)
    item = next(
        row
        for row in shout("query", "--explore", "--json").document["items"]
        if row["capability"] == "shout"
    )
    assert item.keys() == {"capability", "tool", "description", "score"}
    assert len(shout("query", "--explore", "-n", "1", "--json").document["items"]) == 1
    assert shout("query", "quantum chromodynamics", "--explore").err == "nothing found\n"


def test_arguments_come_as_json_from_a_file_from_stdin_or_one_by_one(
    shout: Sigil, place: Path
) -> None:
    (place / "input.json").write_text('{"text": "file"}')
    assert shout("run", "shout", '{"text": "json"}').out == "JSON\n"
    assert shout("run", "shout", "@input.json").out == "FILE\n"
    assert shout("run", "shout", "-", stdin=b'{"text": "stdin"}').out == "STDIN\n"
    assert shout("run", "shout", "--arg", "text=a=b", "-a", "times=2").out == "A=BA=B\n"
    assert shout("run", "shout", '{"text": "a", "times": 3}', "--arg", "times=1").out == "A\n"


def test_help_on_a_run_tells_what_the_capability_takes(shout: Sigil) -> None:
    told = shout("run", "shout", "--help").out
    assert told.startswith("Usage: sigil run ")
    assert [line.split() for line in told.splitlines()[-2:]] == [
        ["text=", "string", "required"],
        ["times=", "integer", "default", "1"],
    ]
    assert shout("run", "--json", "shout", "-h").document["input"]["required"] == ["text"]
    assert "Input of" not in shout("run", "--help").out
    missing = shout("run", "nothing", "--help")
    assert (missing.code, missing.out.startswith("Usage: sigil run ")) == (3, True)


@pytest.mark.parametrize(
    ("words", "help"),
    [
        (("run", "shout"), "`sigil run shout --help` shows it"),
        (("run", "shout", "@nofile"), "a path, relative to the current folder"),
        (("deploy", "--execute", "@nofile"), "a path, relative to the current folder"),
        (("import", "nofile"), "check the name"),
        (("run", "shout", "--arg", "text=\udcff"), "write it in UTF-8"),
    ],
)
def test_input_that_is_not_there_is_told_with_where_it_is_to_be(
    shout: Sigil, words: tuple[str, ...], help: str
) -> None:
    assert help in shout(*words).err.splitlines()[-1]


def test_a_repeated_argument_is_a_list(run_sigil: Sigil) -> None:
    run_sigil("deploy", "--name", "give", "--execute", "return input;")
    assert run_sigil("run", "give", "-a", "tag=x", "-a", "tag=y").out == '{"tag":["x","y"]}\n'


def test_a_string_is_printed_as_it_is_and_as_json_with_json(shout: Sigil) -> None:
    assert shout("run", "shout", '{"text": "ö\\n\\u001b[2J"}').out == "Ö\n\x1b[2J\n"
    assert shout("run", "shout", '{"text": "ö"}', "--json").out == '"Ö"\n'


def test_logs_go_to_stderr(run_sigil: Sigil, place: Path) -> None:
    run_sigil("init", "talk")
    manifest = place / "talk" / "sigil.toml"
    manifest.write_text(
        manifest.read_text().replace("[[test]]", "[permissions]\nlog = true\n[[test]]", 1)
    )
    (place / "talk" / "main.js").write_text("console.log('psst'); return `Hello, ${input.text}!`;")
    assert run_sigil("deploy", "talk").code == 0
    spoken = run_sigil("run", "talk", "-a", "text=Ada")
    assert (spoken.out, spoken.err) == ("Hello, Ada!\n", "log: psst\n")
    assert run_sigil("run", "talk", "-a", "text=Ada", "--quiet").err == ""


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("nothing",), 3),
        (("No Name",), 2),
        (("shout",), 2),
        (("shout", "{"), 2),
        (("shout", "[]"), 2),
        (("shout", '{"text": "\\ud800"}'), 2),
        (("shout", '{"text": "\udcff"}'), 2),
        (("shout", '{"text": 1e999}'), 2),
        (("shout", '{"text": ' + "[" * 5_000 + "}"), 2),
        (("shout", "-"), 2),
        (("shout", "@nowhere"), 3),
        (("shout", "@\0"), 3),
        (("shout", "--arg", "text"), 2),
        (("shout", "--arg", "=x"), 2),
        (("shout", "-a", "text=a", "-a", "times=many"), 2),
        (("shout", "-a", "text=a", "-a", "times=-1"), 1),
    ],
)
def test_bad_input_ends_in_two_lines_and_a_code(
    shout: Sigil, words: tuple[str, ...], code: int
) -> None:
    ended = shout("run", *words)
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith("error: ")
    assert "Traceback" not in ended.err
    assert len(ended.err.splitlines()) <= 2


def test_a_version_that_is_not_there_is_not_a_capability_that_is_not_there(shout: Sigil) -> None:
    for command in ("inspect", "run"):
        error = shout(command, "shout@99", "--json").error
        assert (error["code"], error["message"]) == ("ENOENT", "there is no version 99 of shout")
    assert shout("inspect", "shout@1").code == 0


def test_with_json_an_error_is_one_line_of_json_on_stderr(shout: Sigil) -> None:
    ended = shout("--json", "run", "nothing")
    assert ended.error == {
        "source": "nothing",
        "code": "ENOENT",
        "message": "no such capability",
        "suggestion": "`sigil list` and `sigil query` show what there is",
    }


@pytest.mark.parametrize(
    ("code", "input", "said"),
    [
        ("return await fetch('https://example.com/')", "{}", "http.fetch is not declared"),
        (
            "return 1",
            '{"text": "%s"}' % ("x" * (1 << 20)),
            "the input is larger than 1048576 bytes (ELIMIT)",
        ),
        (
            "return 'x'.repeat((256 << 10) - 1)",
            "{}",
            "the output is larger than 262144 bytes (ELIMIT)",
        ),
        (
            "const f = () => f() + 1; return f()",
            "{}",
            "RangeError: Maximum call stack size exceeded (line 1) (ETHROWN)",
        ),
    ],
)
def test_what_goes_wrong_in_a_run_ends_with_1_whatever_its_code(
    run_sigil: Sigil, code: str, input: str, said: str
) -> None:
    assert run_sigil("deploy", "--name", "one", "--execute", code).code == 0
    ended = run_sigil("run", "one", "-", stdin=input.encode())
    assert (ended.code, said in ended.err) == (1, True)
