"""`uncaged agent export` and `uncaged agent import`, as a person types them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner, Result

from functions.agent.knowledge.record import make_draft
from functions.agent.memory.thing import Kind, Thing
from functions.agent.memory.things import Things
from functions.agent.schedules.schedule import Schedule
from functions.agent.schedules.when import When
from functions.agent.skills.package import SkillPackage
from functions.agent.team.board import Board, NewTask
from functions.agent.workspace.files import Workspace
from functions.cli.app import cli
from functions.cli.local_agent import open_agent
from functions.wiring import AgentRuntime
from sigil.errors import BackendError, SigilError, UsageError
from tests.fakes.model import ScriptedModel
from tests.functions.agent.talk import tell

Run = Callable[..., Result]
SKILL = """\
---
name: house-style
description: How we write. Use it for every text.
---
Write short sentences.
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str, at: str, given: str | None = None) -> Result:
        monkeypatch.setenv("UNCAGED_DATA", str(tmp_path / at))
        done = CliRunner().invoke(cli, list(arguments), input=given)
        if isinstance(done.exception, SigilError):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done

    return command


def fill_agent(run: Run, place: Path) -> None:
    """Write something of every kind, some of it twice, and some of it removed."""
    skill = place / "house-style"
    (skill / "references").mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL)
    (skill / "references" / "words.md").write_text("colour\n")
    for name, text in (
        ("soul", "# Soul\nWild."),
        ("soul", "# Soul\nCalm.  "),
        ("role", "You keep the books."),
        ("memory", "The shop opens at nine.\n\nÄpfel, 苹果."),
        ("tools", "Ask before you send."),
        ("user", "Nobody yet."),
        ("user", ""),
        ("behaviour/on_wakeup", "Look at the books first."),
        ("behaviour/on_wakeup", ""),
    ):
        run("agent", "doc", "write", name, "-", at="one", given=text)
    run("skill", "add", "house-style", at="one")
    (skill / "references" / "words.md").unlink()
    run("skill", "add", "house-style", at="one")
    run("skill", "pin", "house-style", at="one")
    for path, text in (
        ("notes/plan.md", "one\n"),
        ("notes/plan.md", "two\n"),
        ("z.bin", "\x01\r\n"),
    ):
        run("agent", "files", "put", path, "-", at="one", given=text)
    fill_agent_below(run)


def fill_agent_below(run: Run) -> None:
    """Make an agent below the root, and write something of every kind."""
    alice = ("--agent", "alice")
    limits = ("--tokens", "5000", "--access", "open", "--heartbeat", "off")
    run("agent", "create", "alice", *limits, "--prompt", "Look at the tests.", at="one")
    run("agent", "doc", "write", "role", "-", *alice, at="one", given="You are a coder.")
    run("agent", "files", "put", "a.md", "-", *alice, at="one", given="x\n")
    run("skill", "add", "house-style", *alice, at="one")
    run("agent", "create", "gone", at="one")
    run("agent", "archive", "gone", at="one")


def remember(runtime: AgentRuntime, at: float, *texts: str, kind: Kind = "kv") -> None:
    """Let all chats of an agent remember something that a person said."""
    app = runtime.app
    things = Things(app.kv, app.documents.agent, app.helpers.terms)
    things.save(Thing(kind, texts, "user", 1.0, at, by="telegram:1"))


def ask_git(folder: Path, *arguments: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def test_an_agent_reads_the_same_elsewhere(
    run: Run,
    runtime: Callable[..., AgentRuntime],
    model: ScriptedModel,
    tmp_path: Path,
) -> None:
    fill_agent(run, tmp_path)
    one = runtime(llm_url=model.url, data=str(tmp_path / "one"), stamp="")
    for number in range(14):
        remember(one, 1_750_000_000.0 + number, f"shelf {number}", f"jam {number}")
    remember(one, 1_700_000_000.0, "Ada", "likes", "Äpfel", kind="fact")
    first = Thing("kv", ("shelf 0", "jam 0"), "user", 1.0, 0.0)
    for _ in range(3):
        Things(one.app.kv, "main", one.app.helpers.terms).count_uses([first.id], 1_760_000_000.0)
    Board(one.app.kv, "main", lambda: 1_760_000_000.0).add(
        NewTask(subject="Count the jam", by="telegram:1", home="telegram:1")
    )
    one.app.open_knowledge("agent").add(
        make_draft(
            title="Rent", source="lease.pdf", text="It is 900.", by="terminal:local", time=1.0
        ),
        may_replace=False,
    )
    daily = When(kind="cron", cron="0 9 * * *", zone="Europe/Vienna")
    one.app.schedules.add(
        Schedule(id="", when=daily, session="telegram:1", by="telegram:1", since=0.0, text="Look")
    )
    tell(one, "hello")  # the agent is told what people changed, once
    tell(one, "/new")
    run("agent", "export", "tree", at="one")
    planned = json.loads(run("agent", "import", "tree", "--dry-run", "--json", at="two").stdout)
    assert json.loads(run("agent", "doc", "list", "--json", at="two").stdout) == []
    done = json.loads(run("agent", "import", "tree", "--json", at="two").stdout)
    assert done["written"] == planned["written"] != []
    assert done["left"] == done["refused"] == []
    assert "environment/todo/tasks.jsonl: Count the jam" in done["written"]
    assert (
        "environment/schedules.jsonl: Look (every day at 09:00 (Europe/Vienna); paused)"
        in done["written"]
    )
    todo = tmp_path / "tree/environment/todo"
    assert (todo / "tasks.md").read_text() == "```\n[ ] #1: Count the jam\n```\n"
    row = json.loads((todo / "tasks.jsonl").read_text())
    assert (row["id"], row["status"]) == (1, "pending")
    assert "telegram" not in str(row)

    tell(one, "hello")
    tell(runtime(llm_url=model.url, data=str(tmp_path / "two"), stamp=""), "hello")
    here, there = model.requests[-2:]
    assert here.body == there.body
    assert b"Write short sentences." in here.body
    assert "苹果" in model.bodies[0]["messages"][0]["content"]
    for line in (b"shelf 0: jam 0", b"Ada likes", b"shelf 13: jam 13"):
        assert line in here.body
    listed = json.loads(run("agent", "list", "--json", at="two").stdout)
    (alice,) = listed
    assert (alice["name"], alice["tokens"]) == ("alice", 5000)
    assert alice["prompt"] == "Look at the tests."
    assert not alice["access"], "who may talk to it is said where it is imported"
    below = ("--agent", "alice")
    assert run("agent", "files", "show", "a.md", *below, at="two").stdout == "x\n"
    assert "house-style" in run("skill", "list", *below, at="two").stdout

    again = run("agent", "import", "tree", at="two")
    assert again.stderr == "nothing to write: all of it is there already\n"
    two = runtime(data=str(tmp_path / "two")).app
    (schedule,) = two.schedules.list_of_chat("terminal:main")
    assert (schedule.text, schedule.paused, schedule.by) == ("Look", "paused", "terminal:local")
    (task,) = Board(two.kv, "main", lambda: 0.0).list_open()
    assert (task.subject, task.personal, task.home) == ("Count the jam", True, "terminal:main")
    run("agent", "export", "copy", at="two")
    assert "telegram" not in (tmp_path / "tree/environment/schedules.jsonl").read_text()
    shutil.rmtree(todo)
    shutil.rmtree(tmp_path / "copy/environment/todo")
    for folder in ("tree", "copy"):
        shutil.rmtree(tmp_path / folder / ".git")
    assert read_files(tmp_path / "tree") == read_files(tmp_path / "copy")
    assert read_files(tmp_path / "tree")["behaviors/on_wakeup.md"] == b""


def test_nothing_in_an_export_is_obeyed_by_a_program_and_all_of_it_comes_back(
    run: Run, runtime: Callable[..., AgentRuntime], tmp_path: Path
) -> None:
    one = runtime(data=str(tmp_path / "one"))
    files = {".git/config": b"[core]\n", "a/.hidden": b"x", "a/b.md": b"y"}
    one.app.skills.write(SkillPackage(SKILL.encode(), files), by="http:admin")
    written = (".envrc", "lib/.vscode/tasks.json", "Team.code-workspace", ".npmrc", "Makefile")
    for path in written:
        run("agent", "files", "put", path, "-", at="one", given=f"{path}\n")
    said = run("agent", "export", "tree", at="one").stderr

    found = read_files(tmp_path / "tree" / "environment" / "skills" / "house-style")
    assert sorted(found) == [".git.disabled/config", "SKILL.md", "a/.hidden.disabled", "a/b.md"]
    found = read_files(tmp_path / "tree" / "workspace")
    assert sorted(found) == [
        ".envrc.disabled",
        ".npmrc.disabled",
        "Makefile",
        "Team.code-workspace.disabled",
        "lib/.vscode.disabled/tasks.json",
    ]
    assert "workspace/.envrc.disabled" in said
    run("agent", "import", "tree", at="two")
    listed = json.loads(run("agent", "files", "list", "--json", at="two").stdout)["items"]
    assert sorted(row["path"] for row in listed) == sorted(written)
    again = json.loads(run("agent", "import", "tree", "--dry-run", "--json", at="two").stdout)
    assert again["written"] == again["left"] == again["refused"] == []
    two = runtime(data=str(tmp_path / "two"))
    assert two.app.skills.pack(two.app.skills.read("house-style")).files == files
    disabled = json.loads(run("agent", "export", "again", "--json", at="two").stdout)["disabled"]
    assert "environment/skills/house-style/.git.disabled/config" in disabled
    said = run("skill", "export", "skills", at="one").stderr
    assert "house-style/.git.disabled/config" in said


def read_files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_export_is_a_repository_with_a_commit_for_each_write(run: Run, tmp_path: Path) -> None:
    fill_agent(run, tmp_path)
    row = json.loads(run("agent", "export", "tree", "--json", at="one").stdout)
    run("agent", "export", "twin", at="one")

    tree = tmp_path / "tree"
    ask_git(tree, "fsck", "--strict")
    assert ask_git(tree, "status", "--porcelain") == ""
    subjects = ask_git(tree, "log", "--reverse", "--format=%s").splitlines()
    assert len(subjects) == row["commits"] == 18
    assert subjects[:3] == [
        "Describe the tree",
        "Write soul, version 1",
        "Write soul, version 2",
    ]
    assert "alice: Write role, version 1" in subjects
    assert ask_git(tree, "log", "-1", "--format=%an") == "terminal:local\n"
    first = ask_git(tree, "log", "--grep=soul, version 1", "--format=%H").strip()
    assert ask_git(tree, "show", f"{first}:soul.md") == "# Soul\nWild.\n"
    assert "user.md" not in ask_git(tree, "ls-files")
    assert "words.md" not in ask_git(tree, "ls-files")
    assert ask_git(tree, "rev-parse", "HEAD") == ask_git(tmp_path / "twin", "rev-parse", "HEAD")


def test_an_import_that_was_killed_is_completed_by_the_next(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_agent(run, tmp_path)
    run("agent", "export", "tree", at="one")

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    rest = json.loads(run("agent", "import", "tree", "--json", at="one").stdout)
    assert rest["written"] == []
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path / "two"))
    with monkeypatch.context() as patched:
        patched.setattr(Workspace, "write", die)
        assert CliRunner().invoke(cli, ["agent", "import", "tree"]).exit_code != 0
    rest = json.loads(run("agent", "import", "tree", "--json", at="two").stdout)
    assert rest["written"] == [
        "workspace/notes/plan.md",
        "workspace/z.bin",
        "sub-agents/alice/workspace.json: a new agent",
        "sub-agents/alice/role.md",
        "sub-agents/alice/environment/skills/house-style",
        "sub-agents/alice/workspace/a.md",
    ]
    history = json.loads(run("agent", "doc", "history", "soul", "--json", at="two").stdout)
    assert [version["version"] for version in history] == [1]


def test_an_import_that_fails_lists_as_written_what_was_written_alone(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_agent(run, tmp_path)
    with monkeypatch.context() as patched:
        patched.setenv("UNCAGED_DATA", str(tmp_path / "one"))
        with open_agent(name=None) as (app, _):
            board = Board(app.kv, "main", app.clock.now)
            board.add(NewTask(subject="Buy paper", home="telegram:7", by="telegram:7"))
    run("agent", "export", "tree", at="one")
    planned = json.loads(run("agent", "import", "tree", "--dry-run", "--json", at="two").stdout)
    assert "environment/todo/tasks.jsonl: Buy paper" in planned["written"]
    full = UsageError("ETOOBIG", "the board is full")
    table = (
        (Board, "add", full, 0, "environment/todo/tasks.jsonl: Buy paper: the board is full"),
        (Workspace, "write", BackendError("EBACKEND", "the disk is full"), 1, ""),
    )
    for kind, name, problem, code, refused in table:
        monkeypatch.setenv("UNCAGED_DATA", str(tmp_path / f"cut-{name}"))
        with monkeypatch.context() as patched:
            patched.setattr(kind, name, Mock(side_effect=problem))
            done = CliRunner().invoke(cli, ["agent", "import", "tree", "--json"])
        assert done.exit_code == code
        report = json.loads(done.stdout)
        assert report["refused"] == [refused][: bool(refused)]
        missing = [each for each in planned["written"] if each not in report["written"]]
        assert report["written"] == [e for e in planned["written"] if e not in missing]
        if refused:
            assert missing == ["environment/todo/tasks.jsonl: Buy paper"]
        else:
            assert report["failed"][0] == f"{missing[0]}: the disk is full"
            assert report["failed"][1:] == [f"{each}: not tried after that" for each in missing[1:]]
        again = json.loads(run("agent", "import", "tree", "--json", at=f"cut-{name}").stdout)
        assert again["written"] == missing


def test_secrets_of_the_settings_do_not_travel(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNCAGED_LLM_KEY", "sk-0123456789abcdef")
    run("agent", "doc", "write", "role", "-", at="one", given="Use sk-0123456789abcdef for it.")
    run("agent", "files", "put", "a", "-", at="one", given="key: sk-0123456789abcdef")
    run("agent", "doc", "write", "role", "-", at="one", given="Nothing.")
    run("agent", "export", "tree", at="one")

    assert (tmp_path / "tree" / "workspace" / "a").read_text() == "key: {{UNCAGED_LLM_KEY}}"
    history = ask_git(tmp_path / "tree", "log", "-p")
    assert "{{UNCAGED_LLM_KEY}} for it" in history
    assert "0123456789" not in history


def test_a_tree_that_no_agent_can_have_is_refused_whole(run: Run, tmp_path: Path) -> None:
    fill_agent(run, tmp_path)
    run("agent", "export", "tree", at="one")
    skill = "environment/skills/house-style"

    def link(tree: Path) -> None:
        (tree / "role.md").unlink()
        (tree / "role.md").symlink_to("/etc/passwd")

    def pipe(tree: Path) -> None:
        os.mkfifo(tree / "workspace" / "pipe")

    def twin(tree: Path) -> None:
        (tree / "workspace" / "Z.bin").write_text("x")

    def folder_link(tree: Path) -> None:
        (tree / "workspace" / "all").symlink_to("/")

    def large(tree: Path) -> None:
        (tree / "workspace" / "large").write_bytes(b"x" * (256 * 1024 + 1))

    def device(tree: Path) -> None:
        (tree / "workspace" / "nul.txt").write_text("x")

    def received(tree: Path) -> None:
        (tree / "workspace" / "received").mkdir()
        (tree / "workspace" / "received" / "a").write_text("x")

    def renamed(tree: Path) -> None:
        (tree / skill).rename(tree / "environment" / "skills" / "other")

    def newer(tree: Path) -> None:
        (tree / "workspace.json").write_text('{"format": 2}')

    def invisible(tree: Path) -> None:
        (tree / "soul.md").write_text("Be\u200bcalm.")

    def forged(tree: Path) -> None:
        row = '{"kind":"kv","key":"a","value":"b","updated_at":1,"source":"","confidence":1'
        (tree / "memory" / "things.jsonl").write_text(row + ',"by":"","mark":""}\n')

    def garbled(tree: Path) -> None:
        (tree / "memory" / "things.jsonl").write_text('{"kind": "spell"}\n')

    def below(tree: Path) -> None:
        (tree / "sub-agents/alice/workspace/nul.txt").write_text("x")

    def unfit(tree: Path) -> None:
        text = '{"format": 1, "agent": {"tokens": -1}}'
        (tree / "sub-agents/alice/workspace.json").write_text(text)

    def long(tree: Path) -> None:
        (tree / "self.md").write_text("x" * 8_001)

    table = (
        (link, "is a link"),
        (pipe, "no plain file"),
        (twin, "are one file on many systems"),
        (folder_link, "is a link"),
        (large, "cannot be read: it has more than 256 KiB"),
        (device, "reserved"),
        (received, "as people sent them"),
        (renamed, "with the name house-style"),
        (newer, "of another format"),
        (invisible, "invisible character"),
        (long, "has 8,001 characters"),
        (forged, "line 1 of memory/things.jsonl is nothing to remember: source has to say"),
        (garbled, "line 1 of memory/things.jsonl is nothing to remember"),
        (below, "reserved"),
        (unfit, "tokens"),
    )
    for spoil, message in table:
        tree = tmp_path / spoil.__name__
        shutil.copytree(tmp_path / "tree", tree)
        spoil(tree)
        with pytest.raises(UsageError) as problem:
            run("agent", "import", str(tree), at="two")
        assert message in problem.value.message, spoil.__name__
    assert json.loads(run("agent", "doc", "list", "--json", at="two").stdout) == []
    with pytest.raises(UsageError, match="is there already"):
        run("agent", "export", "tree", at="one")
    (tmp_path / "tree" / "notes.txt").write_text("mine")
    described = {"format": 1, "agent": {"guide": "os:system", "access": "open", "tokens": 7}}
    (tmp_path / "tree/sub-agents/alice/workspace.json").write_text(json.dumps(described))
    left = json.loads(run("agent", "import", "tree", "--json", at="two").stdout)["left"]
    assert left == ["notes.txt"]
    (alice,) = json.loads(run("agent", "list", "--json", at="two").stdout)
    assert (alice["tokens"], alice["guide"], alice["access"]) == (7, "", None)


def test_work_that_cannot_be_is_left_with_a_sentence_and_what_is_no_work_refuses_the_tree(
    run: Run, tmp_path: Path
) -> None:
    fill_agent(run, tmp_path)
    run("agent", "export", "tree", at="one")
    environment = tmp_path / "tree" / "environment"
    words = {"text": "Look", "say": "", "name": "", "behaviour": "", "model": ""}
    bad = (
        {"kind": "cron", "cron": "0 0 30 2 *", "zone": "UTC"},
        {"kind": "cron", "cron": "0 9 * * *", "zone": "Nowhere/Else"},
        {"kind": "cron", "cron": "0 9 * * *", "zone": "UTC", "cycle": 14, "anchor": "x"},
        {
            "kind": "cron",
            "cron": "0 9 * * *",
            "zone": "UTC",
            "cycle": 10**15,
            "anchor": "2026-01-01",
        },
        {"kind": "at", "at": 1.0, "zone": "UTC"},
    )
    good = {"kind": "every", "every": 3600.0, "zone": "UTC"}
    lines = [json.dumps({**words, "when": when}) for when in (*bad, good)]
    (environment / "schedules.jsonl").write_text("\n".join(lines))
    (environment / "todo").mkdir()
    todo = environment / "todo" / "tasks.jsonl"
    rows = ({"id": 2, "subject": "b", "blockedBy": [1]}, {"id": 1, "subject": "a"}, {"id": 3})
    todo.write_text("\n".join(map(json.dumps, rows)))
    done = json.loads(run("agent", "import", "tree", "--json", at="two").stdout)
    assert len(done["refused"]) == len(bad) + 1
    assert [row for row in done["written"] if "schedules" in row] == [
        "environment/schedules.jsonl: Look (every hour (UTC); paused)"
    ]

    for path, body in (
        (todo, '{"id": "x"}'),
        (todo, "[" * 5_000),
        (environment / "schedules.jsonl", '{"when": 1}'),
        (environment / "knowledge" / "a.json", '{"title": "a", "source": "b", "text": 7}'),
    ):
        path.parent.mkdir(exist_ok=True)
        before = path.read_bytes() if path.exists() else None
        path.write_text(body)
        with pytest.raises(SigilError):
            run("agent", "import", "tree", at="three")
        path.unlink()
        if before is not None:
            path.write_bytes(before)
