"""`uncaged channel` and DingTalk, whose console takes the address by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from functions.cli.doctor import check_platforms
from sigil.errors import BackendError
from tests.channel_settings import make_settings
from tests.fakes.dingtalk import APP, SECRET, DingTalkServer
from tests.functions.cli.channel_command import RunChannel


@pytest.fixture
def dingtalk() -> Iterator[DingTalkServer]:
    with DingTalkServer() as server:
        yield server


@pytest.fixture
def run(
    dingtalk: DingTalkServer, monkeypatch: pytest.MonkeyPatch, run_channel: RunChannel
) -> RunChannel:
    """Runs `uncaged channel …` with the settings of an app."""
    monkeypatch.setenv("DINGTALK_APP_KEY", APP)
    monkeypatch.setenv("DINGTALK_APP_SECRET", SECRET)
    monkeypatch.setenv("DINGTALK_API", dingtalk.url)
    return run_channel


def test_set_prints_what_the_console_asks_for_and_the_steps(run: RunChannel) -> None:
    code, out, err = run("set", "dingtalk", "--url", "https://bot.example.com")
    assert code == 0
    assert json.loads(out)["message_url"] == "https://bot.example.com/webhook/dingtalk"
    assert "DINGTALK_AES_KEY" in err
    code, out, err = run("set", "dingtalk", "--poll")
    assert (code, json.loads(out)) == (0, {"permissions": ["qyapi_robot_sendmsg"]})
    assert "stream mode" in err


def test_status_asks_whether_the_secret_is_taken(run: RunChannel, dingtalk: DingTalkServer) -> None:
    assert run("status", "dingtalk")[:2] == (0, f"dingtalk @{APP}: the bot answers\n")
    dingtalk.fail("invalidClientIdOrSecret", path="/accessToken")
    code, _, err = run("status", "dingtalk")
    assert code == 7
    assert "DINGTALK_APP_SECRET" in err


def test_list_and_unset_say_what_is_to_do(run: RunChannel, monkeypatch: pytest.MonkeyPatch) -> None:
    def row() -> dict[str, object]:
        rows = json.loads(run("list", "--json")[1])
        return next(each for each in rows if each["platform"] == "dingtalk")

    assert row()["state"] == "ready"
    code, _, err = run("unset", "dingtalk")
    assert code == 2
    assert "uncaged channel set dingtalk" in err
    monkeypatch.setenv("DINGTALK_APP_SECRET", "")
    assert row()["missing"] == ["DINGTALK_APP_SECRET"]


def test_the_doctor_checks_the_app(dingtalk: DingTalkServer) -> None:
    settings = make_settings(
        dingtalk_app_key=APP,
        dingtalk_app_secret=SECRET,
        dingtalk_api=dingtalk.url,
        data="/nonexistent",
    )
    assert check_platforms(settings) == f"dingtalk: the bot @{APP} answers"
    dingtalk.fail("invalidClientIdOrSecret", path="/accessToken")
    with pytest.raises(BackendError, match="no access token"):
        check_platforms(settings)
