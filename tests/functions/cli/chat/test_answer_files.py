"""A person at a terminal gets the files of an answer: saved, with their paths, and pictures as
pictures where the terminal shows some.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from functions.agent.memory.helpers import NoReader
from functions.agent.workspace.files import Writer
from functions.cli.chat import answer_files
from functions.cli.chat.terminal_pictures import TerminalPictures
from functions.media.file_types import FileType, find_type
from functions.wiring import AgentRuntime
from sigil.protocol import KeptFile
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, say
from tests.functions.cli.chat.test_streamed_chat import streamed
from tests.functions.cli.programs import terminal, uncaged
from tests.functions.media.files import make_picture
from tests.tables import each_row
from tests.terminal_screen import TerminalScreen

ANSWER = "Before.\n\n![The cat](file:cat.png)\n\nAfter [it](file:notes/a b.md)."
KITTY = re.compile(r"\x1b_G(?:a=T,f=100,q=2,)?m=([01]);([A-Za-z0-9+/=]*)\x1b\\")
SIXEL = re.compile(r'\x1bPq"1;1;(\d+);(\d+)#[!-~]+\x1b\\')
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="M0 0h9v9z"/></svg>'


@pytest.fixture
def settings(
    runtime: Callable[..., AgentRuntime],
    environment: dict[str, str],
    model: ScriptedModel,
    tmp_path: Path,
) -> dict[str, str]:
    opened = runtime(llm_url=model.url)
    files = opened.app.open_workspace(keys.escape("main"))
    files.write("cat.png", make_picture("PNG", (900, 300)), Writer("terminal:local"))
    files.write("notes/a b.md", b"# A", Writer("terminal:local"))
    return {
        **environment,
        "UNCAGED_LLM_URL": model.url,
        "UNCAGED_LIBRARY": "none",
        "UNCAGED_DOWNLOADS": str(tmp_path / "my downloads"),
    }


def list_saved(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "my downloads").iterdir())


def test_words_come_without_marks_and_the_picture_is_drawn_by_kitty(
    settings: dict[str, str], model: ScriptedModel, tmp_path: Path
) -> None:
    pieces = [ANSWER[place : place + 5] for place in range(0, len(ANSWER), 5)]
    drawn = say(f"Drawn:\n\n```svg\n{SVG}\n```")
    model.then(streamed(*pieces), drawn)
    with terminal(settings, TERM="xterm-kitty") as screen:
        screen.wait_for_match("› ")
        screen.type("show me\n")
        shown = screen.wait_for_match(r"tools:(?s:.*)› ")
        screen.type("draw it\n")
        second = screen.wait_for_match(r"tools:(?s:.*)› ")
        screen.leave()
    assert "file:" not in shown
    assert "draft" not in shown
    lines = TerminalScreen(80, 25).feed(KITTY.sub("", screen._written)).lines
    begin = lines.index("Before.")
    assert lines[begin : begin + 5] == ["Before.", "", "The cat", "", "After it."]
    assert "my downloads/cat.png (image/png" in "".join(f"{line} " for line in lines)
    chunks = KITTY.findall(shown)
    assert [more for more, _ in chunks] == ["1"] * (len(chunks) - 1) + ["0"]
    picture = base64.b64decode("".join(part for _, part in chunks))
    assert find_type(picture) is FileType.PNG
    assert int.from_bytes(picture[16:20], "big") == 640, "as wide as the screen: 80 cells"
    assert list_saved(tmp_path) == ["a-b.md", "cat.png"]
    assert len(KITTY.findall(second)) == 1, "a drawing, too"
    assert "<svg" not in second


def test_iterm2_gets_the_whole_picture_in_one_sequence(
    settings: dict[str, str], model: ScriptedModel
) -> None:
    model.then(say(ANSWER))
    with terminal(settings, "show me", TERM="xterm-256color", TERM_PROGRAM="iTerm.app") as screen:
        shown = screen.wait_for_end()
    found = re.search(r"\x1b\]1337;File=inline=1;size=(\d+):([A-Za-z0-9+/=]+)\x07", shown)
    assert found
    picture = base64.b64decode(found[2])
    assert len(picture) == int(found[1])
    assert find_type(picture) is FileType.PNG


def test_a_terminal_is_asked_and_draws_sixels_and_nothing_is_written_over(
    settings: dict[str, str], model: ScriptedModel, tmp_path: Path
) -> None:
    model.then(say(ANSWER))
    (tmp_path / "my downloads").mkdir()
    (tmp_path / "my downloads" / "cat.png").write_text("mine")
    with terminal(settings, "show me", TERM="xterm-256color") as screen:
        screen.wait_for("\x1b[c")
        screen.type("\x1b[?62;4;22c")
        shown = screen.wait_for_end()
    size = SIXEL.search(shown)
    assert size
    assert (size[1], size[2]) == ("640", "213")
    assert list_saved(tmp_path) == ["a-b.md", "cat-2.png", "cat.png"]
    assert (tmp_path / "my downloads" / "cat.png").read_text() == "mine"


def test_a_program_reads_where_the_files_are(
    settings: dict[str, str], model: ScriptedModel, tmp_path: Path
) -> None:
    model.then(say(ANSWER), say(ANSWER))
    folder = tmp_path / "else" / "where"
    done = uncaged(
        settings, "chat", "--json", "--files", str(folder), "show me", TERM="xterm-kitty"
    )
    row = json.loads(done.stdout)
    picture, text = row["files"]
    assert row["reply"] == (
        f"Before.\n\n![The cat]({folder}/cat.png)\n\nAfter [it]({folder}/a-b.md)."
    )
    assert Path(text["path"]).read_bytes() == b"# A"
    assert Path(picture["path"]) == folder / "cat.png"
    quiet = uncaged(settings, "chat", "--quiet", "show me", TERM="xterm-kitty").stdout
    assert "\x1b" not in quiet
    assert f"](<{tmp_path}/my downloads/cat.png>)" in quiet


def test_a_quiet_answer_drives_no_terminal(settings: dict[str, str], model: ScriptedModel) -> None:
    model.then(say("A\x1b]0;b\x07\x9b2J\u202ec"), say("A\x1b]0;b\x07\x9b2J\u202ec"))
    with terminal(settings, "--quiet", "hello") as screen:
        assert screen.wait_for_end() == "A]0;b2Jc\n"
    with terminal(settings, "--json", "hello") as screen:
        assert '"A\\u001b]0;b\\u00072Jc"' in screen.wait_for_end()


def test_a_file_that_is_gone_is_told_of_and_the_others_are_saved(
    settings: dict[str, str], runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    files = runtime().app.open_workspace(keys.escape("main"))
    for name in ("a.bin", "b.bin"):  # together more than is kept for a chat
        files.write(name, name.encode() * 3_400_000, Writer("terminal:local"), most=20_000_000)
    model.then(say("[a](file:a.bin) [b](file:b.bin)"))
    done = uncaged(settings, "chat", "hello")
    assert "a.bin cannot be saved: there is no such file, or not any more" in done.stderr
    assert "b.bin (application/octet-stream, 17,000,000 bytes)" in done.stderr


FORMS: list[tuple[dict[str, str], bytes, str]] = [
    ({"TERM": "xterm-kitty"}, b"", "kitty"),
    ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, b"", "kitty"),
    ({"TERM": "xterm-ghostty"}, b"", "kitty"),
    ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, b"", "iterm2"),
    ({"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, b"", "iterm2"),
    ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, b"", "iterm2"),
    ({"TERM": "xterm-256color"}, b"\x1b[?62;4;22c", "sixel"),
    ({"TERM": "foot"}, b"\x1b[?62;22;4c", "sixel"),
    ({"TERM": "xterm-256color"}, b"\x1b[?64;1;2;22c", ""),
    ({"TERM": "vt340"}, b"\x1b[?4;6c", ""),
    ({"TERM": "xterm-256color"}, b"", ""),
    ({"TERM": "dumb", "KITTY_WINDOW_ID": "1"}, b"\x1b[?62;4c", ""),
    ({"TERM": "xterm-kitty", "TMUX": "/tmp/tmux-0/default,1,0"}, b"\x1b[?62;4c", ""),
    ({"TERM": "screen-256color", "KITTY_WINDOW_ID": "1"}, b"\x1b[?62;4c", ""),
    ({}, b"\x1b[?62;4c", ""),
]


@each_row(("environment", "told", "form"), FORMS)
def test_what_a_terminal_shows_is_known_by_its_environment_or_its_answer(
    environment: dict[str, str], told: bytes, form: str
) -> None:
    def find(is_terminal: bool) -> str:
        found = TerminalPictures(
            NoReader(), environment, ask=lambda: told, is_terminal=lambda: is_terminal
        )
        assert found.make(make_picture("PNG")) == "", "without a reader nothing is drawn"
        return found.form

    assert find(True) == form
    assert find(False) == ""


HOSTILE_NAMES = {
    "../../.bashrc": "bashrc",
    "..\\..\\x.exe": "x.exe",
    "/etc/passwd": "passwd",
    ".envrc": "envrc",
    "a\x1b[2Jb\n.md": "a-2Jb-.md",
    "..": "file",
    "": "file",
    "图 1.png": "图 1.png",
}


def test_names_stay_in_the_folder(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "0" * 32, "name": name, "type": "text/plain", "size": 1, "until": 0.0}
        for name in HOSTILE_NAMES
    ]
    files: list[KeptFile] = answer_files.read_files({"files": rows})
    assert [file.name for file in files] == [*HOSTILE_NAMES.values()]
    saved = answer_files.save(files, [b"x"] * len(files), str(tmp_path / "saved"))
    assert {each.path.parent for each in saved} == {tmp_path / "saved"}
