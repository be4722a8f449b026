"""`uncaged serve` at a terminal: what it refuses at its start, and which bots it polls."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from functions.channels.about import name_variable
from functions.channels.platforms import PLATFORMS
from functions.cli.app import cli
from functions.cli.commands.serve import list_receivers
from functions.cli.doctor import check_platforms
from functions.cli.setup.service import is_polled
from functions.settings import Settings
from functions.wiring import AgentRuntime
from sigil.errors import SigilError, UsageError
from tests.fakes.bot_api import TOKEN, BotApi
from tests.functions.channels.test_isolated_channels import OWN
from tests.functions.channels.test_platforms import VALUES
from tests.functions.cli.channel_command import RunChannel
from tests.servers.programs import ProgramForker, command_of

POLLED = {name: about for name, about in PLATFORMS.items() if about.polled}
TOKENS = {**VALUES, "slack": {**VALUES["slack"], "app_token": "xapp-1"}}


def settings_to_poll(*platforms: str) -> dict[str, str]:
    """The variables that an owner sets to have bots polled."""
    return {
        name_variable(platform, field): TOKENS[platform][field]
        for platform in platforms
        for field in POLLED[platform].list_polled_with()
    }


@pytest.fixture
def refuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs `uncaged serve` with words and variables, and returns what it says and ends with."""
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))
    monkeypatch.setenv("UNCAGED_LIBRARY", "none")

    def run(*words: str, **variables: str) -> str:
        with monkeypatch.context() as shell:
            for name, value in variables.items():
                shell.setenv(name, value)
            done = CliRunner().invoke(cli, ["serve", "--port", "0", *words])
        assert isinstance(done.exception, UsageError), done.output
        return f"{done.exception.source}: {done.exception.message}; {done.exception.suggestion}"

    return run


def test_a_server_starts_without_the_bot_that_is_badly_set(
    tmp_path: Path,
    compiled: Path,
    forked: ProgramForker,
    run_channel: RunChannel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled.mkdir(exist_ok=True)
    (tmp_path / "compiled").symlink_to(compiled, target_is_directory=True)
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))
    monkeypatch.setenv("UNCAGED_LIBRARY", "none")
    monkeypatch.setenv("SIGIL_RUNNERS", "1")
    for name, value in {**OWN, "DISCORD_TOKEN": "abc", "UNCAGED_CHANNELS": "slack-shop"}.items():
        monkeypatch.setenv(name, value)
    with subprocess.Popen(
        [*command_of("functions.cli"), "serve", "--port", "0"],
        env={**os.environ, **forked.environment},
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr
        said = ""
        while not (match := re.search(r"listens on (\S+)\n[^$]*chat  ", said)):
            line = server.stderr.readline()
            assert line, said
            said += line
        status = {
            name: httpx.post(f"{match[1]}/webhook/{name}", content=b"{}").status_code
            for name in (*PLATFORMS, "slack-shop")
        }
        server.send_signal(signal.SIGTERM)
        rest = server.stderr.read()
    assert server.returncode == 0, rest
    assert {name for name, code in status.items() if code == 503} == {"discord", "slack-shop"}
    assert set(status.values()) <= {401, 403, 503}
    warnings = [line for line in said.splitlines() if "is not served" in line]
    assert [line.split()[1] for line in warnings] == ["slack-shop", "discord"]
    assert "DISCORD_TOKEN is not as Discord makes them (copy it from" in warnings[1]
    assert "webhook/discord" not in said

    listed = run_channel("list")[1]
    assert {line.removeprefix("warning: ") for line in warnings} <= set(listed.splitlines())
    rows = {row["platform"]: row for row in json.loads(run_channel("list", "--json")[1])}
    assert {name for name, row in rows.items() if row["state"] != "ready"} == {
        "discord",
        "slack-shop",
    }
    assert rows["discord"]["problem"].startswith("DISCORD_TOKEN")
    code, _, told = run_channel("status", "discord")
    assert (code, rows["discord"]["problem"] in told) == (2, True)
    with pytest.raises(UsageError) as found:
        check_platforms(Settings(declared={"DISCORD_TOKEN": "abc"}))
    assert found.value.message == f"discord: {rows['discord']['problem']}"
    assert found.value.suggestion == rows["discord"]["help"]


def test_a_bot_that_cannot_be_polled_keeps_no_other_from_it(
    runtime: Callable[..., AgentRuntime], bot: BotApi, capsys: pytest.CaptureFixture[str]
) -> None:
    values = settings_to_poll("telegram", "slack")
    values |= {"TELEGRAM_API": bot.url, "DISCORD_TOKEN": "abc"}
    opened = runtime(declared=values)
    polled, listened = list_receivers(opened, take_webhook=False)
    assert [each.platform for each in (*polled, *listened)] == ["slack"]
    told = capsys.readouterr().err
    assert told.startswith("warning: telegram is not served: Telegram answered with status 401")
    for name, problem in (("discord", "DISCORD_TOKEN"), ("telegram", "check the bot token")):
        with pytest.raises(SigilError) as found:
            list_receivers(opened, [name], take_webhook=False)
        assert problem in found.value.message + found.value.suggestion
    alone = runtime(declared={"DISCORD_TOKEN": "abc"})
    assert list_receivers(alone, take_webhook=False) == ([], [])


def test_what_can_be_polled_is_said_where_nothing_else_can(refuse: Callable[..., str]) -> None:
    nothing = refuse("--poll", LINE_TOKEN="t", LINE_SECRET="s")
    for platform, about in POLLED.items():
        for field in about.list_polled_with():
            assert name_variable(platform, field) in nothing
    assert refuse("--poll", SLACK_TOKEN="xoxb-1").endswith("; set SLACK_APP_TOKEN")
    both = settings_to_poll("telegram", "dingtalk")
    wrong = refuse("--poll", "telegram,line", LINE_TOKEN="t", **both)
    assert "'line' is no bot that can be polled" in wrong
    assert wrong.endswith("name telegram, dingtalk")
    assert refuse("telegram", **both).endswith("uncaged serve --poll telegram")


def test_a_bot_is_polled_by_its_name_or_with_all_that_have_no_webhook(
    runtime: Callable[..., AgentRuntime], bot: BotApi, capsys: pytest.CaptureFixture[str]
) -> None:
    values = settings_to_poll("telegram", "slack", "dingtalk")
    values |= {"TELEGRAM_TOKEN": TOKEN, "TELEGRAM_API": bot.url}
    opened = runtime(declared={**values, "LINE_TOKEN": "t", "LINE_SECRET": "s"})

    def choose(*names: str) -> list[str]:
        polled, listened = list_receivers(opened, names, take_webhook=False)
        return [each.platform for each in (*polled, *listened)]

    assert choose() == ["telegram", "slack", "dingtalk"]
    assert choose("dingtalk", "dingtalk") == ["dingtalk"]
    bot.webhook = {"url": "https://bot.example.com/webhook/telegram"}
    assert choose() == ["slack", "dingtalk"]
    told = capsys.readouterr().err
    assert "note: a webhook is set, so telegram gives no updates" in told
    assert "--take-webhook" in told
    with pytest.raises(UsageError, match="a webhook is set"):
        choose("telegram")


@pytest.mark.parametrize("platform", POLLED)
def test_a_service_polls_whatever_has_no_webhook(platform: str) -> None:
    alone = settings_to_poll(platform)
    assert is_polled(Settings(declared=alone))
    webhook = {
        each.field: TOKENS[platform].get(each.field, "A" * 43)
        for each in POLLED[platform].settings
        if each.used_by == "webhook"
    }
    both = {name_variable(platform, field): value for field, value in webhook.items()}
    assert not is_polled(Settings(declared={**alone, **both}))


def test_the_help_names_each_platform_that_can_be_polled() -> None:
    shown = CliRunner().invoke(cli, ["serve", "--help"], env={"COLUMNS": "200"}).output
    for about in POLLED.values():
        assert about.title.split("/")[0] in shown
