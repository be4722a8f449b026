"""The person's own switch: from the shell and over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from functions.cli.app import cli
from functions.wiring import AgentRuntime
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.talk import tell
from tests.functions.people import sentence
from tests.functions.serving import serving

Open = Callable[..., AgentRuntime]
HALTED = sentence("halted")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., str]:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))

    def command(*arguments: str) -> str:
        done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    return command


def test_a_halt_at_the_shell_holds_in_every_chat_until_it_is_unlocked(
    runtime: Open, model: ScriptedModel, run: Callable[..., str]
) -> None:
    home = runtime(llm_url=model.url)
    assert "every chat" in run("halt")

    assert tell(home, "hello") == tell(home, "hello", session="telegram:8") == [HALTED]
    assert (
        json.loads(run("agent", "status", "--session", "telegram:7", "--json"))["state"]
        == "SAFETY_LOCKOUT"
    )
    assert run("unlock") == "unlocked: every chat\n"
    assert tell(home, "hello") == ["done"]
    assert (
        json.loads(run("agent", "status", "--session", "telegram:7", "--json"))["state"]
        == "WAITING_FOR_EVENT"
    )


def test_one_chat_may_be_halted_alone(
    runtime: Open, model: ScriptedModel, run: Callable[..., str]
) -> None:
    home = runtime(llm_url=model.url)
    run("halt", "--session", "telegram:7")

    assert tell(home, "hello") == [HALTED]
    assert tell(home, "hello", session="telegram:8") == ["done"]
    run("unlock", "--session", "telegram:7")
    assert tell(home, "hello") == ["done"]


def test_the_shell_opens_what_failures_closed_and_shows_what_failed(
    runtime: Open, model: ScriptedModel, run: Callable[..., str]
) -> None:
    home = runtime(llm_url=model.url)
    model.then(*[call(("no_such_tool", {"n": number})) for number in range(8)])
    tell(home, "go")
    tell(home, "again")

    shown = run("agent", "status", "--session", "telegram:7")
    assert "State: ERROR_PAUSED (cascade)" in shown
    assert shown.count('Tool "no_such_tool" failed with ENOTOOL.') == 3
    run("unlock", "--session", "telegram:7")
    assert "State: WAITING_FOR_EVENT" in run("agent", "status", "--session", "telegram:7")


@pytest.mark.parametrize("arguments", [(), ("--session", "telegram:7")])
def test_the_shell_gives_a_budget_back_though_it_knows_of_no_model(
    runtime: Open, model: ScriptedModel, run: Callable[..., str], arguments: tuple[str, ...]
) -> None:
    home = runtime(llm_url=model.url, tokens_per_day=10)
    tell(home, "hello")
    assert tell(home, "hello") == [sentence("budget")]

    run("unlock", *arguments)
    assert tell(home, "hello") == ["done"]


def test_an_unlock_of_every_chat_opens_those_that_were_halted_alone(
    runtime: Open, model: ScriptedModel, run: Callable[..., str]
) -> None:
    home = runtime(llm_url=model.url)
    for chat in ("telegram:7", "telegram:8"):
        run("halt", "--session", chat)
    assert tell(home, "hello") == [HALTED]

    run("unlock")
    assert tell(home, "hello") == tell(home, "hello", session="telegram:8") == ["done"]


def test_a_guide_that_does_not_exist_is_in_no_switchs_way(
    runtime: Open, model: ScriptedModel, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = runtime(llm_url=model.url)
    monkeypatch.setenv("UNCAGED_GUIDE", "stern")
    monkeypatch.setenv("UNCAGED_CONTEXT", "forget")
    run("halt")
    assert tell(home, "hello") == [HALTED]
    run("unlock")
    assert tell(home, "hello") == ["done"]
    assert "there is no guide" in str(CliRunner().invoke(cli, ["agent", "status"]).exception)


def test_a_budget_that_is_used_up_is_seen_in_every_chat(
    runtime: Open, model: ScriptedModel, run: Callable[..., str]
) -> None:
    home = runtime(llm_url=model.url, tokens_per_day=10)
    tell(home, "hello")

    assert tell(home, "/status", session="telegram:8")[0].startswith(sentence("budget"))


def test_the_machine_shows_what_is_left_and_what_it_cost(
    runtime: Open, model: ScriptedModel, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = runtime(llm_url=model.url, llm_prices="2,0.5,8")
    model.then(say("dear") | {"usage": {"prompt_tokens": 500_000, "completion_tokens": 0}})
    tell(home, "hello")
    monkeypatch.setenv("UNCAGED_LLM_URL", model.url)
    shown = run("agent", "status", "--session", "telegram:7")
    assert ": 500,000 of 1,500,000, 500,000 of them here, $1.00\n" in shown
    assert "Left: 1,000,000 tokens. The budget starts again at 00:00 UTC.\n" in shown
    assert (
        "Last turn: 500,000 tokens of prompts (0% of them from the cache), 0 of answers, $1.00"
        in shown
    )


@pytest.mark.parametrize("chat", ["everybody", ""])
@pytest.mark.parametrize("command", [["halt"], ["unlock"], ["agent", "status"]])
def test_what_is_no_chat_is_refused(run: Callable[..., str], command: list[str], chat: str) -> None:
    done = CliRunner().invoke(cli, [*command, "--session", chat])

    assert "EUSAGE" in str(done.exception)


def test_the_admin_token_halts_and_unlocks_over_http(runtime: Open, model: ScriptedModel) -> None:
    with serving(runtime(llm_url=model.url)) as server:
        assert server.post("/halt").json() == {"halted": "*"}
        assert (
            server.post("/chat", json={"session": "s", "text": "hello"}).json()["reply"] == HALTED
        )
        assert (
            server.client.get("/status", params={"session": "http:admin:s"}).json()["state"]
            == "SAFETY_LOCKOUT"
        )
        assert server.post("/unlock", json={"session": "http:admin:s"}).json() == {
            "unlocked": "http:admin:s"
        }
        assert (
            server.post("/chat", json={"session": "s", "text": "hello"}).json()["reply"] == "done"
        )


@pytest.mark.parametrize(
    "body", [{"session": 3}, {"session": "s"}, {"who": "x"}, [], {"session": "x:" + "y" * 400}]
)
def test_an_odd_request_halts_nothing(runtime: Open, model: ScriptedModel, body: object) -> None:
    with serving(runtime(llm_url=model.url)) as server:
        assert server.post("/halt", json=body).status_code == 400
        assert (
            server.post("/chat", json={"session": "s", "text": "hello"}).json()["reply"] == "done"
        )


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/halt"), ("POST", "/unlock"), ("GET", "/status")]
)
def test_nobody_else_may(runtime: Open, model: ScriptedModel, method: str, path: str) -> None:
    with serving(runtime(llm_url=model.url)) as server:
        assert (
            server.client.request(
                method, path, headers={"authorization": "Bearer wrong"}
            ).status_code
            == 401
        )
