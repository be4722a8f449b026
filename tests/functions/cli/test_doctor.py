"""`uncaged doctor`, completion and version: the shape that `sigil` has, with what the agent needs
beside it.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from functions.agent.tool_check import COUNT
from functions.cli import doctor as doctor_command
from functions.cli.app import run_words
from functions.cli.doctor import check_model, check_queue, check_service
from functions.cli.setup.model_check import today
from functions.cli.setup.service import MARK
from functions.queues.leases import Leases
from functions.settings import Settings
from functions.time.clock import SYSTEM
from sigil.cli.doctor import DoctorWarning
from sigil.cli.printing import Printer
from sigil.storage.kv import keys
from sigil.wiring import open_stores
from tests.fakes.bot_api import TOKEN, BotApi
from tests.fakes.discord import DiscordServer, open_discord
from tests.fakes.model import Reply, ScriptedModel, call, say
from tests.functions.queues.invoked import make_queue
from tests.servers.ministack import Ministack

READY = (call((COUNT, {"items": ["pear", "plum"]})), say("2"))
Examined = dict[str, dict[str, str]]
Doctor = Callable[[], tuple[int, Examined]]


@pytest.fixture
def doctor(
    tmp_path: Path,
    compiled: Path,
    capsysbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> Doctor:
    """Runs the doctor over an empty data folder: its exit code, and each check by name."""
    compiled.mkdir(exist_ok=True)
    (tmp_path / "compiled").symlink_to(compiled, target_is_directory=True)
    for name, value in {
        "UNCAGED_DATA": str(tmp_path),
        "UNCAGED_LIBRARY": "none",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    def run() -> tuple[int, Examined]:
        code = doctor_command.run_checks_and_print(Printer(json=True))
        document = json.loads(capsysbinary.readouterr().out)
        assert document["ok"] is (code == 0)
        assert {"set", "meaning", "name", "value"} == set(document["settings"][0])
        return code, {check["name"]: check for check in document["checks"]}

    return run


def states(found: Examined) -> dict[str, str]:
    return {name: check["state"] for name, check in found.items()}


def test_it_looks_at_what_sigil_does_and_at_the_agent(
    doctor: Doctor, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.then(*READY)
    monkeypatch.setenv("UNCAGED_LLM_URL", model.url)
    code, found = doctor()
    assert (code, set(states(found).values())) == (0, {"ok"})
    assert {
        "engine",
        "runners",
        "store",
        "token",
        "library",
        "queue",
        "model",
        "platforms",
        "owners",
        "page",
    } <= found.keys()


def test_a_guide_or_a_strategy_that_nobody_knows_is_a_failure(
    doctor: Doctor, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNCAGED_LLM_URL", model.url)
    for name, word, known in (
        ("UNCAGED_GUIDE", "stern", "debugger"),
        ("UNCAGED_CONTEXT", "forget", "summary"),
    ):
        with monkeypatch.context() as set_to:
            set_to.setenv(name, word)
            code, found = doctor()
        assert (code, found["guide"]["state"]) == (1, "fail")
        assert known in str(found["guide"])


def test_no_model_is_a_warning_and_one_that_is_away_a_failure(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, found = doctor()
    assert (code, found["model"]["state"]) == (0, "warn")
    assert found["model"]["mend"].startswith("uncaged setup model, or set UNCAGED_LLM_KEY")
    monkeypatch.setenv("UNCAGED_LLM_URL", "http://127.0.0.1:9")
    code, found = doctor()
    assert (code, found["model"]["state"]) == (1, "fail")
    assert found["model"]["mend"].startswith("uncaged setup model, or check UNCAGED_LLM_URL")


@pytest.mark.parametrize(
    ("days", "replies", "state", "told"),
    [
        (300, READY, "ok", "calls tools and answers after a result"),
        (30, READY, "warn", "first ends on {day}; first answers in "),
        (-9, READY, "warn", "first ended on {day}; first answers in "),
        (300, [say("hello")], "warn", "did not call the tool"),
    ],
)
def test_the_models_tools_and_its_end_are_examined(
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    days: int,
    replies: Sequence[Reply],
    state: str,
    told: str,
) -> None:
    day = today() + timedelta(days=days)
    model.models = [{"id": "first", "shutdown_date": day.isoformat()}]
    model.then(*replies)
    monkeypatch.setenv("UNCAGED_LLM_URL", model.url)
    monkeypatch.setenv("UNCAGED_LLM_MODEL", "first")
    settings = Settings.read()
    if state == "ok":
        assert told in check_model(settings)
        return
    with pytest.raises(DoctorWarning, match=re.escape(told.format(day=day))) as caught:
        check_model(settings)
    assert caught.value.suggestion.startswith("uncaged setup model")


def test_a_variable_that_is_misspelt_is_a_warning_that_names_the_one_that_was_meant(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNCAGED_LLM_MODLE", "secret-value")
    monkeypatch.setenv("SIGIL_URL", "http://127.0.0.1:9")
    _, found = doctor()
    assert found["environment"]["state"] == "warn"
    assert found["environment"]["found"] == (
        "no setting: UNCAGED_LLM_MODLE (did you mean UNCAGED_LLM_MODEL?)"
    )
    assert "unset UNCAGED_LLM_MODLE" in found["environment"]["mend"]
    assert "secret-value" not in str(found)


def test_a_platform_is_asked_for_its_bot_and_its_webhook(
    doctor: Doctor, bot: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "TELEGRAM_API": bot.url,
        "TELEGRAM_TOKEN": TOKEN,
        "TELEGRAM_SECRET": "hush-hush_42",
    }.items():
        monkeypatch.setenv(name, value)
    _, found = doctor()
    assert found["platforms"]["state"] == "warn"
    assert found["platforms"]["mend"].startswith("uncaged channel set telegram")
    bot.webhook = {"url": "https://bot.example.com/webhook/telegram"}
    _, found = doctor()
    assert found["platforms"]["found"] == "telegram: the bot @sigil_bot answers, its webhook works"
    bot.webhook["allowed_updates"] = ["message", "callback_query"]
    code, found = doctor()
    assert (code, found["platforms"]["state"]) == (0, "warn")
    assert "without edited_message" in found["platforms"]["found"]
    del bot.webhook["allowed_updates"]
    bot.delivery = {
        "last_error_message": "Connection refused",
        "last_error_date": 1_780_000_000,
        "pending_update_count": 3,
    }
    code, found = doctor()
    assert (code, found["platforms"]["state"]) == (1, "fail")
    assert "Connection refused" in found["platforms"]["found"]
    assert found["owners"]["mend"].startswith("uncaged setup owner")
    monkeypatch.setenv("TELEGRAM_TOKEN", "4:wrong")
    code, found = doctor()
    assert (code, found["platforms"]["state"]) == (1, "fail")
    assert found["platforms"]["mend"].startswith("uncaged setup telegram")


def test_a_bot_that_a_server_polls_needs_no_webhook(
    doctor: Doctor, bot: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TELEGRAM_API", bot.url)
    monkeypatch.setenv("TELEGRAM_TOKEN", TOKEN)
    _, found = doctor()
    assert found["platforms"]["mend"].startswith("uncaged serve --poll, or uncaged channel set")
    settings = Settings.read()
    leases = Leases(open_stores(settings).kv, SYSTEM, 30.0, 60.0)
    leases.take(keys.updates_of(settings.agent, "telegram", TOKEN.partition(":")[0]))
    _, found = doctor()
    assert found["platforms"]["found"] == (
        "telegram: the bot @sigil_bot answers, and a server polls it"
    )
    bot.webhook = {"url": "https://bot.example.com/webhook/telegram"}
    code, found = doctor()
    assert (code, found["platforms"]["mend"]) == (1, "uncaged channel unset telegram")


def test_a_bot_that_a_server_listens_for_needs_no_webhook(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    with DiscordServer() as discord:
        monkeypatch.setenv("DISCORD_API", discord.url)
        monkeypatch.setenv("DISCORD_TOKEN", discord.token)
        _, found = doctor()
        assert "no server listens for it" in found["platforms"]["found"]
        assert found["platforms"]["mend"].startswith("uncaged serve --poll, or uncaged channel set")
        settings = Settings.read()
        leases = Leases(open_stores(settings).kv, SYSTEM, 30.0, 60.0)
        with closing(open_discord(discord)) as channel:
            leases.take(keys.updates_of(settings.agent, "discord", channel.listened_bot))
        _, found = doctor()
        assert found["platforms"]["found"] == (
            "discord: the bot @sigil answers, and a server listens for it"
        )
        discord.flags = 1 << 23
        code, found = doctor()
    assert code == 1
    assert "does not let the bot read messages" in found["platforms"]["found"]
    assert found["platforms"]["mend"].startswith("switch Message Content Intent on")


def test_a_registry_elsewhere_is_asked_and_the_agents_own_store_too(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGIL_URL", "http://127.0.0.1:9")
    code, found = doctor()
    assert code == 1
    assert {name: found[name]["state"] for name in ("registry", "store", "disk")} == {
        "registry": "fail",
        "store": "ok",
        "disk": "ok",
    }
    assert "engine" not in found


def run_json(words: list[str], capsysbinary: pytest.CaptureFixture[bytes]) -> Any:
    assert run_words(words, Printer(json="--json" in words)) == 0
    return json.loads(capsysbinary.readouterr().out)


def test_completion_and_version_are_json_too(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    assert set(run_json(["version", "--json"], capsysbinary)) == {"version"}
    assert "_UNCAGED_COMPLETE" in run_json(["completion", "bash", "--json"], capsysbinary)["script"]


def test_one_queue_of_sqs_for_everything_is_a_warning_and_a_second_one_mends_it(
    aws_here: Ministack, monkeypatch: pytest.MonkeyPatch
) -> None:
    chats, work = (f"sqs://{make_queue(aws_here)}" for _ in range(2))
    with pytest.raises(DoctorWarning, match="0 events in SQS; background work waits in the same"):
        check_queue(Settings(queue=chats))
    assert check_queue(Settings(queue=chats, work_queue=work, workers=3)) == (
        "0 events in SQS, background work in a queue of its own, 4 background workers beside 3 for"
        " chats"
    )


@pytest.mark.parametrize("is_active", [True, False])
def test_a_service_of_setup_that_does_not_run_is_a_warning(
    doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_active: bool
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    code = 0 if is_active else 3
    (folder / "systemctl").write_text(f'#!/bin/sh\ntest "$2" != is-active || exit {code}\n')
    (folder / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    assert check_service() == "none; a server is started by hand"
    unit = tmp_path / "config" / "systemd" / "user" / "uncaged.service"
    unit.parent.mkdir(parents=True)
    unit.write_text(MARK)
    if is_active:
        assert check_service() == "uncaged.service runs"
    else:
        with pytest.raises(DoctorWarning, match="does not run") as caught:
            check_service()
        assert "systemctl --user start uncaged" in caught.value.suggestion
