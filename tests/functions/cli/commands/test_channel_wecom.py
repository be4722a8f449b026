"""`uncaged channel` and WeCom, whose console takes the address by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from functions.channels.callback_encryption import read_key
from functions.cli.doctor import check_platforms
from sigil.errors import BackendError
from tests.channel_settings import make_settings
from tests.fakes.wecom import AGENT, CORP, SECRET, WeComServer
from tests.functions.cli.channel_command import RunChannel


@pytest.fixture
def wecom() -> Iterator[WeComServer]:
    with WeComServer() as server:
        yield server


@pytest.fixture
def run(wecom: WeComServer, monkeypatch: pytest.MonkeyPatch, run_channel: RunChannel) -> RunChannel:
    """Runs `uncaged channel …` with the settings of an app."""
    monkeypatch.setenv("WECOM_CORP_ID", CORP)
    monkeypatch.setenv("WECOM_AGENT_ID", AGENT)
    monkeypatch.setenv("WECOM_SECRET", SECRET)
    monkeypatch.setenv("WECOM_API", wecom.url)
    return run_channel


def test_set_prints_new_secrets_and_the_steps(run: RunChannel) -> None:
    printed = [run("set", "wecom", "--url", "https://bot.example.com") for _ in range(2)]
    first, second = (json.loads(out) for _, out, _ in printed)
    assert first["url"] == "https://bot.example.com/webhook/wecom"
    assert len(read_key(first["encoding_aes_key"])) == 32
    assert first["token"] != second["token"]
    assert "WECOM_AES_KEY" in printed[0][2]


def test_status_asks_for_the_apps_name(run: RunChannel, wecom: WeComServer) -> None:
    assert run("status", "wecom")[:2] == (0, "wecom @Sigil: the bot answers\n")
    wecom.fail(60020, path="/agent/get")
    code, _, err = run("status", "wecom")
    assert code == 7
    assert "trusted addresses" in err


def test_list_and_unset_say_what_is_to_do(run: RunChannel) -> None:
    rows = json.loads(run("list", "--json")[1])
    row = next(each for each in rows if each["platform"] == "wecom")
    assert row["state"] == "its webhook is refused"
    assert row["missing"] == ["WECOM_TOKEN", "WECOM_AES_KEY"]
    code, _, err = run("unset", "wecom")
    assert code == 2
    assert "uncaged channel set wecom" in err


def test_the_doctor_checks_the_app(wecom: WeComServer) -> None:
    settings = make_settings(
        wecom_corp_id=CORP,
        wecom_agent_id=AGENT,
        wecom_secret=SECRET,
        wecom_api=wecom.url,
        data="/nonexistent",
    )
    assert check_platforms(settings) == "wecom: the bot @Sigil answers"
    wecom.fail(40001, path="/gettoken")
    wecom.token += 1
    with pytest.raises(BackendError):
        check_platforms(settings)
