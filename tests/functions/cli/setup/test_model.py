"""The step of `uncaged setup` that finds out what a model can do."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from functions.agent.tool_check import COUNT, RESULT
from functions.cli.setup.model_check import today
from functions.cli.setup.providers import OFFLINE, OTHER, PROVIDERS, find_provider
from functions.known_models import find_model, find_near_end
from functions.settings import Settings
from tests.fakes.model import Reply, ScriptedModel, call, offered, results, say
from tests.fakes.server import Answer, json_answer
from tests.functions.cli.setup.conftest import Setup
from tests.servers.programs import ProgramForker, command_of
from tests.tables import each_row
from tests.terminal import Terminal

CALLED = call((COUNT, {"items": ["pear", "plum"]}))
READY = (CALLED, say("2"))


def refuse(status: int, message: str) -> Answer:
    return json_answer({"error": {"message": message}}, status)


def refuse_tools(body: dict[str, Any]) -> dict[str, Any] | Answer:
    """The reply of an endpoint that takes no tools."""
    return refuse(400, "no tools, please") if "tools" in body else say("ready")


def refuse_each_tool(body: dict[str, Any]) -> dict[str, Any] | Answer:
    """The reply of an endpoint that takes none of the schemas."""
    for name in offered(body):
        return refuse(400, f"Invalid schema for function '{name}'")
    return say("ready")


def test_a_model_is_tried_and_its_window_is_taken_from_what_its_endpoint_tells(
    setup: Setup, config: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-my-own-key")
    model.models = [
        {
            "id": "big",
            "context_length": 262_144,
            "architecture": {"input_modalities": ["text", "image"]},
        }
    ]
    model.then(*READY)
    url = ("--url", model.url)
    done = setup("model", "--yes", *url, "--model", "big", "--key-from", "MY_KEY")

    assert done.returncode == 0, done.stderr
    assert (
        "calls tools and answers after a result; window: 262,144 tokens; pictures: yes"
    ) in done.stderr
    assert "sk-my-own-key" not in done.stderr
    read = Settings.read()
    assert (read.llm_url, read.llm_key, read.llm_model, read.llm_window) == (
        model.url,
        "sk-my-own-key",
        "big",
        262_144,
    )
    # the second request has the call and its result, and each has the key
    first, second = model.bodies
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "tool"]
    assert results(second) == [RESULT]
    assert offered(first) == offered(second)
    counting = first["tools"][0]["function"]["parameters"]
    assert counting["properties"]["items"]["type"] == "array"
    assert set(counting["properties"]) > set(counting["required"])
    assert model.requests[0].headers["authorization"] == "Bearer sk-my-own-key"
    # the next one keeps the key, and forgets the window of another model
    model.models = [{"id": "small"}]
    model.then(*READY)
    assert setup("model", "--yes", *url, "--model", "small").returncode == 0
    assert (Settings.read().llm_key, Settings.read().llm_window) == ("sk-my-own-key", 128_000)
    # and without a model everything of it goes
    without = setup("model", "--yes", "--provider", "offline")
    assert without.returncode == 0
    assert "UNCAGED_LLM_MODEL = (default: qwen-plus)" in without.stderr
    assert "UNCAGED_LLM" not in config.read_text()


@pytest.mark.parametrize(
    ("replies", "models", "told"),
    [
        ([refuse(401, "bad key sk-live-abcdefgh")], None, "refuses the key"),
        ([refuse(402, "pay")], None, "no credit left"),
        ([refuse(429, "slow")] * 2, None, "slow down"),
        ([refuse(404, "no such model")] * 2, ["gpt-5-mini", "tts"], "it has gpt-5-mini"),
        ([refuse(404, "nothing here")] * 2, None, "most end with /v1"),
        ([refuse(400, "unknown model")] * 2, ["gpt-5-mini"], "there is no model gpt-5"),
        ([refuse(400, "no")] * 6, ["gpt-5"], "refuses the request"),
        ([refuse(400, "not today")] * 6, ["gpt-5-mini"], "refuses the request (the model"),
        ([Answer(200, b"<html>")] * 2, None, "no answer that can be read"),
        ([refuse(500, "oops")] * 2, None, "out of order"),
    ],
)
def test_each_failure_has_a_sentence_of_its_own_and_nothing_is_written(
    setup: Setup,
    config: Path,
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    replies: list[Reply],
    models: list[str] | None,
    told: str,
) -> None:
    monkeypatch.setattr("functions.agent.model.client.backoff_seconds", lambda _: 0.0)
    model.models = [{"id": name} for name in models] if models else None
    model.then(*replies)
    done = setup("model", "--yes", "--url", model.url, "--model", "gpt-5")

    assert done.returncode == 7
    assert told in done.stderr
    assert "sk-live" not in done.stderr
    assert not config.exists()


@pytest.mark.parametrize(
    ("provider", "row", "pages", "told"),
    [
        (
            "ollama",
            {"owned_by": "library"},
            {
                "/api/show": {"capabilities": ["completion", "tools", "vision"]},
                "/api/ps": {"models": [{"name": "small", "context_length": 4_096}]},
            },
            "window: 4,096 tokens; pictures: yes\nwarning: a window of 4,096 tokens is small",
        ),
        (
            "ollama",
            {"owned_by": "library", "context_length": 32_768},
            {"/api/show": {"capabilities": ["completion", "tools"]}},
            "window: 32,768 tokens; pictures: no",
        ),
        (
            "ollama",
            {"owned_by": "library"},
            {"/api/show": {"capabilities": "all", "license": "x"}, "/api/ps": {"models": 7}},
            "window: not told; pictures: not told",
        ),
        (
            "llamacpp",
            {"owned_by": "llamacpp", "meta": {"n_ctx_train": 262_144}},
            {
                "/props": {
                    "default_generation_settings": {"n_ctx": 16_384},
                    "modalities": {"vision": True},
                }
            },
            "window: 16,384 tokens; pictures: yes",
        ),
    ],
)
def test_a_model_server_of_this_machine_tells_its_window_and_whether_it_reads_pictures(
    setup: Setup,
    model: ScriptedModel,
    provider: str,
    row: dict[str, Any],
    pages: dict[str, Any],
    told: str,
) -> None:
    model.models = [{"id": "small", **row}]
    model.pages = pages
    model.then(*READY)
    words = ("--provider", provider, "--url", model.url, "--model", "small")
    done = setup("model", "--yes", *words)
    assert (done.returncode, told in done.stderr) == (0, True), done.stderr
    asked = [request.json() for request in model.requests if request.path == "/api/show"]
    assert asked == ([{"model": "small"}] if provider == "ollama" else [])


def test_nothing_that_answers_is_told_and_may_be_written_down_untested(
    setup: Setup, config: Path
) -> None:
    words = ("model", "--yes", "--provider", "ollama", "--url", "http://127.0.0.1:9/v1")
    done = setup(*words)
    assert (done.returncode, config.exists()) == (7, False)
    assert "nothing answers at http://127.0.0.1:9/v1" in done.stderr
    assert "`ollama serve`" in done.stderr
    assert setup(*words, "--untested").returncode == 0
    assert Settings.read().llm_model == PROVIDERS["ollama"].model


@pytest.mark.parametrize(
    ("replies", "learnt", "warning"),
    [
        (
            [refuse_tools] * 4,
            r"did not call the tool \(.*no tools are offered, because .* 400: no tools, please\)",
            "the model did not call the tool",
        ),
        (
            [refuse_each_tool] * 4,
            "refuses tools: the model answered 400: Invalid schema for function '.*'",
            "this endpoint takes no tools",
        ),
        ([say("I am ready!")], "did not call the tool", "the model did not call the tool"),
        (
            [CALLED, *[refuse(400, "no results here")] * 3],
            "calls tools, but the request with the result fails: .* 400: no results here",
            "the request with a tool's result fails",
        ),
        (
            [CALLED, refuse(400, "Function call is missing a thought_signature"), say("2")],
            r"calls tools and answers after a result \(.*signature.*, because the model answered"
            r" 400: Function call is missing a thought_signature\)",
            "",
        ),
        (
            [say(json.dumps({"name": COUNT, "arguments": {"items": ["pear"]}})), say("2")],
            "writes calls as text",
            "the model writes its calls as text",
        ),
        (
            [say(f'{COUNT}(items=["pear", "plum"])')],
            "writes calls as text",
            "the model writes its calls as text",
        ),
        ([CALLED, *[say("")] * 4], r"calls tools and writes nothing after a result( \(.*\))?", ""),
        (
            [refuse(503, "busy"), *READY],
            r"calls tools and answers after a result \(1 failed try\)",
            "",
        ),
    ],
)
def test_what_a_model_does_with_tools_is_told_in_a_sentence(
    setup: Setup,
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    replies: list[Reply],
    learnt: str,
    warning: str,
) -> None:
    monkeypatch.setattr("functions.agent.model.client.backoff_seconds", lambda _: 0.0)
    model.then(*replies)
    done = setup("model", "--yes", "--url", model.url, "--model", "small")
    assert (done.returncode, Settings.read().llm_model) == (0, "small")
    assert re.search(rf" s, {learnt}; window: not told", done.stderr), done.stderr
    assert (f"warning: {warning}" in done.stderr) is bool(warning)
    assert ("warning: " in done.stderr) is bool(warning)


@pytest.mark.parametrize(
    ("days", "replies", "code", "told"),
    [
        (12, READY, 0, "warning: small ends on {day}"),
        (31, READY, 0, ""),
        (-1, READY, 0, "warning: small ended on {day}"),
        (-1, [refuse(404, "gone")] * 2, 7, "small ended on {day} (the model answered 404: gone)"),
    ],
)
def test_the_end_of_a_model_that_its_endpoint_tells_is_told(
    setup: Setup,
    model: ScriptedModel,
    days: int,
    replies: Sequence[Reply],
    code: int,
    told: str,
) -> None:
    day = today() + timedelta(days=days)
    model.models = [{"id": "small", "shutdown_date": day.isoformat()}]
    model.then(*replies)
    done = setup("model", "--yes", "--url", model.url, "--model", "small")
    assert done.returncode == code
    assert told.format(day=day) in done.stderr
    assert (" end" in done.stderr) is bool(told)


def test_a_model_that_the_list_does_not_name_is_told(setup: Setup, model: ScriptedModel) -> None:
    model.models = [{"id": "big"}]
    model.then(*READY)
    done = setup("model", "--yes", "--url", model.url, "--model", "small")
    assert (done.returncode, "its endpoint's list does not name it" in done.stderr) == (0, True)


@each_row(
    ("url", "name", "today", "told"),
    [
        ("openai", "gpt-5-mini", "2026-11-10", ""),
        ("openai", "gpt-5-mini", "2026-11-28", "ends on 2026-12-11; gpt-5.6-terra replaces it"),
        (
            "google",
            "models/gemini-2.5-flash",
            "2026-12-01",
            "ended on 2026-12-01; gemini-3.8-flash replaces it",
        ),
        (
            "deepseek",
            "deepseek-chat",
            "2026-11-28",
            "ended on 2026-07-24; deepseek-v4-flash replaces it",
        ),
        ("moonshot", "kimi-latest", "2026-11-28", "ended on 2026-01-28; kimi-k2.6 replaces it"),
        ("moonshot", "kimi-k2.5", "2026-11-28", "ended on 2026-08-31; kimi-k2.6 replaces it"),
        ("openrouter", "deepseek-chat", "2026-11-28", ""),
        ("ollama", "deepseek-chat", "2026-11-28", ""),
    ],
)
def test_the_table_of_models_tells_what_ended_or_soon_ends(
    url: str, name: str, today: str, told: str
) -> None:
    day = date.fromisoformat(today)
    end = find_near_end(PROVIDERS[url].url, name, day)
    assert (end.describe(day) if end else "") == (f"{name} {told}" if told else "")
    assert not end or find_model(PROVIDERS[url].url, end.replacement)


def test_the_prices_of_the_table_come_and_go_with_the_model_and_those_by_hand_stay(
    setup: Setup, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-mine")

    def choose(provider: str, *words: str) -> str:
        key = ("--key-from", "MY_KEY")
        done = setup("model", "--yes", "--untested", "--provider", provider, *key, *words)
        assert done.returncode == 0, done.stderr
        return Settings.read().llm_prices

    assert choose("anthropic") == "2,0.2,10"
    assert choose("anthropic", "--model", "claude-of-tomorrow") == ""
    assert choose("anthropic") == ""  # the model that was set stays
    assert choose("anthropic", "--model", "claude-sonnet-5") == "2,0.2,10"
    assert choose("google") == ""
    config.write_text(config.read_text() + 'UNCAGED_LLM_PRICES = "1,1,1"\n')
    assert choose("anthropic") == "1,1,1"


def test_a_key_that_people_already_have_decides_on_the_provider(
    setup: Setup, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASHSCOPE_API_KEY", "sk-dash")
    done = setup("model", "--yes", "--untested")
    assert done.returncode == 0, done.stderr
    read = Settings.read()
    assert (read.llm_url, read.llm_key) == (PROVIDERS["dashscope"].url, "sk-dash")
    assert read.llm_model == "qwen-plus"


def test_the_file_of_a_foreign_folder_does_not_say_where_the_key_is_sent(
    setup: Setup, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-mine")
    text = f'UNCAGED_DATA = "data"\nUNCAGED_LLM_URL = "{model.url}"\n'
    Path("uncaged.toml").write_text(text)
    for more in ((), ("--provider", "other")):
        done = setup("model", "--yes", "--key-from", "MY_KEY", "--model", "small", *more)
        assert (done.returncode, model.requests) == (2, [])
        assert f"would send the key to {model.url}" in done.stderr
    assert Path("uncaged.toml").read_text() == text


def test_every_preset_can_be_used() -> None:
    for provider in PROVIDERS.values():
        if provider.name in (OTHER, OFFLINE):
            continue
        assert find_provider(provider.url + "/") is provider
        assert provider.url.startswith("https://") or provider.start
        assert provider.model
        known = find_model(provider.url, provider.model)
        assert provider.start or (known and known.ends is None)
        assert provider.help.startswith("https://")
        assert Settings.read({"UNCAGED_LLM_URL": provider.url}, Path("/nonexistent")).endpoint


def test_a_person_is_asked_and_may_correct_what_was_wrong(
    config: Path, model: ScriptedModel, forked: ProgramForker, tmp_path: Path
) -> None:
    soon = today() + timedelta(days=3)
    model.models = [
        {"id": "right", "max_model_len": 32_768},
        {"id": "right-too"},
        {"id": "late", "shutdown_date": f"{soon}"},
    ]
    model.then(refuse(404, "no such model"), *READY)
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "NO_COLOR": "1",
        **forked.environment,
    }
    terminal = Terminal([*command_of("functions.cli"), "setup", "model"], environment)
    terminal.wait_for("OpenRouter", "Model of which provider")
    terminal.type("99\n")
    terminal.wait_for("write a number")
    terminal.type("other\n")
    terminal.wait_for("Address")
    terminal.type(f"{model.url}\n")
    terminal.wait_for("for none): ")
    terminal.type("sk-typed-in-secret\n")
    terminal.wait_for("its models: right, right-too", f"late ends on {soon}", "Model:")
    terminal.type("wrong\n")
    terminal.wait_for("it has right", "Change the answers?")
    terminal.type("\n")
    # what was right already is the default
    terminal.wait_for("provider [other]")
    terminal.type("\n")
    terminal.wait_for(f"[{model.url}]")
    terminal.type("\n")
    terminal.wait_for("Keep the key")
    terminal.type("\n")
    terminal.wait_for("its models", "Model")
    terminal.type("right\n")
    terminal.wait_for("written to")
    terminal.wait_for_end()
    assert terminal.process.returncode == 0
    terminal.close()
    assert "sk-typed-in-secret" not in terminal.shown
    assert "32,768" in terminal.shown
    read = Settings.read()
    assert (read.llm_model, read.llm_key) == ("right", "sk-typed-in-secret")
    # Ctrl-C leaves everything as it was
    before = config.read_bytes()
    terminal = Terminal([*command_of("functions.cli"), "setup"], environment)
    terminal.wait_for("name [")
    terminal.interrupt_until("interrupted")
    terminal.wait_for_end()
    assert terminal.process.returncode == 130
    terminal.close()
    assert config.read_bytes() == before
