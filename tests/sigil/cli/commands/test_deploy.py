"""`sigil deploy`: one line with everything a manifest can say, a dry run, and a folder of
folders.
"""

from __future__ import annotations

from pathlib import Path

import pytest

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
    ended = run_sigil(
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
    assert ended.code == 0, ended.err
    assert ended.document["tests"] == {"passed": 3, "failed": 0}
    assert ended.document["pending"] == ["http:GET api.example.com/", "secret:KEY@api.example.com"]
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
    ended = run_sigil(*INLINE, "--permission", permission, "--json")
    assert (ended.code, ended.error["code"]) == (2, "EUSAGE")
    assert "http:GET" in ended.error["suggestion"]


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
    ended = run_sigil("deploy", "all", "--json")
    assert [(row["capability"], row["created"]) for row in ended.document["items"]] == [
        ("second", True),
        ("first", True),
    ]
    again = run_sigil("deploy", "all")
    assert again.out.splitlines()[0].startswith("second@1 ")


def test_a_folder_with_an_empty_source_is_refused(run_sigil: Sigil, place: Path) -> None:
    folder(place, "hollow", code=" \n")
    ended = run_sigil("deploy", "all/hollow")
    assert ended.code != 0
    assert "the code is empty" in ended.err
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
    ended = run_sigil("deploy", "all")
    assert ended.code == 5
    assert ended.out.startswith("a@1 ")
    assert "deployed 1 of 3; the rest was not tried" in ended.err
    assert "b" in run_sigil("deploy", "all", "--json").error["source"]
    assert [row["capability"] for row in run_sigil("list", "--json").document["items"]] == ["a"]
