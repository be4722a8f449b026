"""`sigil versions`, `diff`, `rollback`, `yank` and `publish`."""

from __future__ import annotations

from pathlib import Path

from sigil.protocol import Caller
from sigil.settings import Settings
from sigil.wiring import local_registry, open_stores
from tests.sigil.cli.conftest import Sigil


def test_versions_show_which_is_active_and_what_happened(two_versions: Sigil) -> None:
    shown = two_versions("versions", "word")
    head, newer, older = shown.out.splitlines()
    assert head.split() == ["version", "state", "author", "at", "digest"]
    assert newer.split()[:3] == ["2", "active", "person"]
    assert older.split()[:2] == ["1", "person"]
    assert shown.err.count("deploy by person") == 2
    document = two_versions("versions", "word", "--json").document
    assert [row["version"] for row in document["items"]] == [2, 1]
    assert [step["action"] for step in document["history"]] == ["deploy", "deploy"]


def test_a_difference_is_shown_as_lines(two_versions: Sigil) -> None:
    shown = two_versions("diff", "word").out
    assert "-return 'v1';\n+return 'v2';\n" in shown
    assert two_versions("diff", "word", "1", "1").err == "they are the same\n"
    assert two_versions("diff", "word", "2", "1", "--json").document["from"] == 2
    assert two_versions("diff", "word", "1", "9").code == 3


def test_a_rollback_and_a_yank_say_what_runs_now(two_versions: Sigil) -> None:
    assert two_versions("rollback", "word").out.startswith("word@1 sha256:")
    assert two_versions("run", "word").out == "v1\n"
    assert two_versions("rollback", "word", "2").code == 0
    assert two_versions("yank", "word@2").err == "word@2 is withdrawn; word@1 is active\n"
    assert "became active: yank of version 2 by person" in two_versions("versions", "word").err
    assert two_versions("run", "word").out == "v1\n"
    assert two_versions("run", "word@2").out == "v2\n"
    assert (
        two_versions("yank", "word@2", "--undo").err
        == "word@2 is available again; it is active now, in place of word@1\n"
    )
    assert (
        two_versions("yank", "word@2", "--undo").err
        == "word@2 was available already; word@2 is active\n"
    )
    assert two_versions("run", "word").out == "v2\n"
    assert two_versions("yank", "word@2", "--json").document["changed"] is True
    assert (
        two_versions("yank", "word@1").err
        == "word@1 is withdrawn; no version of word is active now\n"
    )
    assert (
        two_versions("yank", "word@2", "--undo").err
        == "word@2 is available again; it is active now\n"
    )
    for words, code in (
        (("yank", "word"), 2),
        (("rollback", "word", "7"), 3),
        (("rollback", "none"), 3),
    ):
        assert two_versions(*words).code == code


def test_a_difference_of_lists_is_told_line_by_line(run_sigil: Sigil, place: Path) -> None:
    run_sigil("init", "greet")
    run_sigil("deploy", "greet")
    manifest = place / "greet" / "sigil.toml"
    text = manifest.read_text()
    manifest.write_text(
        text.replace("tags = [", 'tags = ["polite", ')
        + '\n[[test]]\ninput = {text = "Bob"}\noutput = "Hello, Bob!"\n'
    )
    run_sigil("deploy", "greet")
    shown = run_sigil("diff", "greet").out.splitlines()
    assert '+ {"text":"Bob"} → "Hello, Bob!"' in shown
    assert "tests:" in shown
    assert "+ polite" in shown
    assert not [line for line in shown if "null" in line]


def test_a_chats_capability_is_published(run_sigil: Sigil, place: Path) -> None:
    settings = Settings.read()
    registry = local_registry(settings, open_stores(settings))
    chat = Caller("main", "telegram:9", author="model")
    digest = registry.deploy({"name": "mine", "execute": "return 1;"}, chat).offer.digest
    registry.close()

    assert run_sigil("run", "mine").code == 3
    assert run_sigil("publish", "mine").out == f"mine@1 {digest}\n"
    assert run_sigil("run", "mine").out == "1\n"
    assert run_sigil("publish", "nothing").code == 3
