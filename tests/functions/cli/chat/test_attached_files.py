"""Files of the machine go with a message of the terminal."""

from __future__ import annotations

import re
from pathlib import Path

from functions.agent.conversation.unopened import NOTE
from functions.cli.chat.attached_files import complete_path, find_pasted
from tests.fakes.model import ScriptedModel, say
from tests.fakes.speech import KEY, SpeechEndpoint
from tests.functions.agent.workspace.test_pictures import pictures_in
from tests.functions.cli.programs import terminal, uncaged
from tests.functions.media.files import make_picture
from tests.functions.media.sounds import make_m4a
from tests.tables import each_row

TAB = "\t"


def test_the_files_of_the_command_go_with_its_message(
    environment: dict[str, str], model: ScriptedModel, tmp_path: Path
) -> None:
    picture, notes, memo = (tmp_path / name for name in ("a square.png", "notes.md", "memo.m4a"))
    picture.write_bytes(make_picture("PNG"))
    notes.write_text("# Notes")
    memo.write_bytes(make_m4a(5, b"mp42"))
    model.then(say("A square."))
    settings = {"UNCAGED_LLM_URL": model.url, "UNCAGED_LIBRARY": "none", "UNCAGED_STT_KEY": KEY}
    files = [part for path in (picture, notes, memo) for part in ("--file", str(path))]
    with SpeechEndpoint() as speech:
        settings["UNCAGED_STT_URL"] = speech.address
        done = uncaged(environment, "chat", "-q", *files, "what is it?", **settings)

    assert (done.returncode, done.stdout) == (0, "A square.\n"), done.stderr
    assert len(pictures_in(model.bodies[0])) == 1
    said = model.bodies[0]["messages"][-1]["content"][0]["text"]
    assert re.search(
        r"kept as received/a square-\w{8}\.jpg: read-file shows it again with look\]", said
    )
    assert "kept as received/notes.md: read-file reads it]" in said
    assert "what is it?\n[voice, 5 s, transcribed] hello from the tests\n" in said


def test_files_without_a_text_are_a_message(
    environment: dict[str, str], model: ScriptedModel, tmp_path: Path
) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("# Notes")
    model.then(say("Notes."))
    settings = {"UNCAGED_LLM_URL": model.url, "UNCAGED_LIBRARY": "none"}
    done = uncaged(environment, "chat", "-q", "--file", str(notes), **settings)
    assert (done.returncode, done.stdout) == (0, "Notes.\n"), done.stderr
    assert "kept as received/notes.md" in str(model.bodies[0])


def test_files_that_cannot_be_attached_are_told_before_anything_is_asked(
    environment: dict[str, str], model: ScriptedModel, tmp_path: Path
) -> None:
    large = tmp_path / "large.bin"
    with large.open("wb") as file:
        file.truncate(20_000_001)
    settings = {"UNCAGED_LLM_URL": model.url, "UNCAGED_LIBRARY": "none"}
    for path, words in (
        (tmp_path / "none.pdf", "cannot be attached: No such file or directory"),
        (tmp_path, " is no file"),
        (large, " has more than 20 MB"),
    ):
        done = uncaged(environment, "chat", "--file", str(path), "hi", **settings)
        assert done.returncode > 1
        assert words in done.stderr
    assert model.bodies == []


def test_a_path_is_typed_completed_pasted_and_taken_back(
    environment: dict[str, str], model: ScriptedModel, tmp_path: Path
) -> None:
    notes = tmp_path / "notes-of-today.md"
    notes.write_text("# Notes")
    settings = {"UNCAGED_LLM_URL": model.url, "UNCAGED_LIBRARY": "none"}
    model.then(say("first"), say("second"), say("third"))
    with terminal(environment, **settings) as screen:
        screen.wait_for_match("› ")
        screen.type(f"/attach {tmp_path}/notes-of{TAB}\n")
        screen.wait_for_match(r"today\.md \(7 bytes\) goes with your next message(?s:.*?)› ")
        screen.type("look\n")
        screen.wait_for_match("first(?s:.*?)› ")
        screen.type(f"{notes}\n")
        screen.wait_for_match(r"attach notes-of-today\.md\? \[Y/n\] ")
        screen.type("\n")
        screen.wait_for_match("goes with your next message(?s:.*?)› ")
        screen.type("/attach\n")
        screen.wait_for_match("nothing is attached any more(?s:.*?)› ")
        screen.type("/attach /no/such/file\n")
        screen.wait_for_match("cannot be attached(?s:.*?)› ")
        screen.type("plain\n")
        screen.wait_for_match("second(?s:.*?)› ")
        screen.type(f"/attach {notes}\n")
        screen.wait_for_match("goes with your next message(?s:.*?)› ")
        screen.type("\x04")
        screen.wait_for("what was attached is not sent")

    first, second = (str(body["messages"][-1]["content"]) for body in model.bodies)
    assert "kept as received/notes-of-today.md" in first
    assert "received/" not in second
    assert NOTE not in first


@each_row(
    ("line", "found"),
    [
        ("{path}", True),
        ("  '{path}'  ", True),
        ("file://{path}", True),
        ("{escaped}", True),
        ("{path} please", False),
        ("a b.md", False),
        ("/help", False),
        ("/no/such/file", False),
        ("/" + "x" * 5_000, False),
        ("/\0", False),
        ("{folder}", False),
        ("'{path}", False),
    ],
)
def test_a_path_alone_on_a_line_is_told_from_a_message(
    tmp_path: Path, line: str, found: bool
) -> None:
    path = tmp_path / "a b.md"
    path.write_text("x")
    escaped = str(path).replace(" ", "\\ ")
    typed = line.format(path=path, escaped=escaped, folder=tmp_path)

    assert find_pasted(typed) == (path if found else None)


def test_tab_completes_names_with_spaces_folders_and_nothing_hidden(tmp_path: Path) -> None:
    for name in ("my notes.md", "my plan.md", ".hidden"):
        (tmp_path / name).write_text("x")
    (tmp_path / "papers").mkdir()

    assert complete_path(f"{tmp_path}/my") == [
        f"{tmp_path}/my\\ notes.md",
        f"{tmp_path}/my\\ plan.md",
    ]
    assert complete_path(f"{tmp_path}/pa") == [f"{tmp_path}/papers/"]
    assert f"{tmp_path}/.hidden" not in complete_path(f"{tmp_path}/")
    assert complete_path("/no/such/folder/x") == []
    assert complete_path("~nobody-has-this-name/x") == []
