"""`sigil dev` as a person has it: a real process at a terminal, files that change under it, and
Ctrl-C.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sigil.cli.commands.dev import scan_files
from tests.sigil.cli.conftest import Sigil
from tests.sigil.cli.processes import open_terminal
from tests.terminal import Terminal

pytestmark = pytest.mark.usefixtures("fork_commands")

SECONDS = 30.0


@pytest.fixture
def terminal(place: Path) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def start(*words: str) -> Terminal:
        opened.append(open_terminal("dev", *words))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


WATCHING = "Ctrl-C ends it"


def save(path: Path, text: str | bytes) -> None:
    """Write a file as editors do: nobody sees it half written, so every save is one round."""
    half = path.with_name(f".{path.name}")
    half.write_bytes(text if isinstance(text, bytes) else text.encode())
    half.rename(path)


def test_a_change_is_built_and_tested_again_and_a_failure_shows_what_differs(
    terminal: Callable[..., Terminal], run_sigil: Sigil, place: Path
) -> None:
    run_sigil("init", "greet")
    source = place / "greet" / "main.js"
    begun = source.read_text()
    shell = terminal("greet", "--run", '{"text": "Grace"}', "--clear")
    first = shell.wait_for("2 passed, 0 failed", WATCHING)
    assert "\x1b[2J" in first
    assert 'run: "Hello, Grace!"' in first
    save(source, begun.replace("Hello", "Goodbye"))
    failed = shell.wait_for("1 passed, 1 failed", WATCHING)
    assert 'FAIL 1: {"text":"Ada"} gave "Goodbye, Ada!", expected "Hello, Ada!"' in failed
    assert "\n-Hello, Ada!\n+Goodbye, Ada!\n" in failed
    save(source, "return (")
    assert "greet/main.js:1:9: " in shell.wait_for("(EMODULE)", WATCHING)
    save(source, begun)
    shell.wait_for("2 passed, 0 failed", WATCHING)
    before = len(shell.shown)
    assert shell.interrupt() == 130
    assert "Traceback" not in shell.shown[before:]
    assert "error" not in shell.shown[before:]


def test_broken_and_vanished_files_are_told_and_survived(
    terminal: Callable[..., Terminal], run_sigil: Sigil, place: Path
) -> None:
    run_sigil("init", "greet")
    manifest, source = place / "greet" / "sigil.toml", place / "greet" / "main.js"
    good, code = manifest.read_text(), source.read_text()
    shell = terminal("greet")
    shell.wait_for("2 passed", WATCHING)
    save(manifest, "[capability\n")
    shell.wait_for("(EMANIFEST)", WATCHING)
    manifest.unlink()
    shell.wait_for("(ENOENT)", WATCHING)
    save(manifest, b"\xff")
    shell.wait_for("not UTF-8", WATCHING)
    save(manifest, good.replace("Hello, Ada!", "Bye"))
    shell.wait_for("1 failed", WATCHING)
    source.unlink()
    shell.wait_for("is not a file", WATCHING)
    (place / "greet").rename(place / "away")
    (place / "away").rename(place / "greet")
    save(source, code)
    save(manifest, good)
    shell.wait_for("2 passed", WATCHING)
    assert shell.interrupt() == 130


def test_what_is_green_is_deployed_and_each_round_is_a_line_of_json(
    terminal: Callable[..., Terminal], run_sigil: Sigil, place: Path
) -> None:
    run_sigil("init", "greet")
    shell = terminal("greet", "--deploy", "--json", "--quiet")
    first = json.loads(shell.wait_for('"failed": 0\n}'))
    assert (first["passed"], first["deployed"]["version"]) == (2, 1)
    source = place / "greet" / "main.js"
    save(source, source.read_text().replace("Hello", "Bye"))
    red = json.loads(shell.wait_for('"failed": 1\n}'))
    assert "deployed" not in red
    save(source, source.read_text().replace("Bye", "Hello") + "// once more\n")
    assert json.loads(shell.wait_for('"failed": 0\n}'))["deployed"]["version"] == 2
    assert shell.interrupt() == 130
    assert run_sigil("run", "greet", "-a", "text=Ada").out == "Hello, Ada!\n"


def test_what_it_calls_is_watched_too(
    terminal: Callable[..., Terminal], run_sigil: Sigil, place: Path
) -> None:
    for name, code, output in (
        ("count", "return input.text.length;", 3),
        ("both", 'return 2 * await env.call("count", input);', 6),
    ):
        run_sigil("init", name)
        manifest = place / name / "sigil.toml"
        save(manifest, manifest.read_text().replace('"Hello, Ada!"', str(output)))
        (place / name / "main.js").write_text(code)
    with (place / "both" / "sigil.toml").open("a") as file:
        file.write('\n[permissions]\ncall = ["count"]\n')
    shell = terminal("both")
    shell.wait_for("2 passed", WATCHING)
    save(place / "count" / "main.js", "return 50;")
    assert "gave 100, expected 6" in shell.wait_for("1 failed", WATCHING)
    assert shell.interrupt() == 130


def test_a_look_finds_what_changed_and_passes_over_what_is_not_the_persons(tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "x.js").touch()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "index").touch()
    (tmp_path / "main.js").write_text("1")
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    before = scan_files([tmp_path])
    assert [Path(path).name for path in before] == ["main.js"]
    facts = (tmp_path / "main.js").stat()
    (tmp_path / "new").write_text("2")
    os.utime(tmp_path / "new", ns=(facts.st_atime_ns, facts.st_mtime_ns))
    (tmp_path / "new").rename(tmp_path / "main.js")  # same size, same time, another file
    assert scan_files([tmp_path]) != before
    assert scan_files([tmp_path / "gone"]) == {}


def test_a_folder_that_is_not_there_is_not_waited_for(run_sigil: Sigil) -> None:
    result = run_sigil("dev", "nofolder")
    assert (result.code, result.err.splitlines()[0]) == (
        3,
        "error: there is no folder nofolder (ENOENT)",
    )
