"""`uncaged import`, as a person types it."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from functions.agent.agents.record import scan_agents
from functions.agent.memory.documents import CAPS
from functions.agent.memory.things import Things
from functions.agent.schedules.schedule import Schedule
from functions.agent.team.board import Board
from functions.cli.app import cli
from functions.cli.local_agent import make_opener, open_agent
from functions.wiring import AgentRuntime
from sigil.cli.app import app as sigil_cli
from sigil.errors import BackendError, SigilError, UsageError
from sigil.storage.kv.sqlite import SqliteKV
from tests.fakes.mcp import FakeMcp
from tests.fakes.model import ScriptedModel
from tests.functions.agent.talk import tell
from tests.functions.cli.moving.programs import (
    BOT_TOKEN,
    GITHUB_TOKEN,
    NANOBOT_CONFIG,
    SECRETS,
    WEATHER_SKILL,
    make_early_letta,
    make_letta,
    write_files,
    write_nanobot,
    write_openclaw,
)
from tests.proofs import ROOT

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path / "data"))

    def command(*arguments: str, given: str | None = None) -> Result:
        done = CliRunner().invoke(cli, list(arguments), input=given)
        if isinstance(done.exception, SigilError):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done

    return command


def take(run: Run, program: str, path: Path, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("import", program, str(path), *options, "--json").stdout)
    return found


def list_states(found: dict[str, Any]) -> dict[str, str]:
    return {change["name"]: change["state"] for change in found["changes"]}


def list_left(found: dict[str, Any]) -> dict[str, str]:
    return {left["what"]: f"{left['why']} {left['hint']}" for left in found["left"]}


def read_document(run: Run, name: str, *options: str) -> str:
    text: str = json.loads(run("agent", "doc", "show", name, "--json", *options).stdout)["text"]
    return text


def test_an_agent_of_nanobot_is_taken_over(
    run: Run, runtime: Callable[..., AgentRuntime], model: ScriptedModel, tmp_path: Path
) -> None:
    source = write_nanobot(tmp_path / "nanobot")
    before = sorted(path.stat().st_mtime_ns for path in source.rglob("*"))
    planned = take(run, "nanobot", source, "--dry-run")
    assert json.loads(run("agent", "doc", "list", "--json").stdout) == []
    assert json.loads(run("skill", "list", "--json").stdout) == []

    done = take(run, "nanobot", source)
    assert done == {**planned, "dry_run": False}
    assert set(list_states(done).values()) == {"new"}
    assert read_document(run, "memory") == "# Long-term Memory\n\n## Preferences\n\n- likes tea"
    skill = json.loads(run("skill", "show", "weather", "--json").stdout)
    assert skill["text"] == WEATHER_SKILL.strip()
    assert [file["path"] for file in skill["files"]] == ["references/cities.md"]
    events = json.loads(run("agent", "memory", "--kind", "events", "--json").stdout)
    assert [(event["source"], event["type"]) for event in events] == [("nanobot", "history")] * 2
    assert events[0]["payload"].endswith("ASSISTANT: at the depot in Graz")

    one = runtime(llm_url=model.url, data=str(tmp_path / "data"))
    tell(one, "hello")
    prompt = model.bodies[-1]["messages"][0]["content"]
    for part in ("I am Nano, a curious helper. 🐈", "Be concise and accurate.", "likes tea"):
        assert part in prompt
    assert "Naxos" not in prompt, "what is found by search only is not in every prompt"

    again = take(run, "nanobot", source)
    assert set(list_states(again).values()) == {"same"}
    history = json.loads(run("agent", "doc", "history", "soul", "--json").stdout)
    assert [(version["version"], version["why"]) for version in history] == [
        (1, "imported from nanobot")
    ]
    assert sorted(path.stat().st_mtime_ns for path in source.rglob("*")) == before


def test_no_secret_comes_along_and_each_is_named(run: Run, tmp_path: Path) -> None:
    source = write_nanobot(tmp_path / "nanobot")
    text = run("import", "nanobot", str(source)).output
    found = take(run, "nanobot", source)
    backup = run("agent", "export", str(tmp_path / "tree"))
    kept = [path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()]
    kept += [path.read_bytes() for path in (tmp_path / "tree").rglob("*") if path.is_file()]
    for secret in SECRETS:
        assert secret not in text + backup.output + json.dumps(found)
        assert not any(secret.encode() in body for body in kept), secret
    assert read_document(run, "tools") == "# Tools\n\nSearch with {{secret}}. 密码：{{secret}}"
    left = list_left(found)
    assert left["channels.telegram.token"] == "is a secret `uncaged setup telegram` asks for it"
    assert "uncaged setup model" in left["providers.anthropic.apiKey"]
    assert "sigil secret set" in left["tools.mcpServers.github.env.GITHUB_TOKEN"]
    assert "tools.web.search.apiKey" in left
    assert "channels.qq.secret" not in left, "what is empty is no secret"
    assert left["TOOLS.md"].startswith("has 2 texts that look like a secret: {{secret}} stands")
    for name in ("sessions", "report.csv"):
        assert name in left
    assert "no name of a skill" in left["skills/My_Skill"]


def test_mcp_servers_are_named_with_the_commands_that_add_them(run: Run, tmp_path: Path) -> None:
    found = take(run, "nanobot", write_nanobot(tmp_path / "nanobot"))
    assert {row["name"]: row["command"] for row in found["mcp"]} == {
        "github": (
            "sigil mcp add --name github --env GITHUB_TOKEN=secret:GITHUB_TOKEN"
            " -- npx -y @modelcontextprotocol/server-github"
        ),
        "docs-server": (
            "sigil mcp add --name docs-server"
            " --header 'Authorization: Bearer secret:DOCS_SERVER_AUTHORIZATION'"
            " https://docs.example.com/mcp"
        ),
    }
    assert found["mcp"][0]["secrets"] == ["GITHUB_TOKEN"]
    assert {row["state"] for row in found["mcp"]} == {"not added"}
    left = list_left(found)
    for name, why in (
        ("unseen", "nobody sees"),
        ("leaky", "argument"),
        ("old", "SSE"),
        ("hosted", "contain a secret"),
    ):
        assert why in left[f"the MCP server {name}"]

    found = take(run, "openclaw", write_openclaw(tmp_path / "openclaw"), "--dry-run")
    assert [row["command"] for row in found["mcp"]] == [
        "sigil mcp add --name context7 -- uvx context7-mcp",
        "sigil mcp add --name docs --only search https://mcp.example.com/mcp",
    ]
    left = list_left(found)
    for name, why in (("off", "switched off"), ("filtered", "patterns"), ("local", "folder")):
        assert why in left[f"the MCP server {name}"]


def test_an_agent_of_openclaw_is_taken_over_with_its_notes(run: Run, tmp_path: Path) -> None:
    source = write_openclaw(tmp_path / "openclaw")
    found = take(run, "openclaw", source)
    assert list_states(found) == dict.fromkeys(
        (
            *("agents", "soul", "user", "tools", "self", "memory"),
            *("weather", "shared-notes", "coder"),
            *(f"memory/{name}.md" for name in ("2026-03-01", "2026-03-02", "projects")),
        ),
        "new",
    )
    assert "🦞" in read_document(run, "self")
    assert (
        json.loads(run("skill", "show", "weather", "--json").stdout)["text"]
        == WEATHER_SKILL.strip()
    )
    events = json.loads(run("agent", "memory", "--json").stdout)
    assert "The plumber came at ten." in {event["payload"].split("\n\n")[-1] for event in events}
    left = list_left(found)
    assert "same name" in left["skills/weather"]
    for name in ("credentials", "agents", "HEARTBEAT.md"):
        assert name in left
    assert "the model anthropic/claude-opus-4-6" in left
    assert BOT_TOKEN not in json.dumps(found)
    assert "uncaged setup telegram" in left["channels.telegram.botToken"]

    # a workspace alone, as people keep it under git
    alone = take(run, "openclaw", source / "workspace")
    assert set(list_states(alone).values()) == {"same"}
    assert alone["mcp"] == []


def test_an_agent_of_letta_is_taken_over_with_its_blocks(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "sam.af"
    file.write_text(json.dumps(make_letta(), indent=2))
    found = take(run, "letta", file)
    assert list_states(found) == dict.fromkeys(("soul", "user", "memory", "its messages"), "new")
    assert read_document(run, "soul") == "I am Sam."
    memory = "## projects\n\nThe move to Graz. The key is {{secret}}."
    assert read_document(run, "memory") == memory
    (event,) = json.loads(run("agent", "memory", "--json").stdout)
    assert event["payload"] == (
        "[2026-01-05T10:01] USER: how do I get to Naxos?\n"
        "[2026-01-05T10:02] ASSISTANT: Take the ferry."
    )
    assert [row["command"] for row in found["mcp"]] == [
        "sigil mcp add --name files -- npx -y files-mcp",
        "sigil mcp add --name linear https://mcp.linear.app/mcp",
    ]
    left = list_left(found)
    assert "Python" in left["the tool cancel_order"]
    assert "tool_exec_environment_variables.GITHUB_TOKEN" in left
    assert GITHUB_TOKEN not in json.dumps(found)

    early = tmp_path / "early.af"
    early.write_text(json.dumps(make_early_letta()))
    found = take(run, "letta", early, "--replace")
    assert list_states(found) == {"soul": "replaced", "agents": "new"}
    assert "tool_exec_environment_variables.GITHUB_TOKEN" in list_left(found)

    files = make_letta(
        files_agents=[{"id": "file_agent-0", "agent_id": "agent-0", "file_id": "file-0"}],
        source_ids=["source-1"],
    )
    files["sources"] = [{"id": "source-0", "name": "a"}, {"id": "source-1", "name": "b"}]
    files["files"] = [
        {"id": "file-0", "source_id": "source-0", "file_name": "a.md", "content": "Ferries go."},
        {"id": "file-1", "source_id": "source-1", "file_name": "b.md", "content": "At noon."},
        {"id": "file-2", "source_id": "source-0", "file_name": "c.md", "content": "Of others."},
        {"id": "file-3", "source_id": "source-1", "file_name": "d.pdf", "content": None},
    ]
    file.write_text(json.dumps(files))
    found = take(run, "letta", file)
    assert (list_states(found)["a.md"], list_states(found)["b.md"]) == ("new", "new")
    assert "has no text" in list_left(found)["the file d.pdf"]
    assert "another agent" in list_left(found)["1 files"]
    with open_agent(name=None) as (app, _):
        titles = {each.record.title for each in app.open_knowledge("agent").scan()}
    assert titles == {"a.md", "b.md"}
    assert set(list_states(take(run, "letta", file)).values()) == {"same", "kept"}

    both = make_letta()
    both["agents"].append({**both["agents"][0], "name": "Max"})
    file.write_text(json.dumps(both))
    with pytest.raises(UsageError, match="2 agents") as problem:
        run("import", "letta", str(file))
    assert problem.value.suggestion == "choose one with --name: Sam, Max"
    assert list_states(take(run, "letta", file, "--name", "Max"))["user"] == "same"


def test_what_is_here_stays_unless_it_shall_be_replaced(run: Run, tmp_path: Path) -> None:
    run("agent", "doc", "write", "soul", "-", given="I was here first.")
    run("agent", "doc", "write", "user", "-", given="Somebody.")
    run("agent", "doc", "write", "user", "-", given="")
    source = write_nanobot(tmp_path / "nanobot")
    states = list_states(take(run, "nanobot", source))
    assert states["soul"] == "kept"
    assert states["user"] == "new", "an empty document is none"
    assert read_document(run, "soul") == "I was here first."

    (source / "workspace/skills/weather/SKILL.md").write_text(f"{WEATHER_SKILL}\nMore.\n")
    assert list_states(take(run, "nanobot", source))["weather"] == "kept"
    states = list_states(take(run, "nanobot", source, "--replace"))
    assert (states["soul"], states["weather"], states["agents"]) == ("replaced", "replaced", "same")
    assert read_document(run, "soul").startswith("# Soul\n\nI am Nano")
    run("agent", "doc", "rollback", "soul", "1")
    assert read_document(run, "soul") == "I was here first."


def test_what_is_personal_can_go_into_one_chat(run: Run, tmp_path: Path) -> None:
    chat = ("--session", "telegram:42")
    text = run("import", "nanobot", str(write_nanobot(tmp_path / "nanobot")), *chat).output
    assert "all chats" not in text
    assert read_document(run, "user", *chat) == "# User Profile\n\n- **Name**: Ada"
    written = json.loads(run("agent", "doc", "list", "--json").stdout)
    assert {doc["name"] for doc in written} == {"soul", "agents", "tools"}
    assert "Nano" in read_document(run, "soul")
    assert json.loads(run("agent", "memory", "--json").stdout) == []
    assert len(json.loads(run("agent", "memory", *chat, "--json").stdout)) == 2


def test_a_memory_that_is_too_long_is_found_by_search_instead(run: Run, tmp_path: Path) -> None:
    sections = "\n\n".join(f"## Topic {n}\n\n{f'fact {n} ' * 100}" for n in range(20))
    source = write_files(tmp_path / "x", {"MEMORY.md": sections, "AGENTS.md": "a b " * 3_000})
    found = take(run, "openclaw", source)
    assert list_states(found) == {"MEMORY.md": "new"}
    assert "has 11,999 characters, and the document agents" in list_left(found)["AGENTS.md"]
    events = json.loads(run("agent", "memory", "--json").stdout)
    assert all(event["type"] == "memory" for event in events)
    assert sum(event["payload"].count("fact 7 ") for event in events) >= 99


def test_a_hostile_folder_is_refused_before_anything_is_written(run: Run, tmp_path: Path) -> None:
    def link(folder: Path) -> None:
        (folder / "workspace/SOUL.md").unlink()
        (folder / "workspace/SOUL.md").symlink_to("/etc/passwd")

    def folder_link(folder: Path) -> None:
        (folder / "workspace").rename(folder / "other")
        (folder / "workspace").symlink_to(folder / "other")

    def pipe(folder: Path) -> None:
        (folder / "workspace/USER.md").unlink()
        os.mkfifo(folder / "workspace/USER.md")

    def large(folder: Path) -> None:
        (folder / "workspace/SOUL.md").write_bytes(b"x" * (1024 * 1024 + 1))

    def broken(folder: Path) -> None:
        (folder / "config.json").write_text('{"agents": ')

    def listed(folder: Path) -> None:
        (folder / "config.json").write_text("[]")

    def deep(folder: Path) -> None:
        (folder / "config.json").write_text('{"a":' * 10_000 + "1" + "}" * 10_000)

    def deeper(folder: Path) -> None:
        (folder / "config.json").write_text('{"a":' * 200 + "1" + "}" * 200)

    def latin(folder: Path) -> None:
        (folder / "workspace/USER.md").write_bytes("Größe".encode("latin-1"))

    def empty(folder: Path) -> None:
        for path in (folder / "workspace", folder / "config.json"):
            path.rename(tmp_path / f"gone-{path.name}")

    table = (
        (link, "SOUL.md is a link"),
        (folder_link, "workspace is a link"),
        (pipe, "not a regular file"),
        (large, "more than 1,024 KiB"),
        (broken, "config.json is not JSON"),
        (listed, "must be a JSON object"),
        (deep, "config.json is not JSON"),
        (deeper, "nested deeper than 100"),
        (latin, "USER.md is not UTF-8"),
        (empty, "nothing of an agent of nanobot"),
    )
    for spoil, message in table:
        folder = write_nanobot(tmp_path / spoil.__name__)
        spoil(folder)
        with pytest.raises(UsageError) as problem:
            run("import", "nanobot", str(folder))
        assert message in problem.value.message, spoil.__name__
    for file, message in (
        ("nothing.af", "is no file"),
        ("list.af", "no agent file"),
        ("empty.af", "no agent in this file"),
        ("deep.af", "not JSON"),
    ):
        bodies = {"list.af": "[]", "empty.af": "{}", "deep.af": "[" * 10_000}
        if file in bodies:
            (tmp_path / file).write_text(bodies[file])
        with pytest.raises(UsageError) as problem:
            run("import", "letta", str(tmp_path / file))
        assert message in problem.value.message, file
    assert json.loads(run("agent", "doc", "list", "--json").stdout) == []
    assert json.loads(run("agent", "memory", "--json").stdout) == []


def test_names_that_are_no_text_do_no_harm(run: Run, tmp_path: Path) -> None:
    source = write_nanobot(tmp_path / "nanobot")
    odd = os.fsdecode(b"\xff\x1b[2J\n")
    write_files(
        source / "workspace",
        {
            odd: "x",
            f"memory/{odd}.md": "The key is under the mat.",
            f"skills/{odd}/SKILL.md": WEATHER_SKILL.replace("weather", "odd"),
            f"skills/{odd}2/SKILL.md": "no front matter",
        },
    )
    found = take(run, "nanobot", source)
    assert list_states(found)["odd"] == "new"
    assert "\\u001b" not in json.dumps(found)
    text = run("import", "nanobot", str(source), "--dry-run").output
    assert "\x1b" not in text
    assert "?" in text


def test_a_skill_that_cannot_be_kept_is_left_out_alone(run: Run, tmp_path: Path) -> None:
    source = write_nanobot(tmp_path / "nanobot")
    skills = source / "workspace/skills"
    write_files(
        skills,
        {
            "linked/SKILL.md": WEATHER_SKILL.replace("weather", "linked"),
            "huge/SKILL.md": WEATHER_SKILL.replace("weather", "huge"),
            "huge/big.bin": b"\xff" * (256 * 1024 + 1),
            "deep/SKILL.md": WEATHER_SKILL.replace("weather", "deep"),
            f"deep/{'d/' * 200}x.md": "x",
            "plain/SKILL.md": "no front matter",
        },
    )
    (skills / "linked/all").symlink_to("/")
    (skills / "outside").symlink_to(tmp_path)
    left = list_left(take(run, "nanobot", source))
    for name, why in (
        ("linked", "is a link"),
        ("huge", "too large"),
        ("deep", "nested too deeply"),
        ("plain", "no front matter"),
        ("outside", "is a link"),
    ):
        assert why in left[f"skills/{name}"]
    found = json.loads(run("skill", "list", "--json").stdout)
    assert [skill["name"] for skill in found] == ["weather"]


def test_servers_are_added_when_they_shall_be(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGIL_LOOPBACK", "1")
    monkeypatch.setenv("UNCAGED_LIBRARY", "none")
    program = [sys.executable, "-I", "-S", str(ROOT / "tests" / "servers" / "mcp_hostile.py")]
    with FakeMcp() as server:
        local = {
            "command": program[0],
            "args": [*program[1:], "plain"],
            "env": {"BENCH_TOKEN": GITHUB_TOKEN},
        }
        servers = {
            "local": local,
            "gone": {"command": "there-is-no-such-program"},
            "tracker": {"url": server.address},
        }
        config = {**NANOBOT_CONFIG, "tools": {"mcpServers": servers}}
        source = write_files(tmp_path / "n", {"config.json": json.dumps(config)})
        assert set(list_servers(take(run, "nanobot", source)).values()) == {"not added"}
        assert server.requests == []

        states = list_servers(take(run, "nanobot", source, "--mcp"))
        assert "BENCH_TOKEN" in states["local"]
        assert states["local"].startswith("not added: ")
        assert states["gone"] == "not added: there is no program there-is-no-such-program here"
        assert states["tracker"] == "added; its tools wait for `sigil mcp grant tracker`"
        set_secret = ["secret", "set", "BENCH_TOKEN"]
        assert CliRunner().invoke(sigil_cli, set_secret, input="of the bench").exit_code == 0

        states = list_servers(take(run, "nanobot", source, "--mcp"))
        assert states["local"] == "added; its tools wait for `sigil mcp grant local`"
        assert states["tracker"] == "is here already"


def list_servers(found: dict[str, Any]) -> dict[str, str]:
    return {row["name"]: row["state"] for row in found["mcp"]}


def test_a_long_history_is_written_and_found(run: Run, tmp_path: Path) -> None:
    entries = [
        f"[2026-01-{1 + n % 28:02d} 10:{n % 60:02d}] delivery {n} of barge{n}" for n in range(250)
    ]
    source = write_files(tmp_path / "n", {"memory/HISTORY.md": "\n\n".join(entries)})
    found = take(run, "nanobot", source)
    assert [change["detail"] for change in found["changes"]] == ["250 of 250"]
    events = json.loads(run("agent", "memory", "--json").stdout)
    assert len(events) == 250
    with open_agent() as (app, _):
        things = Things(app.kv, app.documents.agent, app.helpers.terms)
        assert things.find("barge137", 3)[0].thing.texts[1] == entries[137]
        assert things.list_newest(1)[0].texts[1] in entries[27::28]
    # one that was ended in the middle is completed
    run("agent", "memory", "forget", events[7]["id"])
    found = take(run, "nanobot", source)
    assert [change["detail"] for change in found["changes"]] == ["1 of 250"]


def make_job(schedule: Any, message: Any = "look at the post", **fields: Any) -> dict[str, Any]:
    payload = {"kind": "agent_turn", "message": message, "deliver": True, "to": "42"}
    return {"id": "1a2b", "enabled": True, "schedule": schedule, "payload": payload, **fields}


def list_schedules() -> list[Schedule]:
    with open_agent(name=None) as (app, _):
        return sorted(app.schedules.list_of_chat(), key=lambda each: each.number)


def test_schedules_tasks_and_knowledge_come_along_and_nothing_of_it_acts(
    run: Run, tmp_path: Path
) -> None:
    daily = {"kind": "cron", "expr": "0 9 * * 1-5", "tz": "America/Vancouver"}
    jobs = [
        make_job(daily, f"Say good morning with {BOT_TOKEN}", name="Morning"),
        make_job({"kind": "every", "everyMs": 7_200_000, "expr": None, "tz": None}, enabled=False),
        make_job({"kind": "at", "atMs": 4_102_444_800_000}, "happy new century"),
    ]
    source = write_files(
        write_nanobot(tmp_path / "nanobot"),
        {
            "workspace/cron/jobs.json": json.dumps({"version": 1, "jobs": jobs}),
            "workspace/TODO.md": "# To do\n\n- [ ] buy paper\n- [x] call Bob\n  * [ ] water\n",
            "workspace/knowledge/refunds.md": "Refunds take five days.\n",
            "workspace/knowledge/picture.png": "x",
        },
    )
    planned = take(run, "nanobot", source, "--dry-run")
    assert not list_schedules()
    done = take(run, "nanobot", source)
    assert done == {**planned, "dry_run": False}

    work = {row["name"]: row for row in done["changes"] if row["kind"] not in ("document", "notes")}
    words = work["Morning"]["detail"]
    assert words == "every Monday to Friday at 09:00 (America/Vancouver); paused"
    assert work["look at the post"]["detail"].endswith("(UTC); paused; no time zone was named")
    found = list_schedules()
    assert [each.paused for each in found] == ["paused"] * 4
    assert {each.session for each in found} == {"terminal:main"}
    assert found[0].text == "Say good morning with {{secret}}"
    with open_agent(name=None) as (app, _):
        tasks = Board(app.kv, "main", app.clock.now).list_open()
        (document,) = app.open_knowledge("agent").scan()
    assert [(task.subject, task.personal) for task in tasks] == [
        ("buy paper", True),
        ("water", True),
    ]
    assert document.record.source == "nanobot: knowledge/refunds.md"
    assert "picture.png" in str(list_left(done))

    again = take(run, "nanobot", source)
    assert set(list_states(again).values()) == {"same"}
    text = run("import", "nanobot", str(source), "--session", "telegram:42").output
    assert "schedule Morning from cron/jobs.json: is here already" in text


def test_jobs_of_openclaw_become_schedules_in_the_zone_of_its_user(
    run: Run, tmp_path: Path
) -> None:
    system = {"kind": "systemEvent", "text": "drink water"}
    jobs = [
        make_job({"kind": "at", "at": "2099-02-10T02:00:00Z"}, payload=system),
        make_job({"kind": "cron", "expr": "@daily"}, "tidy up"),
    ]
    source = write_files(
        write_openclaw(tmp_path / "claw"),
        {
            "openclaw.json": '{agents: {defaults: {userTimezone: "Europe/Vienna"}}}',
            "cron/jobs.json": json.dumps({"version": 1, "jobs": jobs}),
        },
    )
    found = take(run, "openclaw", source)

    rows = {row["name"]: row["detail"] for row in found["changes"] if row["kind"] == "schedule"}
    assert rows["drink water"] == "Tuesday, 10 February 2099 at 03:00 (Europe/Vienna); paused"
    assert rows["tidy up"].endswith("(Europe/Vienna); paused")


def test_a_job_that_cannot_be_is_refused_with_a_sentence_and_the_rest_goes_on(
    run: Run, tmp_path: Path
) -> None:
    cron = {"kind": "cron", "expr": "0 9 * * *"}
    bad: dict[str, Any] = {
        "never": make_job({"kind": "cron", "expr": "0 0 30 2 *"}),
        "six fields": make_job({"kind": "cron", "expr": "0 0 9 * * *"}),
        "no cron": make_job({"kind": "cron", "expr": 9}),
        "long": make_job({"kind": "cron", "expr": "0,1 " * 10_000}),
        "zone": make_job({**cron, "tz": "../../etc/passwd"}),
        "often": make_job({"kind": "every", "everyMs": 1_000}),
        "endless": make_job({"kind": "every", "everyMs": 1e300}),
        "true": make_job({"kind": "every", "everyMs": True}),
        "over": make_job({"kind": "at", "atMs": 1_000}),
        "far": make_job({"kind": "at", "at": "9999-12-31T23:59:59-23:00"}),
        "soon": make_job({"kind": "at", "at": "20m"}),
        "other": make_job({"kind": "sunrise"}),
        "no times": make_job([]),
        "large": make_job(cron, "x" * 5_000),
        "empty": make_job(cron, " \u200b "),
        "no text": make_job(cron, 7),
    }
    jobs = [{**job, "name": name} for name, job in bad.items()]
    jobs = [*jobs, 7, None, *(make_job(cron, f"number {number}") for number in range(70))]  # type: ignore[list-item]
    source = write_files(
        write_nanobot(tmp_path / "nanobot"),
        {
            "workspace/cron/jobs.json": json.dumps({"jobs": jobs}),
            "cron/jobs.json": "{" * 100,
            "workspace/TODO.md": "- [ ] buy\x07 paper\n",
        },
    )
    found = take(run, "nanobot", source)

    left = list_left(found)
    refused = {row["name"]: row["detail"] for row in found["changes"] if row["state"] == "refused"}
    for name in bad:
        why = left.get(f"the schedule {name}") or refused[name]
        assert why, name
    assert "cron/jobs.json" in left
    assert "the schedule number 17" in left
    assert refused["number 69"] == "an agent has at most 64 schedules"
    assert len(list_schedules()) == 64
    assert read_document(run, "soul").startswith("# Soul")


class FailingStore:
    """Lets a write of the store fail, and all after it; it counts the writes before."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, last: int) -> None:
        self.left = last
        put = SqliteKV.put

        def fail(kv: SqliteKV, *arguments: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise BackendError("EBACKEND", "the disk is full")
            return put(kv, *arguments, **named)

        monkeypatch.setattr(SqliteKV, "put", fail)


def test_the_list_of_a_heartbeat_becomes_paused_schedules(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = (
        'tasks:\n\n- name: inbox\n  interval: 2h\n  prompt: "Look for urgent mail."\n'
        "- name: broken\n  interval: soon\n  prompt: Nothing.\n\n"
    )
    table = (
        ("openclaw", "# Look\n\n- is the shop open?\n", {}, [("Heartbeat", 1800.0, 1)], 0),
        ("openclaw", "- a\n- [x] b\n", {"every": "1h30m"}, [("Heartbeat", 5400.0, 1)], 0),
        ("openclaw", "- a", {"every": "0m"}, [("Heartbeat", 1800.0, 1)], 0),
        ("openclaw", "- a", {"every": ["x"]}, [("Heartbeat", 1800.0, 1)], 0),
        ("openclaw", tasks, {}, [("inbox", 7200.0, 0)], 1),
        ("openclaw", f"{tasks}# More\n- c", {}, [("inbox", 7200.0, 0), ("Heartbeat", 1800.0, 1)], 1),
        ("openclaw", "# Nothing\n<!-- - a -->\n- [ ]\n- [x] b\n", {}, [], 1),
        ("openclaw", "- a\n" * 3_000, {}, [], 1),
        ("nanobot", "## Active\n- a\n## Completed\n- b\n### c\n- d\n", {"intervalS": 600},
         [("Heartbeat", 600.0, 1)], 0),
    )  # fmt: skip
    for number, (program, text, settings, expected, left) in enumerate(table):
        name = "openclaw.json" if program == "openclaw" else "config.json"
        path = {"agents": {"defaults": {"heartbeat": settings}}}
        config = path if program == "openclaw" else {"gateway": {"heartbeat": settings}}
        files = {name: json.dumps(config), "workspace/HEARTBEAT.md": text}
        source = write_files(tmp_path / f"source-{number}", {**files, "workspace/SOUL.md": "x"})
        monkeypatch.setenv("UNCAGED_DATA", str(tmp_path / f"data-{number}"))
        done = take(run, program, source)
        schedules = list_schedules()
        found = [(each.name, each.when.every, "list" in each.text) for each in schedules]
        assert sorted(found) == sorted(expected), text
        assert all(each.paused for each in schedules)
        assert not any("- b" in each.text or "- d" in each.text for each in schedules)
        assert len([each for each in list_left(done) if "HEARTBEAT.md" in each]) == left, text


def test_what_agents_of_a_team_know_comes_to_each_of_them(run: Run, tmp_path: Path) -> None:
    daily = {"kind": "cron", "expr": "0 9 * * *", "tz": "UTC"}
    jobs = [
        make_job(daily, "ring", agentId="coder"),
        make_job(daily, "sing", agentId="main"),
        make_job(daily, "hum"),
    ]
    entries = [
        {"id": "far", "workspace": "~/elsewhere"},
        {"id": "coder", "heartbeat": {"every": "2h"}},
    ]
    source = write_files(
        write_openclaw(tmp_path / "claw"),
        {
            "openclaw.json": json.dumps({"agents": {"list": entries}}),
            "cron/jobs.json": json.dumps({"jobs": jobs}),
            "workspace/knowledge/refunds.md": "Refunds take five days.\n",
            "workspace-coder/knowledge/style.md": "Tabs are four spaces.\n",
            "workspace-coder/HEARTBEAT.md": "- do the tests pass?\n",
            "workspace-coder/odd.csv": "x",
            "workspace-Bad_Name/SOUL.md": "Nobody.\n",
            "workspace-gone/SOUL.md": "Gone.\n",
            "workspace-linked/x": "x",
        },
    )
    (source / "workspace-linked/SOUL.md").symlink_to("/etc/passwd")
    run("agent", "create", "gone")
    run("agent", "archive", "gone")
    planned = take(run, "openclaw", source, "--dry-run")
    assert json.loads(run("agent", "list", "--json").stdout) == []
    done = take(run, "openclaw", source)
    assert done == {**planned, "dry_run": False}

    with open_agent(name="coder") as (app, _):
        assert [each.record.title for each in app.open_knowledge("agent").scan()] == ["style.md"]
        mine = sorted((each.when.every, each.text[:4]) for each in app.schedules.list_of_chat())
    assert mine == [(0.0, "ring"), (7200.0, "Go t")]
    with open_agent(name=None) as (app, _):
        assert [each.record.title for each in app.open_knowledge("agent").scan()] == ["refunds.md"]
        assert sorted(each.text for each in app.schedules.list_of_chat()) == ["hum", "sing"]
    assert read_document(run, "soul", "--agent", "coder") == "Another agent."
    assert "Be genuinely" in read_document(run, "soul")
    refused = {row["name"]: row["detail"] for row in done["changes"] if row["state"] == "refused"}
    assert set(refused) == {"Bad_Name", "gone"}
    left = list_left(done)
    for name in ("workspace-linked", "the agent far", "workspace-coder: odd.csv"):
        assert name in left

    again = take(run, "openclaw", source)
    assert {row["state"] for row in again["changes"]} == {"same", "refused"}
    text = run("import", "openclaw", str(source), "--session", "telegram:42").output
    assert "left out: workspace-coder is the workspace of another agent" in text


def write_everything(folder: Path) -> Path:
    """Write an agent of OpenClaw that has something of all that an import brings along."""
    daily = {"kind": "cron", "expr": "0 9 * * 1-5", "tz": "America/Vancouver"}
    return write_files(
        write_openclaw(folder),
        {
            "cron/jobs.json": json.dumps({"jobs": [make_job(daily, "Say good morning")]}),
            "workspace/TODO.md": "- [ ] buy paper\n- [ ] water\n",
            "workspace/HEARTBEAT.md": "# Look\n\n- is the shop open?\n",
            "workspace/knowledge/refunds.md": "Refunds take five days.\n",
            "workspace-coder/knowledge/style.md": "Tabs are four spaces.\n",
        },
    )


def list_kept(run: Run) -> list[object]:
    """Return how often everything is there after an import, and what it says."""
    with open_agent(name=None) as (app, settings):
        opener = make_opener(app, settings)
        apps = [app]
        for name, record in scan_agents(app.kv, app.root):
            assert record is not None
            apps.append(opener(name, record))
        kept: list[object] = []
        for one in apps:
            documents = one.documents
            for name in CAPS:
                doc = documents.read(documents.agent, name)
                kept.append((one.name, doc.name, doc.version, doc.text))
            kept += sorted(
                (each.name, each.text, each.paused) for each in one.schedules.list_of_chat()
            )
            kept += sorted(each.record.title for each in one.open_knowledge("agent").scan())
            kept += sorted(each.name for each in one.skills.read_catalog().skills)
            things = Things(one.kv, documents.agent, one.helpers.terms)
            kept += sorted(each.texts for each in things.scan())
        kept += [(task.id, task.subject) for task in Board(app.kv, "main", time.time).list_open()]
    return kept


def test_an_import_that_fails_says_what_it_wrote_and_the_next_one_completes_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_everything(tmp_path / "claw")
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path / "whole"))
    with monkeypatch.context() as patched:
        counted = FailingStore(patched, 10_000)
        whole = take(run, "openclaw", source)
    assert {row["state"] for row in whole["changes"]} == {"new"}
    expected = list_kept(run)
    writes = 10_000 - counted.left
    assert writes > 30
    for last in range(0, writes, 3):
        monkeypatch.setenv("UNCAGED_DATA", str(tmp_path / f"cut-{last}"))
        with monkeypatch.context() as patched:
            FailingStore(patched, last)
            done = CliRunner().invoke(cli, ["import", "openclaw", str(source), "--json"])
        assert isinstance(done.exception, BackendError), done.output
        states = [row["state"] for row in json.loads(done.stdout)["changes"]]
        assert states == sorted(states, key=("new", "failed").index)
        first = json.loads(done.stdout)["changes"][states.index("failed")]
        assert first["detail"] == "the disk is full"
        again = [row["state"] for row in take(run, "openclaw", source)["changes"]]
        for before, after in zip(states, again, strict=True):
            assert after == "same" or before == "failed"
        assert list_kept(run) == expected, last


def test_a_heartbeat_list_that_is_made_to_harm_is_read_up_to_its_limits(
    run: Run, tmp_path: Path
) -> None:
    source = tmp_path / "openclaw"
    task = "- name: look\n  interval: 30m\n  prompt: look"
    numbered = (f"{task} {number}\n" for number in range(501))
    text = f"{' ' * 500_000}x\ntasks:\n{''.join(numbered)}"
    write_files(source, {"workspace/HEARTBEAT.md": text})

    found = take(run, "openclaw", source, "--dry-run")

    assert "the first 500 are taken" in list_left(found)["tasks of HEARTBEAT.md"]
    states = [change["state"] for change in found["changes"]]
    assert (states.count("new"), len(states)) == (64, 501)
