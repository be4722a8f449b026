"""`uncaged trace` shows what turns did and what they set off, and no text of anybody's."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from functions.agent.agents.record import add_agent, make_record
from functions.agent.runs.run import STEPS_BYTES, Run, load_run, make_run, save_run, shorten_steps
from functions.agent.runs.tree import build_tree, format_tree
from functions.agent.session.document import Document, Turn
from functions.agent.session.store import SessionHandle
from functions.cli.app import cli
from functions.cli.commands.trace import show_runs
from functions.wiring import AgentRuntime
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.talk import event, run_event, tell


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[int, str]]:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))

    def command(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(cli, arguments)
        code = getattr(done.exception, "code", done.exit_code)
        return (1, str(code)) if isinstance(code, str) else (done.exit_code, done.output)

    return command


def make(name: str, began: float, cause: str = "", agent: str = "main", root: str = "") -> Run:
    """The run of an event that another one has set off."""
    happened = replace(event("x"), id=name, agent=agent, cause=cause, root=root)
    turn = Turn(happened, began=began)
    closed = SessionHandle(f"{agent}#telegram:7", Document(), "1")
    return make_run(turn, closed, began + 1, "owner", "a-model")


def test_a_trace_shows_rounds_requests_calls_and_checkpoints_but_no_text(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, run: Callable[..., tuple[int, str]]
) -> None:
    home = runtime(llm_url=model.url, access="members")
    model.then(
        call(("sigil_query", {"query": "a secret wish"}), ("cap_nothing", {})),
        say("a secret answer?"),
    )
    happened = event("a secret message")
    run_event(home, happened)

    assert run("trace")[1].startswith(f"{happened.id}  ")
    assert [row["event"] for row in json.loads(run("trace", "--json")[1])] == [happened.id]
    code, shown = run("trace", happened.id)
    record = json.loads(run("trace", happened.id, "--json")[1])

    assert code == 0
    for part in (
        "round 1: request",
        "round 2: request",
        "sigil_query",
        "cap_nothing",
        "ENOTOOL",
        "save",
        "tokens",
    ):
        assert part in shown
    assert "secret" not in json.dumps(record)
    steps = record["steps"]
    assert [step["kind"] for step in steps] == [
        "request", "save", "call", "call", "save", "request",
    ]  # fmt: skip
    times = [step["at"] for step in steps if "at" in step]
    assert times == sorted(times)
    messages = home.app.sessions.open("main#telegram:7").document.messages
    for step in (steps[2], steps[3]):
        (answer,) = [message for message in messages if message.seq == step["seq"]]
        assert answer.call_id == step["id"]
    assert (record["reason"], record["outcome"], record["role"]) == ("message", "said", "owner")
    assert record["usage"]["prompt"] == sum(step.get("prompt", 0) for step in steps)
    assert (record["requests"], record["calls"], record["failed"]) == (2, 2, 1)
    assert run("trace", record["id"])[1] == shown
    assert run("trace", "telegram:1:nothing")[0] == 1


def test_a_command_and_a_stranger_are_listed_with_their_reason(
    runtime: Callable[..., AgentRuntime], run: Callable[..., tuple[int, str]]
) -> None:
    home = runtime(access="members")
    tell(home, "/language de")
    tell(home, "/nonsense", sender="telegram:3")
    tell(home, "hello", sender="telegram:3")
    rows = json.loads(run("trace", "--json")[1])
    said = [(row["reason"], row["role"], row["requests"], row["by"]) for row in rows]
    assert said == [
        ("refused", "guest", 0, "telegram:3"),
        ("refused", "guest", 0, "telegram:3"),
        ("command", "owner", 0, "terminal:local"),
    ]
    assert rows[2]["steps"][-1] == {"kind": "command", "name": "language"}
    document = home.app.sessions.open("main#telegram:7").document
    # two may have begun in the same millisecond
    assert sorted(document.runs) == [row["id"] for row in rows]
    for row in rows:
        assert load_run(home.stores.kv, "main", row["id"]) is not None


def test_a_tree_without_a_record_of_its_chain_has_the_runs_of_whichever_agent() -> None:
    kv = MemoryKV()
    made = [
        make("a", 10.0),
        make("b", 11.0, "a", root="a"),
        make("c", 12.0, "b", "main.alice", root="a"),
        make("d", 13.0, "a", root="a"),
        make("else", 14.0, "nobody", root="nobody"),
    ]
    # the rows of a release that counted no posts, and had no such record
    made = [replace(each, posts=None) for each in made]
    for each in made:
        save_run(kv, each, 90)
    tree = build_tree(kv, ["main", "main.alice"], made[0])
    assert [each.event for each in tree.walk()] == ["a", "b", "c", "d"]
    lines = format_tree(tree)
    heads = [line for line in lines if "telegram:7" in line]
    assert [line.removesuffix("  telegram:7") for line in heads] == [
        "a", "  └ b", "      └ c", "  └ d",
    ]  # fmt: skip
    below = format_tree(build_tree(kv, ["main", "main.alice"], made[2]))
    assert "  set off by b" in below


def test_an_agents_runs_are_listed_by_its_name_and_followed_as_they_come(
    runtime: Callable[..., AgentRuntime],
    run: Callable[..., tuple[int, str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    home = runtime(access="open")
    record = make_record({"kind": "agent", "state": "enabled", "since": 1.0, "by": "?"})
    add_agent(home.stores.kv, "main", "alice", record)
    save_run(home.stores.kv, make("theirs", 5.0, agent="main.alice"), 90)
    tell(home, "hello")
    (row,) = json.loads(run("trace", "alice", "--json")[1])
    assert row["event"] == "theirs"
    assert len(json.loads(run("trace", "main", "--json")[1])) == 1
    pauses = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            raise KeyboardInterrupt
        tell(home, "and more")

    with pytest.raises(KeyboardInterrupt):
        show_runs("main", follow=True, json=True, pause=pause)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 2
    assert lines[0]["began"] < lines[1]["began"]


def test_the_steps_of_a_row_are_bounded_and_keep_the_first_and_the_last() -> None:
    steps = [{"kind": "request", "finish": "tool_calls", "detail": "x" * 5_000}]
    for number in range(96):
        steps.append({"kind": "call", "name": f"cap_number_{number}", "id": f"call_{number}"})
        steps.append({"kind": "save"})
    steps.append({"kind": "request", "finish": "stop"})
    kept = shorten_steps(steps, 0.0)
    assert len(json.dumps(kept, separators=(",", ":"))) <= STEPS_BYTES
    assert kept[0]["kind"] == "request"
    assert kept[-1] == steps[-1]
    assert kept[-2]["kind"] == "left-out"
    assert kept[-2]["count"] + len(kept) - 1 == 98
