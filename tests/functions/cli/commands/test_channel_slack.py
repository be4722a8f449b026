"""`uncaged channel` and Slack, which registers no webhook: the app is made from what is printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from functions.channels.listening.sockets import SocketChannel
from functions.channels.platforms import open_channels
from functions.cli.doctor import check_owners, check_platforms
from functions.queues.leases import Leases
from functions.settings import Settings
from functions.time.clock import SYSTEM
from sigil.cli.doctor import DoctorWarning
from sigil.errors import BackendError
from sigil.storage.kv import keys
from sigil.wiring import open_stores
from tests.channel_settings import make_settings
from tests.fakes.slack import SECRET, SlackWorkspace
from tests.fakes.slack_socket import APP_TOKEN
from tests.functions.cli.channel_command import RunChannel


@pytest.fixture
def workspace() -> Iterator[SlackWorkspace]:
    with SlackWorkspace() as found:
        yield found


@pytest.fixture
def run(
    workspace: SlackWorkspace, monkeypatch: pytest.MonkeyPatch, run_channel: RunChannel
) -> RunChannel:
    """Runs `uncaged channel …` with the settings of a workspace."""
    for name, value in (
        ("SLACK_TOKEN", workspace.token),
        ("SLACK_SECRET", SECRET),
        ("SLACK_API", workspace.api),
    ):
        monkeypatch.setenv(name, value)
    return run_channel


def test_the_manifest_for_socket_mode_names_no_address(run: RunChannel) -> None:
    code, out, err = run("set", "slack", "--poll")
    manifest = json.loads(out)
    assert (code, manifest["settings"]["socket_mode_enabled"]) == (0, True)
    assert "url" not in out.replace("redirect_urls", "")
    assert "SLACK_APP_TOKEN" in err
    code, out, err = run("set", "feishu", "--poll")
    assert (code, "im:message" in out) == (0, True)
    assert "long connection" in err
    for platform, help in (("telegram", "uncaged serve --poll"), ("whatsapp", "--url")):
        code, _, err = run("set", platform, "--poll")
        assert (code, help in err) == (2, True)


def test_a_workspace_whose_app_may_do_everything_is_fine(
    run: RunChannel, workspace: SlackWorkspace
) -> None:
    assert run("status", "slack")[:2] == (0, "slack @sigil: the bot answers\n")
    workspace.scopes = workspace.scopes.replace("files:read,", "")
    code, out, _ = run("status", "slack", "--json")
    assert code == 1
    assert json.loads(out) == {
        "platform": "slack",
        "bot": "sigil",
        "missing_scopes": ["files:read"],
    }
    code, out, _ = run("status", "slack")
    assert code == 1
    assert "missing     files:read" in out
    workspace.fail("invalid_auth", method="auth.test")
    code, _, err = run("status", "slack")
    assert code == 7
    assert "SLACK_TOKEN" in err


def test_the_doctor_names_what_an_app_lacks(workspace: SlackWorkspace) -> None:
    settings = make_settings(
        slack_token=workspace.token,
        slack_secret=SECRET,
        slack_api=workspace.api,
        data="/nonexistent",
    )
    assert check_platforms(settings) == "slack: the bot @sigil answers"
    workspace.scopes = "chat:write"
    with pytest.raises(DoctorWarning, match="files:read") as lacking:
        check_platforms(settings)
    assert "install or publish it again" in lacking.value.suggestion
    workspace.fail("token_revoked", method="auth.test")
    with pytest.raises(BackendError) as revoked:
        check_platforms(settings)
    assert revoked.value.suggestion == "check SLACK_TOKEN"


def test_the_doctor_names_an_owner_who_is_nobody(tmp_path: Path) -> None:
    with pytest.raises(DoctorWarning, match="slack:U1 is nobody's id"):
        check_owners(Settings(owners=("slack:U1",), data=str(tmp_path)))


@pytest.mark.parametrize(
    ("arguments", "code", "help"),
    [
        (("set", "slack"), 2, "--url is missing"),
        (("set", "slack", "--url", "http://bot.example.com"), 2, "https://"),
        (("set", "slack", "--make-secret"), 2, "makes the secret itself"),
        (("unset", "slack"), 2, "no webhook to change from here"),
    ],
)
def test_what_slack_cannot_do_from_here_is_said(
    run: RunChannel, arguments: tuple[str, ...], code: int, help: str
) -> None:
    ended, _, err = run(*arguments)
    assert (ended, help in err) == (code, True), err


def test_a_platform_without_a_secret_refuses_its_webhook(
    run: RunChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    [row] = [each for each in json.loads(run("list", "--json")[1]) if each["platform"] == "slack"]
    assert (row["state"], row["path"]) == ("ready", "/webhook/slack")
    monkeypatch.delenv("SLACK_SECRET")
    [row] = [each for each in json.loads(run("list", "--json")[1]) if each["platform"] == "slack"]
    assert (row["state"], row["missing"]) == ("its webhook is refused", ["SLACK_SECRET"])


def test_the_manifest_comes_as_json_with_its_steps(run: RunChannel) -> None:
    code, out, _ = run("set", "slack", "--url", "https://bot.example.com", "--json")
    printed = json.loads(out)
    manifest = json.loads(printed["document"])
    assert (code, printed["url"]) == (0, "https://bot.example.com/webhook/slack")
    assert manifest["settings"]["interactivity"]["request_url"] == printed["url"]
    assert manifest["features"]["slash_commands"][0]["url"] == printed["url"]
    assert len(printed["steps"]) >= 5


def test_an_app_that_only_listens_needs_a_server_that_does(
    workspace: SlackWorkspace, tmp_path: Path
) -> None:
    settings = make_settings(
        slack_token=workspace.token,
        slack_app_token=APP_TOKEN,
        slack_api=workspace.api,
        data=str(tmp_path),
    )
    with pytest.raises(DoctorWarning, match="no server listens for it"):
        check_platforms(settings)
    leases = Leases(open_stores(settings).kv, SYSTEM, 30.0, 60.0)
    [channel] = open_channels(settings.channels).values()
    assert isinstance(channel, SocketChannel)
    leases.take(keys.updates_of(settings.agent, "slack", channel.listened_bot))
    assert check_platforms(settings) == (
        "slack: the bot @sigil answers, and a server listens for it"
    )
