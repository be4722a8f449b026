"""`uncaged channel` and Feishu, whose console takes the webhook by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from functions.channels.feishu.channel import SCOPES
from functions.cli.doctor import check_platforms
from sigil.cli.doctor import DoctorWarning
from tests.channel_settings import make_settings
from tests.fakes.feishu import APP, APP_SECRET, SECRETS, FeishuServer
from tests.functions.cli.channel_command import RunChannel


@pytest.fixture
def feishu() -> Iterator[FeishuServer]:
    with FeishuServer() as server:
        yield server


@pytest.fixture
def run(
    feishu: FeishuServer, monkeypatch: pytest.MonkeyPatch, run_channel: RunChannel
) -> RunChannel:
    """Runs `uncaged channel …` with the settings of an app."""
    monkeypatch.setenv("FEISHU_APP_ID", APP)
    monkeypatch.setenv("FEISHU_APP_SECRET", APP_SECRET)
    monkeypatch.setenv("FEISHU_API", feishu.url)
    return run_channel


def test_set_prints_what_the_console_imports_and_the_steps(run: RunChannel) -> None:
    code, out, err = run("set", "feishu", "--url", "https://bot.example.com")
    assert code == 0
    assert json.loads(out) == {"scopes": {"tenant": list(SCOPES), "user": []}}
    assert "https://bot.example.com/webhook/feishu" in err
    assert "FEISHU_VERIFICATION_TOKEN" in err


def test_status_names_what_the_app_may_not_do(run: RunChannel, feishu: FeishuServer) -> None:
    assert run("status", "feishu")[:2] == (0, "feishu @Sigil: the bot answers\n")
    feishu.scopes.remove("im:resource")  # asked for, and not granted
    code, out, _ = run("status", "feishu", "--json")
    assert code == 1
    assert json.loads(out)["missing_scopes"] == ["im:resource"]


def test_list_tells_which_settings_are_missing(
    run: RunChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def row() -> dict[str, object]:
        rows = json.loads(run("list", "--json")[1])
        return next(each for each in rows if each["platform"] == "feishu")

    assert row()["state"] == "for `uncaged serve --poll`: its webhook is refused"
    assert row()["missing"] == ["FEISHU_VERIFICATION_TOKEN"]
    monkeypatch.setenv("FEISHU_VERIFICATION_TOKEN", "x")
    assert row()["state"] == "ready"
    monkeypatch.setenv("FEISHU_APP_SECRET", "")
    assert row()["state"] == "not set"


def test_the_doctor_checks_the_app(feishu: FeishuServer) -> None:
    settings = make_settings(
        feishu_app_id=APP,
        feishu_app_secret=APP_SECRET,
        feishu_verification_token=SECRETS.verification_token,
        feishu_api=feishu.url,
        data="/nonexistent",
    )
    assert check_platforms(settings) == "feishu: the bot @Sigil answers"
    feishu.scopes = ["im:message"]
    with pytest.raises(DoctorWarning, match="contact:user"):
        check_platforms(settings)
    feishu.fail(99991672, path="/scopes")  # an app need not know its own permissions
    assert check_platforms(settings) == "feishu: the bot @Sigil answers"
