"""`sigil run`: arguments, output, logs and failures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sigil.cli.conftest import Sigil


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
    result = shout("run", *words)
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith("error: ")
    assert "Traceback" not in result.err
    assert len(result.err.splitlines()) <= 2


def test_with_json_an_error_is_one_line_of_json_on_stderr(shout: Sigil) -> None:
    result = shout("--json", "run", "nothing")
    assert result.error == {
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
    result = run_sigil("run", "one", "-", stdin=input.encode())
    assert (result.code, said in result.err) == (1, True)


def test_the_log_of_a_run_that_failed_is_told(run_sigil: Sigil, place: Path) -> None:
    run_sigil("init", "talks")
    (place / "talks" / "main.js").write_text("console.log('so far'); throw new Error('a mistake');")
    manifest = (place / "talks" / "sigil.toml").read_text().partition("[[test]]")[0]
    if "[permissions]" not in manifest:
        manifest += "\n[permissions]\nlog = true\n"
    (place / "talks" / "sigil.toml").write_text(manifest)
    assert run_sigil("deploy", "talks").code == 0

    result = run_sigil("run", "talks", '{"text": "Ada"}')

    assert result.code == 1
    said = result.err.splitlines()
    assert said[0].startswith("log: ")
    assert "so far" in said[0]
    assert said[1].startswith("error: talks: ")


def test_an_argument_may_be_written_as_an_option(run_sigil: Sigil) -> None:
    properties = {name: {"type": kind} for name, kind in (("text", "string"), ("n", "integer"))}
    schema = {"type": "object", "properties": {**properties, "loud": {"type": "boolean"}}}
    code = ("--schema", json.dumps({**schema, "required": ["text"]}), "--execute", "return input;")
    assert run_sigil("deploy", "--name", "give", *code).code == 0
    lines = [
        (("--text", "a b"), {"text": "a b"}),
        (("--text=hi", "--n", "-5"), {"text": "hi", "n": -5}),
        (("--loud", "--text", "hi", "-a", "n=1"), {"text": "hi", "loud": True, "n": 1}),
        (("--text", "hi", "--loud"), {"text": "hi", "loud": True}),
        (("--text", "hi", '{"n": 2}'), {"text": "hi", "n": 2}),
    ]
    for words, expected in lines:
        result = run_sigil("run", "give", *words)
        assert (result.code, result.document) == (0, expected)
    assert "--text is read as -a text=hi\n" in result.err

    for words in (("--txt", "hi"), ("-a", "txt=hi")):
        wrong = run_sigil("run", "give", *words)
        assert (
            wrong.code,
            "help: did you mean text by txt? `sigil run give --help` shows it" in wrong.err,
        ) == (
            2,
            True,
        )
    for words in (("--ouput", "x"), ("--quite",), ("--=x",)):
        assert run_sigil("run", "give", *words).code == 2
