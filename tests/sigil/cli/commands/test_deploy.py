"""`sigil deploy`: one line with everything a manifest can say, a dry run, a folder, and a
folder of folders.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from sigil.cli import main
from sigil.manifest.package import flat_spec, parse_flat, read_folder
from tests.sigil.cli.conftest import SCHEMA, SHOUT, Sigil

INLINE = (
    "deploy",
    "--name",
    "loud",
    "--description",
    "Shout a text.",
    "--schema",
    SCHEMA,
    "--execute",
    SHOUT,
)


def test_one_line_says_all_that_a_manifest_can(run_sigil: Sigil) -> None:
    assert run_sigil("deploy", "--name", "base", "--execute", "return 1").code == 0
    result = run_sigil(
        *(
            *INLINE,
            "--permission",
            "kv",
            "--permission",
            "http:GET api.example.com/",
            "--permission",
            "secret:KEY@api.example.com",
        ),
        *(
            "--permission",
            "call:base",
            "--requires",
            "base",
            "--public",
            "--idempotent",
            "--tag",
            "t",
            "--alias",
            "yell",
            "--example",
            "shout a",
        ),
        *(
            "--test",
            '{"text": "a"}=A',
            "--test",
            '{"text": "ab", "times": 2} = "ABAB"',
            "--test",
            '{"input": {}, "error": "EINVAL"}',
        ),
        *("--output-schema", '{"type": "string"}', "--type", "ephemeral", "--ttl", "600", "--json"),
    )
    assert result.code == 0, result.err
    assert result.document["tests"] == {"passed": 3, "failed": 0}
    assert result.document["pending"] == ["http:GET api.example.com/", "secret:KEY@api.example.com"]
    detail = run_sigil("inspect", "loud", "--json").document
    assert detail["permissions"]["call"] == ["base"]
    assert (detail["permissions"]["kv"], detail["public"], detail["idempotent"]) == (
        True,
        True,
        True,
    )
    assert (detail["requires"], detail["lifetime"], len(detail["tests"])) == (
        ["base"],
        "ephemeral",
        3,
    )


@pytest.mark.parametrize(
    "permission", ["net", "kv:x", "http", "http:", "file:/etc/passwd", "secrets:K@h"]
)
def test_a_permission_that_is_none_is_refused(run_sigil: Sigil, permission: str) -> None:
    result = run_sigil(*INLINE, "--permission", permission, "--json")
    assert (result.code, result.error["code"]) == (2, "EUSAGE")
    assert "http:GET" in result.error["suggestion"]


@pytest.mark.parametrize(
    "test", ["", "x=1", "{}", '{"text": "a"}', '{"text": "a"} A', "[1]=2", "{" * 5000]
)
def test_a_test_that_is_none_is_refused(run_sigil: Sigil, test: str) -> None:
    assert run_sigil(*INLINE, "--test", test).code == 2


def test_a_test_that_fails_ends_with_8(run_sigil: Sigil) -> None:
    assert run_sigil(*INLINE, "--test", '{"text": "a"}=B').code == 8
    assert run_sigil(*INLINE, "--test", '{"text": "a"}=B', "--dry-run").code == 8
    assert run_sigil("list", "--json").document["items"] == []


def test_a_dry_run_says_what_would_change_and_changes_nothing(
    run_sigil: Sigil, place: Path
) -> None:
    run_sigil("init", "greet")
    new = run_sigil("deploy", "greet", "--dry-run")
    assert (new.code, new.err) == (0, "2 tests passed\nit would be new; nothing was deployed\n")
    assert run_sigil("list", "--json").document["items"] == []
    run_sigil("deploy", "greet")
    assert run_sigil("deploy", "greet", "--dry-run", "--json").document["same"] is True
    manifest = place / "greet" / "sigil.toml"
    manifest.write_text(
        manifest.read_text().replace('tags = ["example"]', 'tags = ["other"]')
        + '\n[permissions]\nhttp = ["GET a.example/"]\n'
    )
    changed = run_sigil("deploy", "greet", "--dry-run")
    assert "asks an owner for: http:GET a.example/" in changed.err
    assert "it would replace greet@1; nothing was deployed" in changed.err
    assert "other" in changed.out
    row = run_sigil("deploy", "greet", "--dry-run", "--json").document
    assert {"tags", "permissions"} <= {change["field"] for change in row["changes"]}
    assert run_sigil("versions", "greet", "--json").document["items"][0]["version"] == 1


def folder(place: Path, name: str, *, requires: str = "", code: str = "return 1") -> None:
    (place / "all" / name).mkdir(parents=True)
    needs = f'requires = ["{requires}"]\n' if requires else ""
    (place / "all" / name / "sigil.toml").write_text(
        f'[capability]\nname = "{name}"\ndescription = "One of them."\n{needs}'
    )
    (place / "all" / name / "main.js").write_text(code)


def test_a_folder_of_folders_is_deployed_what_others_call_first(
    run_sigil: Sigil, place: Path
) -> None:
    folder(place, "first", requires="second")
    folder(place, "second")
    dry = run_sigil("deploy", "all", "--dry-run", "--json")
    assert [row["capability"] for row in dry.document["items"]] == ["second", "first"]
    result = run_sigil("deploy", "all", "--json")
    assert [(row["capability"], row["created"]) for row in result.document["items"]] == [
        ("second", True),
        ("first", True),
    ]
    again = run_sigil("deploy", "all")
    assert again.out.splitlines()[0].startswith("second@1 ")


def test_a_folder_with_an_empty_source_is_refused(run_sigil: Sigil, place: Path) -> None:
    folder(place, "hollow", code=" \n")
    result = run_sigil("deploy", "all/hollow")
    assert result.code != 0
    assert "the code is empty" in result.err
    assert run_sigil("list", "--json").document["items"] == []


def test_a_callers_digest_covers_what_it_calls_and_inspect_shows_that(
    run_sigil: Sigil, place: Path
) -> None:
    folder(place, "first", requires="second")
    folder(place, "second")
    first, second = (
        row["digest"] for row in reversed(run_sigil("deploy", "all", "--json").document["items"])
    )
    assert run_sigil("deploy", "all/first", "--dry-run", "--json").document["same"] is True
    shown = run_sigil("inspect", "first").out
    assert f"second: main/second@1 {second}" in " ".join(shown.split())

    (place / "all" / "second" / "main.js").write_text("return 2")
    changed = run_sigil("deploy", "all", "--json").document["items"]
    assert changed[1]["created"] is True
    assert changed[1]["digest"] != first
    assert f'pins.second: "{second}" → "{changed[0]["digest"]}"' in run_sigil("diff", "first").out
    run_sigil("remove", "second", "--yes")
    shown = run_sigil("inspect", "first").out
    assert f"second: {changed[0]['digest']} is gone" in " ".join(shown.split())


def test_the_first_that_fails_ends_it_and_says_what_stands(run_sigil: Sigil, place: Path) -> None:
    folder(place, "a")
    folder(place, "b", code="return )")
    folder(place, "c")
    result = run_sigil("deploy", "all")
    assert result.code == 5
    assert result.out.startswith("a@1 ")
    assert "deployed 1 of 3; the rest was not tried" in result.err
    assert "b" in run_sigil("deploy", "all", "--json").error["source"]
    assert [row["capability"] for row in run_sigil("list", "--json").document["items"]] == ["a"]


def test_a_deploy_in_one_line_can_be_run(shout: Sigil) -> None:
    assert shout("run", "shout", '{"text": "a"}').out == "A\n"


def test_a_deploy_prints_what_stands_now_and_says_when_it_stood_already(run_sigil: Sigil) -> None:
    first = run_sigil("deploy", "--name", "one", "--execute", "return 1;")
    assert first.out.startswith("one@1 sha256:")
    assert "there are no tests\nthe example {} gave 1\n" in first.err
    again = run_sigil("deploy", "--name", "one", "--execute", "return 1;")
    assert again.out == first.out
    assert "was deployed already" in again.err
    second = run_sigil("deploy", "--name", "one", "--execute", "return input.n + 2;")
    assert second.out.startswith("one@2 sha256:")
    assert "the example {} failed: EOUTPUT (result is NaN, " in second.err


def test_every_option_of_a_deploy_arrives(run_sigil: Sigil, place: Path) -> None:
    (place / "schema.json").write_text(
        '{"type": "object", "properties": {"n": {"type": "integer"}}}'
    )
    (place / "body.js").write_text("return input.n;")
    words = [
        "--name",
        "given",
        "--schema",
        "@schema.json",
        "--execute",
        "@body.js",
        "--description",
        "Give n.",
        "--type",
        "ephemeral",
    ]
    words += [
        "--ttl",
        "60",
        "--tag",
        "a",
        "--tag",
        "b",
        "--alias",
        "present",
        "--example",
        "give 3",
    ]
    document = run_sigil("deploy", *words, "--json").document
    assert document["created"] is True
    shown = run_sigil("inspect", "given", "--json").document
    assert shown["source"] == "return input.n;"
    assert (shown["tags"], shown["aliases"], shown["examples"]) == (
        ["a", "b"],
        ["present"],
        ["give 3"],
    )
    assert (shown["lifetime"], shown["description"], shown["digest"]) == (
        "ephemeral",
        "Give n.",
        document["digest"],
    )
    assert shown["expires_at"] == document["expires_at"]


def test_code_may_come_from_stdin(run_sigil: Sigil) -> None:
    assert (
        run_sigil("deploy", "--name", "piped", "--execute", "-", stdin=b"return 'piped';").code == 0
    )
    assert run_sigil("run", "piped").out == "piped\n"


def test_a_capability_without_a_name_gets_one(run_sigil: Sigil) -> None:
    assert (
        run_sigil("deploy", "--execute", "return 1;", "--json")
        .document["capability"]
        .startswith("t-")
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 3),
        (("--name", "x"), 2),
        ((".", "--execute", "1"), 2),
        (("--name", "X", "--execute", "return 1"), 2),
        (("--name", "x", "--execute", "@nowhere.js"), 3),
        (("--name", "x", "--execute", "return 1", "--schema", "{"), 2),
        (("--name", "x", "--execute", "return 1", "--schema", "[1]"), 2),
        (("--name", "x", "--execute", "return 1", "--schema", '{"$ref": "http://a/"}'), 2),
        (("--name", "x", "--execute", "return 1", "--type", "eternal"), 2),
        (("--name", "x", "--execute", "return 1", "--type", "ephemeral", "--ttl", "86401"), 2),
        (("--name", "x", "--execute", "return 1", "--ttl", "5"), 2),
        (("--name", "x", "--execute", "return 1", "--type", "normal", "--ttl", "5"), 2),
        (("--name", "x", "--execute", "return ("), 5),
        (("--name", "x", "--execute", "return '\udcff'", "--description", "\udcff"), 2),
    ],
)
def test_a_deploy_that_cannot_be_leaves_nothing(
    run_sigil: Sigil, words: tuple[str, ...], code: int
) -> None:
    result = run_sigil("deploy", *words, "--json")
    assert result.code == code
    assert result.error["message"]
    assert run_sigil("list", "--json").document == {"items": []}


def test_an_ephemeral_deploy_says_when_it_ends(run_sigil: Sigil) -> None:
    words = (
        "deploy",
        "--name",
        "brief",
        "--execute",
        "return 1",
        "--type",
        "ephemeral",
        "--ttl",
        "60",
    )
    assert re.search(
        r"ephemeral: this version ends at 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC\n",
        run_sigil(*words).err,
    )
    assert re.search(r"^expires_at +20.* UTC$", run_sigil("inspect", "brief").out, re.MULTILINE)


def test_a_time_to_live_that_does_nothing_is_refused_in_a_manifest_too(
    run_sigil: Sigil, place: Path
) -> None:
    run_sigil("init", "greet")
    manifest = place / "greet" / "sigil.toml"
    manifest.write_text(manifest.read_text().replace("[capability]", "[capability]\nttl = 5", 1))
    result = run_sigil("deploy", "greet")
    assert result.code == 2
    assert "ttl" in result.err


def test_what_is_deployed_stays(shout: Sigil, place: Path) -> None:
    assert (place.parent / "data" / "uncaged.db").exists()
    assert shout("list", "--json").document["items"][0]["capability"] == "shout"


def test_a_folder_travels_as_a_flat_spec_with_the_same_digest(
    run_sigil: Sigil, place: Path
) -> None:
    run_sigil("init", "greet")
    run_sigil("init", "echo", "--lang", "wat")
    for name in ("greet", "echo"):
        package = read_folder(place / name)
        assert parse_flat(flat_spec(package)).digest == package.digest
    shipped = Path(__file__).parents[4] / "capabilities"
    for manifest in shipped.glob("*/sigil.toml"):
        package = read_folder(manifest.parent)
        assert parse_flat(flat_spec(package)).digest == package.digest


def test_a_deploy_in_one_line_without_a_schema_says_what_a_model_lacks(run_sigil: Sigil) -> None:
    line = ("deploy", "--name", "louder", "--execute", "return input.text.toUpperCase()")
    schema = '{"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}'

    assert "no --schema: " in run_sigil(*line).err
    assert "no --schema: " not in run_sigil(*line, "--schema", schema).err


def test_a_dry_run_runs_the_example_as_a_deploy_does(run_sigil: Sigil) -> None:
    broken = ("deploy", "--name", "broken", "--execute", "throw new Error('no')")
    assert "the example {} failed: " in run_sigil(*broken, "--dry-run").err
    row = run_sigil(*broken, "--dry-run", "--json").document
    assert row["example"] == run_sigil(*broken, "--json").document["example"]


class Person(io.StringIO):
    """Types an answer at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("permission", ["http:GET evil", "http:GET evil/v1/", "secret:KEY@evil"])
def test_a_host_without_a_dot_is_asked_about_or_written_out(
    run_sigil: Sigil, monkeypatch: pytest.MonkeyPatch, permission: str
) -> None:
    reach = ("deploy", "--name", "reach", "--execute", "return 1", "--permission")
    for more in ((), ("--json",)):
        refused = run_sigil(*reach, permission, *more)
        assert refused.code == 2
        assert "evil has no dot" in refused.err
        assert "evil.example.com" in refused.err
        assert "evil:443" in refused.err
    for answer, code in (("n\n", 0), ("y\n", 1)):
        monkeypatch.setattr("sys.stdin", Person(answer))
        assert (main((*reach, permission)) == 0) is bool(code)
    monkeypatch.undo()


@pytest.mark.parametrize("host", ["evil:443", "evil.example.com", "localhost", "[::1]"])
def test_a_host_that_is_written_out_is_not_asked_about(run_sigil: Sigil, host: str) -> None:
    done = run_sigil(
        "deploy", "--name", "reach", "--execute", "return 1", "--permission", f"http:GET {host}/"
    )
    assert done.code == 0, done.err


def test_what_hides_a_capability_of_the_library_is_asked_about_or_needs_replace(
    run_sigil: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_terminal(answer: str) -> int:
        monkeypatch.setattr("sys.stdin", Person(answer))
        return main(own)

    run_sigil("init", "greet", "--folder", "library/greet")
    monkeypatch.setenv("UNCAGED_LIBRARY", str(place / "library"))
    own = ("deploy", "--name", "greet", "--execute", "return 'mine'")
    refused = run_sigil(*own, "--json")
    assert (refused.code, refused.error["code"]) == (6, "EEXIST")
    assert "library/greet" in refused.error["message"]
    assert "--replace" in refused.error["suggestion"]
    assert at_terminal("n\n") != 0
    assert run_sigil("inspect", "greet", "--json").document["namespace"] == "library"
    assert at_terminal("y\n") == 0
    assert run_sigil("run", "greet").out.endswith("mine\n")
    assert run_sigil("remove", "greet", "--yes").code == 0
    replaced = run_sigil(*own, "--replace")
    assert replaced.code == 0
    assert "it hides the library's own greet now" in replaced.err
