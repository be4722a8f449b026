"""`uncaged proposals`, `approve` and `deny` on the machine of the agent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from functions.agent.policy.proposals import Proposal
from functions.agent.team.member import Members
from functions.cli.app import cli
from functions.wiring import AgentRuntime
from tests.functions.agent.team.waiting import let_wait


def test_proposals_are_listed_approved_and_denied(
    runtime: Callable[..., AgentRuntime], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = runtime()
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(cli, arguments)
        return done.output if done.exception is None else str(done.exception)

    def refused(*arguments: str) -> str:
        problem = CliRunner().invoke(cli, arguments).exception
        return str(getattr(problem, "suggestion", ""))

    assert run("proposals") == "nothing waits for an approval\n"
    for number in (1, 2):
        home.app.proposals.propose(
            Proposal(
                id="",
                digest=f"{number}" * 64,
                agent="main",
                session="telegram:7",
                by="telegram:7",
                acts=("call pay",),
                tool="cap_pay",
                arguments='{"to":"a\u202eb"}' if number == 2 else "{}",
            )
        )
    run("agent", "create", "alice", "--heartbeat", "off")
    assert len(json.loads(run("proposals", "--agent", "main", "--json"))) == 2
    assert run("proposals", "--agent", "alice") == "nothing waits for an approval\n"
    assert "did you mean alice?" in refused("proposals", "--agent", "alcie")
    assert "  call pay  {}  telegram:7  telegram:7\n" in run("proposals")
    assert '{"to":"a\\u202eb"}' in run("proposals")
    for _ in range(2):
        assert run("approve", "111111") == "approved: call pay; it goes on in telegram:7\n"
        assert run("deny", "222222") == "denied: call pay\n"
    exported = [json.loads(line) for line in run("ledger", "export").splitlines()]
    noted = [row["facts"] for row in exported if row["what"] == "proposal"]
    assert [facts["state"] for facts in noted] == ["approved", "denied"]
    assert "already" in run("approve", "222222")
    assert [row["state"] for row in json.loads(run("proposals", "--all", "--json"))] == [
        "approved",
        "denied",
    ]
    queued = [delivery.event.id for delivery in iter(lambda: home.queue.take(0.0), None)]
    assert sorted(queued)[0] == "approval:main:111111:1"


def test_what_is_approved_in_the_terminal_goes_on_there_at_once(
    runtime: Callable[..., AgentRuntime], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = runtime(library="builtin")
    text = 'format = 1\nrules = ["ask owner call calculate"]'
    home.app.policy_versions.write("main", "policy", text, by="terminal:local")
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))

    def chat(text: str) -> str:
        done = CliRunner().invoke(cli, ["chat", "--quiet", text])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.output

    assert chat("what is 2^10 + 5*3").startswith("I can do that once my owner approves it.")
    (proposal,) = home.app.proposals.list_open()
    said = chat(f"/approve {proposal.id}")
    assert "It goes on in terminal:main now." in said
    assert f"(Approved, proposal {proposal.id}: call calculate.)\n\n1039" in said


def test_the_plans_of_teammates_are_listed_and_answered_with_words(
    runtime: Callable[..., AgentRuntime], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = runtime()
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(cli, arguments)
        return done.output if done.exception is None else str(done.exception)

    id = let_wait(home.app, "mend the\u202elexer")
    line = f"{id}  open  plan main.alice  mend thelexer  telegram:7  telegram:7\n"
    assert run("proposals") == line
    assert run("proposals", "show", id) == line
    assert json.loads(run("proposals", "--json"))[0]["kind"] == "plan"
    assert f"waits for an answer to its plan {id}" in run("team", "list")
    denied = run("deny", id, "too much")
    assert denied == "rejected: the plan of alice, who goes on now\n"
    assert "was denied already" in run("approve", id)
    assert "only the answer to a plan has words" in run("deny", "222222", "too much")
    assert home.work is not None
    delivery = home.work.take(0.0)
    assert delivery is not None
    assert (delivery.event.agent, delivery.event.by) == ("main.alice", "telegram:7")
    # it still waits, until it has gone on
    member = Members(home.app.kv, "main").read("alice")
    assert member is not None
    assert member.waiting == id
    (row,) = [json.loads(each) for each in run("ledger", "export").splitlines()]
    assert row["facts"] == {"proposal": id, "state": "denied", "acts": ["plan alice"]}
