"""`sigil deploy`, `inspect`, `list` and `remove`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from sigil.manifest.package import flat_spec, parse_flat, read_folder
from tests.sigil.cli.conftest import SHOUT, Sigil


def test_a_deploy_in_one_line_can_be_run(shout: Sigil) -> None:
    assert shout("run", "shout", '{"text": "a"}').out == "A\n"


def test_a_deploy_prints_what_stands_now_and_says_when_it_stood_already(run_sigil: Sigil) -> None:
    first = run_sigil("deploy", "--name", "one", "--execute", "return 1;")
    assert first.out.startswith("one@1 sha256:")
    again = run_sigil("deploy", "--name", "one", "--execute", "return 1;")
    assert again.out == first.out
    assert "was deployed already" in again.err
    assert run_sigil("deploy", "--name", "one", "--execute", "return 2;").out.startswith(
        "one@2 sha256:"
    )


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
    ended = run_sigil("deploy", *words, "--json")
    assert ended.code == code
    assert ended.error["message"]
    assert run_sigil("list", "--json").document == {"items": []}


def test_a_list_and_an_inspection_are_plain_aligned_text(shout: Sigil) -> None:
    head, row = shout("list").out.splitlines()
    assert head.split() == [
        "capability",
        "version",
        "kind",
        "namespace",
        "lifetime",
        "state",
        "calls",
        "description",
    ]
    assert row.split(maxsplit=7) == [
        "shout",
        "1",
        "wasm",
        "main",
        "normal",
        "ok",
        "0",
        "Shout a text.",
    ]
    assert head.index("description") == row.index("Shout")
    shown = shout("inspect", "shout@1").out
    assert "description  Shout a text.\n" in shown
    assert shown.endswith(f"\n{SHOUT}\n")


def test_remove_asks_unless_it_is_told(shout: Sigil) -> None:
    assert shout("remove", "shout").code == 2
    assert shout("remove", "shout", "--yes").code == 0
    assert shout("run", "shout").code == 3
    assert shout("remove", "shout", "-y").code == 3


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
    ended = run_sigil("deploy", "greet")
    assert ended.code == 2
    assert "ttl" in ended.err


def test_remove_warns_of_those_that_call_it_and_takes_no_for_an_answer(
    shout: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = place / "both"
    folder.mkdir()
    (folder / "sigil.toml").write_text(
        '[capability]\nname = "both"\ndescription = "Both."\nrequires = ["shout"]\n'
    )
    (folder / "main.js").write_text("return env.call('shout', {text: 'a'})")
    assert shout("deploy", "both").code == 0

    monkeypatch.setattr("sigil.cli.shell.typer.confirm", lambda *_, **__: False)
    monkeypatch.setattr("sigil.cli.commands.remove.require_answerer", lambda *_: None)
    declined = shout("remove", "shout")
    assert declined.code == 1
    assert (
        declined.err
        == "both calls shout, and will fail without it\nerror: nothing was removed (EDECLINED)\n"
    )
    assert shout("run", "shout", "-a", "text=a").code == 0
    assert shout("remove", "shout", "--yes", "--json").document == {
        "removed": "shout",
        "needed_by": ["both"],
    }


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


def test_a_list_shows_as_many_as_are_wanted_and_those_that_say_a_text(shout: Sigil) -> None:
    assert (
        shout(
            "deploy",
            "--name",
            "whisper",
            "--execute",
            "return 1",
            "--description",
            "Whisper a text.",
        ).code
        == 0
    )
    named: Callable[..., list[str]] = lambda *words: [  # noqa: E731
        row["capability"] for row in shout("list", "--json", *words).document["items"]
    ]
    assert named() == ["shout", "whisper"]
    assert named("WHISPER") == ["whisper"]
    assert named("text whis") == ["whisper"]
    assert named("-n", "1") == ["shout"]
    assert shout("list", "--limit", "1").err == "1 of 2\n"
    assert shout("list", "nothing like it").err == "no capability matches 'nothing like it'\n"
