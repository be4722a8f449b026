"""Channels whose settings AWS's Parameter Store has."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from functions.channels.platforms import PLATFORMS, open_channels
from functions.cli.app import cli
from functions.settings import Settings
from sigil.errors import BackendError, UsageError
from sigil.storage import aws
from tests.functions.channels.test_platforms import VALUES
from tests.servers.ministack import Ministack, unique

KEYED = {"DINGTALK_AES_KEY": "A" * 43}
"""With it the webhook does not need the app's secret."""
OWN = KEYED | {
    f"{platform}_{field}".upper(): value
    for platform, values in VALUES.items()
    for field, value in values.items()
}
SHOP = {"TELEGRAM_SHOP_TOKEN": "88:shop", "TELEGRAM_SHOP_SECRET": "of-the-shop"}
NAMES = (*PLATFORMS, "telegram-shop")


@pytest.fixture
def place(ministack: Ministack, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where an owner stored the settings of every platform, and of a second bot."""
    for name, value in ministack.environment.items():
        monkeypatch.setenv(name, value)
    place = unique("/uncaged")
    with monkeypatch.context() as owner:
        for name, value in {**OWN, **SHOP, "UNCAGED_CHANNELS": "telegram-shop"}.items():
            owner.setenv(name, value)
        owner.setenv("SLACK_API", "https://slack.example/api")
        for name in NAMES:
            words = ["channel", "store", name, "--place", place, "--aws"]
            done = CliRunner().invoke(cli, words)
            assert done.exit_code == 0, done.output
            assert not [value for value in SHOP.values() if value in done.output]
    return place


def settings_at(place: str, *names: str, **more: str) -> Settings:
    return Settings(channel_names=names or NAMES, channel_secrets=place, declared=more)


def test_a_worker_has_all_settings_and_a_webhook_what_verifies(place: str) -> None:
    worker = settings_at(place).load_channels()
    webhook = settings_at(place).load_channels(by_worker=False)

    expected = {**OWN, **SHOP}
    assert {name: worker.declared.get(name) for name in expected} == expected
    assert worker.declared["SLACK_API"] == "https://slack.example/api"
    assert worker.declared["TELEGRAM_BOT"] == VALUES["telegram"]["token"].partition(":")[0]
    for channel in webhook.channels:
        for setting in channel.about.settings:
            if setting.secret and (setting.used_by == "worker" or setting.spared_by):
                assert channel[setting.field] == ""
    # each of them opens either way, and what the environment says counts
    assert set(open_channels(webhook.channels)) == set(open_channels(worker.channels)) == {*NAMES}
    own = settings_at(place, "slack", SLACK_SECRET="another").load_channels()
    assert own.declared["SLACK_SECRET"] == "another"
    assert "xoxb-1" not in repr(worker)


def test_nothing_is_asked_for_without_a_name_or_a_place(place: str) -> None:
    for settings in (Settings(channel_secrets=place), Settings(channel_names=("slack",))):
        assert settings.load_channels() is settings


def test_a_name_without_parameters_and_an_about_that_is_none_are_errors(place: str) -> None:
    nowhere = settings_at(unique("/nowhere"), "telegram-shop").load_channels()
    with pytest.raises(UsageError, match="TELEGRAM_SHOP_TOKEN is not set"):
        open_channels(nowhere.channels)
    for text, why in (
        ("[]", "is no JSON object of texts"),
        ("{", "is no JSON object of texts"),
        ('{"bot": 1}', "is no JSON object of texts"),
        ('{"token": "88:shop"}', "has 'token', which is no open setting"),
        ('{"bto": "88"}', "has 'bto', which is no open setting"),
    ):
        aws.client("ssm").put_parameter(
            Name=f"{place}/telegram-shop/about", Value=text, Type="SecureString", Overwrite=True
        )
        with pytest.raises(BackendError, match=why) as caught:
            settings_at(place, "telegram-shop").load_channels()
        assert "uncaged channel store telegram-shop" in caught.value.suggestion
        assert "88:shop" not in str(caught.value)


@pytest.mark.parametrize("wrong", ["uncaged", "/a b", "/", "/a/", "ssm:/a"])
def test_a_place_is_a_path(wrong: str) -> None:
    with pytest.raises(UsageError, match="is no place for parameters"):
        Settings(channel_secrets=wrong)


def test_without_aws_the_commands_are_printed_and_no_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {**SHOP, "UNCAGED_CHANNELS": "telegram-shop"}.items():
        monkeypatch.setenv(name, value)
    done = CliRunner().invoke(cli, ["channel", "store", "telegram-shop"])
    shown = CliRunner().invoke(cli, ["channel", "store", "telegram-shop", "--json"])
    missing = CliRunner().invoke(cli, ["channel", "store", "slack"])

    put = "aws ssm put-parameter --overwrite --type SecureString --name /uncaged/channels"
    assert done.stdout.splitlines() == [
        f'{put}/telegram-shop/speak/token --value "$TELEGRAM_SHOP_TOKEN"',
        f'{put}/telegram-shop/verify/secret --value "$TELEGRAM_SHOP_SECRET"',
        f"{put}/telegram-shop/about --value '{json.dumps({'bot': '88'})}'",
    ]
    assert json.loads(shown.stdout)["written"] is False
    assert isinstance(missing.exception, UsageError | SystemExit)
    assert "of-the-shop" not in done.output + shown.output
