"""`uncaged policy` shows, checks and changes what the agent may do."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from functions.cli.app import cli
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys

Run = Callable[..., tuple[int, str]]
RULE = 'format = 1\nrules = ["deny guest call web-*"]\n'


@pytest.fixture
def run(
    runtime: Callable[..., AgentRuntime], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Run:
    runtime()
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))

    def command(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(cli, ["policy", *arguments])
        return (done.exit_code, done.output if done.exception is None else str(done.exception))

    return command


def test_a_policy_is_set_shown_compared_and_rolled_back(run: Run, tmp_path: Path) -> None:
    assert run("show")[1].startswith("# The policy: what the agent may do")
    assert run("history") == (0, "the policy was never changed\n")
    file = tmp_path / "policy.toml"
    file.write_text(RULE)
    assert run("check", str(file)) == (0, "the policy is well: standard with 1 rule\n")
    assert run("set", str(file))[1] == "policy is at version 1 (44 characters)\n"
    assert run("explain", "guest", "call", "web-search")[1] == (
        'deny: "deny guest call web-*" (line 2)\n'
    )
    assert json.loads(run("show", "--json")[1])["rules"][0]["target"] == "web-*"
    assert '+rules = ["deny guest call web-*"]' in run("diff")[1]
    assert run("rollback", "0")[0] == 0
    assert run("explain", "guest,groups", "call", "web-search")[1].startswith("allow: ")
    assert run("diff", "0", "2")[1] == "version 0 and version 2 are the same\n"
    assert "deny guest" in run("show", "--version", "1")[1]
    assert [row["version"] for row in json.loads(run("history", "--json")[1])] == [2, 1]


def test_a_policy_with_a_mistake_changes_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(RULE.replace("deny", "forbid"))
    for command in ("check", "set"):
        assert "line 2: 'forbid' is no word for a rule" in run(command, str(file))[1]
    monkeypatch.setenv("EDITOR", f"{sys.executable} -c 'import sys; open(sys.argv[1], \"w\")'")
    assert "format = 1 is missing" in run("edit")[1]
    assert run("history") == (0, "the policy was never changed\n")
    assert "is nobody" in run("explain", "them", "call", "x")[1]
    assert "is no act" in run("explain", "guest", "eat", "x")[1]


def test_a_damaged_policy_is_told_and_can_be_replaced(
    run: Run, tmp_path: Path, runtime: Callable[..., AgentRuntime]
) -> None:
    runtime().stores.kv.put(keys.document("main", "policy"), b"{")
    assert "the policy is damaged, so nothing is allowed" in run("check")[1]
    assert "the policy is damaged" in run("show")[1]
    file = tmp_path / "policy.toml"
    file.write_text(RULE)
    assert run("set", str(file))[0] == 0
    assert run("check")[0] == 0
