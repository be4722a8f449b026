"""`uncaged sessions` lists who talks to the agents, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from functions.cli.app import cli
from functions.wiring import AgentRuntime
from sigil.errors import UsageError
from tests.fakes.model import ScriptedModel
from tests.functions.agent.talk import tell


def test_sessions_are_listed_with_what_they_cost_also_without_a_model(
    runtime: Callable[..., AgentRuntime],
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))

    def run(*words: str) -> str:
        done = CliRunner().invoke(cli, ["sessions", *words])
        assert done.exit_code == 0, done.output
        return done.output

    offline = runtime(access="open")
    assert "no session has asked the model in the last 7 days" in run("--days", "7")
    tell(offline, "hello", session="terminal:main")
    home = runtime(llm_url=model.url, access="open")
    tell(home, "plan a trip", session="telegram:7")
    tell(home, "a secret", session="telegram:8", sender="telegram:8")

    shown = run()
    assert all(name in shown for name in ("telegram:8", "telegram:7", "terminal:main"))
    assert "plan a trip" in shown
    assert "a secret" not in shown
    rows = json.loads(run("--json"))["items"]
    assert [row["session"] for row in rows] == ["telegram:8", "telegram:7", "terminal:main"]
    assert [row["tokens"] > 0 for row in rows] == [True, True, False]
    assert [row["requests"] for row in rows] == [1, 1, 1]
    usage = rows[2]["usage"]
    free = usage["prompt"] + usage["completion"]
    assert usage["saved"] == free > 0
    (line,) = [line for line in shown.splitlines() if "terminal:main" in line]
    assert line.split()[-3:-1] == ["0", f"{free:,}"]
    (told,) = tell(offline, "/spent", session="terminal:main", sender="terminal:guest")
    assert f"in this chat: 0 tokens ({free:,} more do not count)\n" in told
    (told,) = tell(home, "/spent", session="telegram:7")
    counted = sum(row["tokens"] for row in rows)
    assert f"in all chats: {counted:,} tokens ({free:,} more do not count)\n" in told
    done = CliRunner().invoke(cli, ["sessions", "--days", "401"])
    assert isinstance(done.exception, UsageError)
