"""`uncaged agent doc` and `uncaged agent prompt`, as a person types them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from functions.agent.memory.documents import CAPS, FIRST_SOUL
from functions.cli.app import cli
from functions.wiring import AgentRuntime
from sigil.errors import Conflict, SigilError, UsageError
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.talk import tell
from tests.servers.programs import ProgramForker

Open = Callable[..., AgentRuntime]
Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str, given: str | None = None) -> Result:
        done = CliRunner().invoke(cli, ["agent", *arguments], input=given)
        if isinstance(done.exception, SigilError):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done

    return command


def editor(place: Path, body: str) -> str:
    program = place / "editor"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o700)
    return str(program)


def test_a_document_is_written_shown_and_taken_back(run: Run) -> None:
    assert (
        run("doc", "write", "soul", "-", given="# Soul\nCalm.\n").stderr
        == "soul is at version 1 (12 characters)\n"
    )
    run("doc", "write", "soul", "-", given="# Soul\nWild.\n")

    assert run("doc", "show", "soul").stdout == "# Soul\nWild.\n"
    assert run("doc", "show", "soul", "--version", "1").stdout == "# Soul\nCalm.\n"
    assert [
        row["version"] for row in json.loads(run("doc", "history", "soul", "--json").stdout)
    ] == [2, 1]
    assert json.loads(run("doc", "rollback", "soul", "1", "--json").stdout)["version"] == 3
    assert run("doc", "show", "soul").stdout == "# Soul\nCalm.\n"
    assert [row["name"] for row in json.loads(run("doc", "list", "--json").stdout)] == ["soul"]


def test_the_soul_that_nobody_wrote_is_shown_edited_and_taken_back(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", editor(tmp_path, 'sed -i s/calm/wild/ "$1"'))
    first = run("doc", "show", "soul").stdout
    assert first.rstrip() == FIRST_SOUL
    run("doc", "edit", "soul")
    assert run("doc", "show", "soul").stdout == first.replace("calm", "wild")
    run("doc", "rollback", "soul", "0")
    assert (
        run("doc", "show", "soul").stdout
        == run("doc", "show", "soul", "--version", "0").stdout
        == first
    )


def test_the_help_for_what_was_never_written_names_the_chat(run: Run) -> None:
    with pytest.raises(UsageError) as problem:
        run("doc", "show", "user", "--session", "telegram:42")
    assert (
        problem.value.suggestion == "`uncaged agent doc edit user --session telegram:42` writes it"
    )
    with pytest.raises(UsageError) as problem:
        run("doc", "show", "memory")
    assert str(problem.value.suggestion).endswith(
        "`uncaged agent doc show memory --session terminal:main` shows one chat's own"
    )


def test_the_same_text_again_is_no_new_version(run: Run) -> None:
    run("doc", "write", "role", "-", given="A clerk.")
    assert "version 1" in run("doc", "write", "role", "-", given="A clerk.\n\n").stderr


def test_documents_leave_and_come_back_as_markdown(run: Run, tmp_path: Path) -> None:
    for name in CAPS:
        run("doc", "write", name, "-", given=f"# {name}\n你好")
    run("doc", "export", "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        f"{name.upper()}.md" for name in CAPS
    )
    (tmp_path / "out" / "SOUL.md").write_text("another", encoding="utf-8")
    (tmp_path / "out" / "NOTES.md").write_text("not one of ours")

    assert [row["version"] for row in json.loads(run("doc", "import", "out", "--json").stdout)] == [
        1,
        1,
        1,
        2,
        1,
        1,
        1,
    ]
    assert run("doc", "show", "soul").stdout == "another\n"


def test_an_import_is_whole_or_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ROLE.md").write_text("fine")
    (tmp_path / "in" / "SOUL.md").write_text("x" * (CAPS["soul"] + 1))
    with pytest.raises(UsageError, match="ETOOBIG"):
        run("doc", "import", "in")
    assert json.loads(run("doc", "list", "--json").stdout) == []


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_a_folder_leads_to_no_other_place(run: Run, tmp_path: Path, kind: str) -> None:
    run("doc", "write", "soul", "-", given="as it was")
    run("doc", "write", "role", "-", given="a clerk")
    (tmp_path / "in").mkdir()
    (tmp_path / "private").write_text("a private key")
    place = tmp_path / "in" / "SOUL.md"
    make: dict[str, Callable[[], None]] = {
        "link": lambda: place.symlink_to(tmp_path / "private"),
        "pipe": lambda: os.mkfifo(place),
        "folder": place.mkdir,
    }
    make[kind]()

    for words in ("import in", "export in"):
        with pytest.raises(UsageError, match="is a link, or no file"):
            run("doc", *words.split())
    assert run("doc", "show", "soul").stdout == "as it was\n"
    assert (tmp_path / "private").read_text() == "a private key"
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["SOUL.md"]
    with pytest.raises(UsageError, match="EWRITE"):
        run("doc", "export", "private")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"a\x00b", "EINVAL"),
        (b"\xff\xfe", "EINVAL"),
        ("a\u202eb".encode(), "EINVAL"),
        (b"x" * 8_001, "ETOOBIG"),
        (b"x" * (1 << 21), "ETOOBIG"),
    ],
    ids=["binary", "not UTF-8", "bidi", "over its cap", "huge"],
)
def test_what_may_not_be_a_document_leaves_the_old_one(
    run: Run, tmp_path: Path, data: bytes, code: str
) -> None:
    run("doc", "write", "soul", "-", given="as it was")
    (tmp_path / "new.md").write_bytes(data)
    with pytest.raises(UsageError, match=code):
        run("doc", "write", "soul", "new.md")
    assert run("doc", "show", "soul").stdout == "as it was\n"


@pytest.mark.parametrize(
    "words",
    [
        "show sole",
        "show role",
        "show soul --version 3",
        "write soul nofile",
        "import .",
        "history x",
    ],
)
def test_what_is_not_there_is_said_to_be_not_there(run: Run, words: str) -> None:
    with pytest.raises(UsageError, match="ENOENT"):
        run("doc", *words.split())


def test_history_is_said_to_be_no_document_and_where_it_is(run: Run) -> None:
    with pytest.raises(UsageError) as told:
        run("doc", "show", "history")
    assert "uncaged agent history" in told.value.suggestion


def test_a_chat_has_no_soul_of_its_own_to_show(run: Run) -> None:
    for words in ("show soul", "history role", "edit soul"):
        with pytest.raises(UsageError, match="no document of a chat's own"):
            run("doc", *words.split(), "--session", "telegram:42")
    assert (
        "edit memory --session telegram:42" in run("doc", "list", "--session", "telegram:42").stderr
    )


def test_what_was_never_written_has_no_versions(run: Run) -> None:
    told = run("doc", "history", "self")
    assert (told.stdout, told.stderr) == ("", "self was never written\n")


def test_where_nothing_can_be_written_nothing_is_exported(run: Run, tmp_path: Path) -> None:
    run("doc", "write", "soul", "-", given="as it was")
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(UsageError, match="cannot write taken: File exists"):
        run("doc", "export", "taken")
    assert (tmp_path / "taken").read_text() == "a file"


def test_a_damaged_document_is_taken_back_to_what_it_was(
    run: Run, runtime: Open, tmp_path: Path
) -> None:
    for text in ("first", "second", "third", "fourth"):
        run("doc", "write", "soul", "-", given=text)
    kv = runtime(data=tmp_path / "data").app.kv
    kv.put(keys.document("main", "soul"), b"damaged")
    kv.put(keys.document_version("main", "soul", 2), b"damaged")
    assert run("doc", "show", "soul").stdout == "third\n"

    history = json.loads(run("doc", "history", "soul", "--json").stdout)
    assert [(row["version"], row["by"]) for row in history] == [
        (4, "damaged"),
        (3, "terminal:local"),
        (1, "terminal:local"),
    ]
    assert history[0]["why"] == "cannot be read; version 3 stands in for it"
    assert run("doc", "show", "soul", "--version", "3").stdout == "third\n"
    run("doc", "rollback", "soul", "1")
    assert run("doc", "show", "soul").stdout == "first\n"
    kv.put(keys.document("main", "soul"), b"damaged")
    run("doc", "write", "soul", "-", given="")
    assert run("doc", "show", "soul").stdout == "\n"


def test_an_editor_writes_it(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", editor(tmp_path, 'echo "# Edited" > "$1"'))
    assert "version 1" in run("doc", "edit", "soul").stderr
    assert run("doc", "show", "soul").stdout == "# Edited\n"
    assert "nothing was changed" in run("doc", "edit", "soul").stderr


def test_an_editor_that_leaves_nothing_empties_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("doc", "write", "role", "-", given="as it was")
    monkeypatch.setenv("EDITOR", editor(tmp_path, ': > "$1"'))
    assert "`uncaged agent doc write role -`" in run("doc", "edit", "role").stderr
    assert run("doc", "show", "role").stdout == "as it was\n"
    run("doc", "write", "role", "-", given="")
    assert run("doc", "show", "role").stdout == "\n"


@pytest.mark.parametrize(
    "text", [b"x" * 9_000, b"caf\xe9", b"a\x00"], ids=["over its cap", "not UTF-8", "binary"]
)
def test_an_edit_that_may_not_be_written_is_not_lost(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes
) -> None:
    (tmp_path / "typed").write_bytes(text)
    monkeypatch.setenv("EDITOR", editor(tmp_path, f'cat {tmp_path}/typed > "$1"'))
    with pytest.raises(UsageError) as problem:
        run("doc", "edit", "soul")
    kept = Path(problem.value.suggestion.rpartition(" ")[2].strip("`"))
    assert kept.read_bytes() == text
    kept.unlink()


def test_somebody_elses_edit_meanwhile_is_not_overwritten(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    forked: ProgramForker,
    fork_commands: None,
) -> None:
    run("doc", "write", "soul", "-", given="first")
    other = 'echo "theirs" | uncaged agent doc write soul - && echo mine > "$1"'
    monkeypatch.setenv("PATH", f"{forked.programs}:/usr/bin:/bin")
    monkeypatch.setenv("EDITOR", editor(tmp_path, other))
    with pytest.raises(Conflict) as problem:
        run("doc", "edit", "soul")
    assert run("doc", "show", "soul").stdout == "theirs\n"
    Path(problem.value.suggestion.rpartition(" ")[2].strip("`")).unlink()


@pytest.mark.parametrize("program", ["/nowhere/vi", "false", "'"])
def test_an_editor_that_fails_changes_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setenv("EDITOR", program)
    with pytest.raises(UsageError, match="editor"):
        run("doc", "edit", "soul")


def test_a_chats_own_memory_stands_in_its_prompt_alone(
    run: Run, runtime: Open, model: ScriptedModel, tmp_path: Path
) -> None:
    home = runtime(llm_url=model.url, data=str(tmp_path / "data"))
    run("doc", "write", "memory", "-", "--session", "telegram:7", given="Ada likes tea.")
    run("doc", "write", "memory", "-", given="The shop opens at nine.")
    tell(home, "hello", session="telegram:7")
    tell(home, "hello", session="telegram:8")

    seven, eight = (body["messages"][0]["content"] for body in model.bodies)
    assert "<<MEMORY>>\n## Long-term Memory\n\nThe shop opens at nine.\n<</MEMORY>>" in seven
    assert (
        "<<MEMORY OF THIS CHAT>>\n## Long-term Memory\n\nAda likes tea.\n<</MEMORY OF THIS CHAT>>"
        in seven
    )
    assert "Ada" not in eight
    assert "nine" in eight
    with pytest.raises(UsageError, match="no document of a chat's own"):
        run("doc", "write", "soul", "-", "--session", "telegram:7", given="x")


def test_the_prompt_is_shown_as_it_is_sent(
    run: Run, runtime: Open, model: ScriptedModel, tmp_path: Path
) -> None:
    home = runtime(llm_url=model.url, data=str(tmp_path / "data"))
    model.then(call(("sigil_query", {"query": "count words"})), say("one"))
    tell(home, "first")
    shown = json.loads(run("prompt", "telegram:7", "--json").stdout)
    people = run("prompt", "telegram:7")
    tell(home, "second")

    sent = model.bodies[-1]
    assert sent["messages"][:-1] == shown["messages"]
    assert sent["tools"] == shown["tools"]
    assert sum(segment["tokens"] for segment in shown["segments"]) == shown["tokens"]
    assert all(
        f"── {segment['name']} ── {segment['tokens']:,} tokens" in people.stdout
        for segment in shown["segments"]
    )
    assert people.stderr.startswith(f"about {shown['tokens']:,} tokens of 32,000")


def test_what_the_next_turn_takes_out_of_the_history_is_not_in_the_prompt(
    run: Run, runtime: Open, model: ScriptedModel, tmp_path: Path
) -> None:
    home = runtime(llm_url=model.url, data=str(tmp_path / "data"))
    for number in range(21):
        tell(home, f"message {number}")
    shown = json.loads(run("prompt", "telegram:7", "--json").stdout)
    people = run("prompt", "telegram:7")
    model.then(say("one more"))
    tell(home, "next")

    assert model.chats[-1]["messages"][:-1] == shown["messages"]
    assert len(shown["messages"]) < 21
    assert people.stderr.endswith(
        f"{shown['leaving']} messages leave the history before that turn; memory hears of them"
        " after it\n"
    )


def test_history_leaves_with_a_chats_documents(
    run: Run, runtime: Open, model: ScriptedModel, tmp_path: Path
) -> None:
    home = runtime(llm_url=model.url, data=str(tmp_path / "data"))
    model.then(
        call(
            (
                "save_memory",
                {"history_entry": "[2026-11-22 01:30] Ada came.", "memory_update": "- Ada"},
            )
        )
    )
    tell(home, "/mem I am Ada")
    assert (
        run("doc", "show", "history", "--session", "telegram:7").stdout
        == "[2026-11-22 01:30] Ada came.\n"
    )
    assert (
        run("doc", "export", "out", "--session", "telegram:7").stderr
        == "MEMORY.md, HISTORY.md in out\n"
    )
    assert (tmp_path / "out" / "HISTORY.md").read_text() == "[2026-11-22 01:30] Ada came.\n"
    (tmp_path / "out" / "HISTORY.md").write_text("[2026-11-22 01:30] Eve came.")
    assert run("doc", "import", "out", "--session", "telegram:7").stderr == "memory imported\n"
    assert run("history", "--session", "telegram:7").stdout == "[2026-11-22 01:30] Ada came.\n"


def test_what_happened_in_a_chat_is_printed(
    run: Run, runtime: Open, model: ScriptedModel, tmp_path: Path
) -> None:
    home = runtime(llm_url=model.url, data=str(tmp_path / "data"))
    assert (
        run("history", "--session", "telegram:7").stderr
        == "nothing was consolidated yet; /mem in the chat does it now\n"
    )
    saved = {
        "history_entry": "[2026-11-22 01:30] They talked of tea.",
        "memory_update": "# Memory\n- Tea.",
    }
    model.then(call(("save_memory", saved)))
    tell(home, "/mem I like tea")

    assert (
        run("history", "--session", "telegram:7").stdout
        == "[2026-11-22 01:30] They talked of tea.\n"
    )
    (row,) = json.loads(run("history", "--session", "telegram:7", "--json").stdout)
    assert (row["first"], row["last"], row["raw"]) == (1, 1, False)
    assert run("doc", "show", "memory", "--session", "telegram:7").stdout == "# Memory\n- Tea.\n"


def test_behaviours_are_documents_of_the_agent(run: Run, tmp_path: Path) -> None:
    name = "behaviour/on_wakeup"
    built_in = run("doc", "show", name).stdout
    assert built_in.startswith("You were woken")
    text = '+++\npins = ["sleep"]\n+++\nLook at the mail.'
    assert "version 1" in run("doc", "write", name, "-", given=text).stderr
    run("doc", "write", name, "-", given=text.replace("mail", "post"))
    changed = run("doc", "diff", name, "1").stdout
    assert "-Look at the mail.\n+Look at the post." in changed
    assert run("doc", "diff", name, "2").stderr == "version 2 and version 2 are the same\n"
    assert json.loads(run("doc", "diff", name, "0", "1", "--json").stdout)["old"] == 0
    run("doc", "write", "role", "-", given="A clerk.")
    assert run("doc", "diff", "role").stdout.endswith("+A clerk.\n")
    with pytest.raises(UsageError, match="no version 7"):
        run("doc", "diff", "role", "7")
    run("doc", "rollback", name, "1")
    run("doc", "write", "behaviour/rates", "-", given="Look at the rates.")
    written = [row["name"] for row in json.loads(run("doc", "list", "--json").stdout)]
    assert written == ["role", name, "behaviour/rates"]
    run("doc", "export", "out")
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == ["BEHAVIOUR.ON_WAKEUP.md", "BEHAVIOUR.RATES.md", "ROLE.md"]
    (tmp_path / "out" / "BEHAVIOUR.RATES.md").write_text("Look again.")
    (tmp_path / "out" / "BEHAVIOUR.no-name.md").write_text("not one of ours")
    assert "behaviour/rates imported" in run("doc", "import", "out").stderr
    assert run("doc", "show", "behaviour/rates").stdout == "Look again.\n"
    run("doc", "rollback", name, "0")
    assert run("doc", "show", name).stdout == built_in


def test_names_that_a_behaviour_does_not_find_are_told_when_it_is_written(run: Run) -> None:
    front = '+++\npins = ["sleep", "nothing-such"]\nnext = "no_such"\n+++\nLook.'
    told = run("doc", "write", "behaviour/rates", "-", given=front).stderr
    assert "there is no behaviour no_such to go on with; there are on_compact_memory" in told
    assert "there is no capability nothing-such to pin; it is left out" in told
    assert "sleep to pin" not in told
    own = '+++\nnext = "rates"\n+++\nLook again.'
    assert "there is no" not in run("doc", "write", "behaviour/rates", "-", given=own).stderr
    done = run("doc", "write", "behaviour/rates", "-", "--json", given=front)
    assert json.loads(done.stdout)["version"] == 3


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("behaviour/rates", "---\nmodel: x\n---\nLook.", "TOML between two lines"),
        ("behaviour/rates", '+++\nmodel = "x"\n+++\nLook.', "the offline model is the only one"),
        ("behaviour/Rates", "Look.", "behaviour/NAME such as behaviour/on_wakeup"),
        ("behaviour/rates --session telegram:42", "Look.", "no document of a chat's own"),
    ],
)
def test_a_behaviour_that_cannot_be_is_refused_with_what_to_do(
    run: Run, name: str, text: str, problem: str
) -> None:
    first, *options = name.split(" ")
    with pytest.raises(UsageError) as caught:
        run("doc", "write", first, "-", *options, given=text)
    assert problem in f"{caught.value.message}; {caught.value.suggestion}"
