"""`sigil versions`, `diff`, `rollback`, `yank`, `publish`, `export` and `import`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sigil.protocol import Caller
from sigil.settings import Settings
from sigil.wiring import local_registry, open_stores
from tests.sigil.cli.conftest import Sigil


@pytest.fixture
def two(run_sigil: Sigil) -> Sigil:
    """Two versions of `word`."""
    for number in (1, 2):
        assert run_sigil("deploy", "--name", "word", "--execute", f"return 'v{number}';").code == 0
    return run_sigil


def test_versions_show_which_is_active_and_what_happened(two: Sigil) -> None:
    shown = two("versions", "word")
    head, newer, older = shown.out.splitlines()
    assert head.split() == ["version", "state", "author", "at", "digest"]
    assert newer.split()[:3] == ["2", "active", "person"]
    assert older.split()[:2] == ["1", "person"]
    assert shown.err.count("deploy by person") == 2
    document = two("versions", "word", "--json").document
    assert [row["version"] for row in document["items"]] == [2, 1]
    assert [step["action"] for step in document["history"]] == ["deploy", "deploy"]


def test_a_difference_is_shown_as_lines(two: Sigil) -> None:
    shown = two("diff", "word").out
    assert "-return 'v1';\n+return 'v2';\n" in shown
    assert two("diff", "word", "1", "1").err == "they are the same\n"
    assert two("diff", "word", "2", "1", "--json").document["from"] == 2
    assert two("diff", "word", "1", "9").code == 3


def test_a_rollback_and_a_yank_say_what_runs_now(two: Sigil) -> None:
    assert two("rollback", "word").out.startswith("word@1 sha256:")
    assert two("run", "word").out == "v1\n"
    assert two("rollback", "word", "2").code == 0
    assert two("yank", "word@2").err == "word@2 is withdrawn; word@1 is active\n"
    assert "became active: yank of version 2 by person" in two("versions", "word").err
    assert two("run", "word").out == "v1\n"
    assert two("run", "word@2").out == "v2\n"
    assert (
        two("yank", "word@2", "--undo").err
        == "word@2 is available again; it is active now, in place of word@1\n"
    )
    assert two("yank", "word@2", "--undo").err == "word@2 was available already; word@2 is active\n"
    assert two("run", "word").out == "v2\n"
    assert two("yank", "word@2", "--json").document["changed"] is True
    assert two("yank", "word@1").err == "word@1 is withdrawn; no version of word is active now\n"
    for words, code in (
        (("yank", "word"), 2),
        (("rollback", "word", "7"), 3),
        (("rollback", "none"), 3),
    ):
        assert two(*words).code == code


def test_capabilities_travel_in_one_file(two: Sigil, place: Path) -> None:
    assert two("export", "word", "word@1", "-o", "both.sigil").code == 2
    assert two("export", "word", "-o", "one.sigil").code == 0
    digest = two("inspect", "word", "--json").document["digest"]
    two("remove", "word", "--yes")
    (row,) = two("import", "one.sigil", "--json").document["items"]
    assert (row["digest"], row["version"], row["created"]) == (digest, 3, True)
    assert two("import", "one.sigil").err.startswith("this very digest was deployed already")
    (place / "bad.sigil").write_bytes((place / "one.sigil").read_bytes().replace(b"'v2'", b"'v3'"))
    assert two("import", "bad.sigil").code == 2
    assert two("import", "nowhere.sigil").code == 3
    assert two("export", "word", "-o", "no/such/folder", "--json").error["code"] == "EWRITE"


def test_an_export_that_cannot_be_written_leaves_the_file_as_it_was(
    two: Sigil, place: Path
) -> None:
    (place / "old.sigil").write_bytes(b"as it was")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}
    full = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        " resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"
    )
    script = (
        f"from pathlib import Path; from sigil.storage import files; {full};"
        " files.write_whole(Path('old.sigil'), b'x' * 1000)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "EWRITE" in done.stderr
    assert (place / "old.sigil").read_bytes() == b"as it was"
    assert [path.name for path in place.iterdir() if path.name.startswith(".old")] == []


def test_an_import_says_that_tests_did_not_run_and_what_of_the_library_it_hides(
    run_sigil: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_sigil("init", "greet", "--folder", "library/greet")
    monkeypatch.setenv("UNCAGED_LIBRARY", str(place / "library"))
    run_sigil("export", "greet", "-o", "greet.sigil")
    said = run_sigil("import", "greet.sigil").err
    assert "2 tests, not run" in said
    assert "it hides the library's own greet" in said
    assert "no tests" not in said


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


def test_the_log_of_a_run_that_failed_is_told(run_sigil: Sigil, place: Path) -> None:
    run_sigil("init", "talks")
    (place / "talks" / "main.js").write_text("console.log('so far'); throw new Error('a mistake');")
    manifest = (place / "talks" / "sigil.toml").read_text().partition("[[test]]")[0]
    if "[permissions]" not in manifest:
        manifest += "\n[permissions]\nlog = true\n"
    (place / "talks" / "sigil.toml").write_text(manifest)
    assert run_sigil("deploy", "talks").code == 0

    ended = run_sigil("run", "talks", '{"text": "Ada"}')

    assert ended.code == 1
    said = ended.err.splitlines()
    assert said[0].startswith("log: ")
    assert "so far" in said[0]
    assert said[1].startswith("error: talks: ")


def test_a_list_shows_states_and_calls(two: Sigil) -> None:
    two("run", "word")
    (row,) = two("list", "--json").document["items"]
    assert (row["state"], row["calls"], row["errors"]) == ("ok", 1, 0)
    assert two("inspect", "word", "--json").document["last"]
