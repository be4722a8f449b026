"""What is known about the platforms, beside what their code does."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from functions.channels.about import ChannelSettings, name_variable
from functions.channels.listening.sockets import SocketChannel
from functions.channels.listening.updates import PolledChannel
from functions.channels.platforms import OWN_CHAT, PLATFORMS, open_channels, write_recipe
from functions.channels.webhooks import HasWebhook
from functions.settings import Settings
from sigil.settings import describe_settings
from tests.project.tree import ROOT
from tests.tables import each_row

FOLDERS: Final = sorted((ROOT / "functions" / "channels").glob("*/about.py"))
VALUES: Final = {
    "telegram": {"token": "7:a", "secret": "s"},
    "slack": {"token": "xoxb-1", "secret": "s"},
    "discord": {"token": "MTIz.abcdef.0123456789abcdefghijklmnop", "public_key": "00" * 32},
    "feishu": {"app_id": "cli_a1b2c3", "app_secret": "s", "verification_token": "v"},
    "whatsapp": {"number": "106540352242922", "token": "t", "verify_token": "v", "secret": "s"},
    "github": {"repositories": "octocat/hello", "token": "t", "secret": "s"},
    "line": {"token": "t", "secret": "s"},
    "dingtalk": {"app_key": "dinga1b2c3", "app_secret": "s"},
    "matrix": {
        "user": "@sigil:example.org",
        "homeserver": "https://matrix.example.org",
        "token": "t",
        "secret": "s",
    },
    "wecom": {
        "corp_id": "wwa1b2c3",
        "agent_id": "1000002",
        "secret": "s",
        "token": "t",
        "aes_key": "A" * 43,
    },
}
"""What an owner sets for each platform: all that it needs."""
CHATS: Final = {
    "telegram": "42",
    "slack": "T1.U1",
    "feishu": "ou_a1",
    "whatsapp": "4915112345678",
    "line": "U" + "0a" * 16,
    "dingtalk": "manager4711",
    "matrix": "@ada:example.org",
    "wecom": "ZhangSan",
}
"""Ids of people whose private chat is named like them."""


def settings_of(platform: str, *fields: str) -> ChannelSettings:
    values = {name_variable(platform, field): VALUES[platform][field] for field in fields}
    return ChannelSettings(platform, PLATFORMS[platform], values=values)


def test_every_folder_of_a_platform_is_in_the_list() -> None:
    assert {path.parent.name for path in FOLDERS} == set(PLATFORMS)


@each_row("platform", PLATFORMS)
def test_what_a_platform_says_about_itself_is_what_its_channel_can_do(platform: str) -> None:
    about = PLATFORMS[platform]
    needed = [each.field for each in about.list_needed()]
    whole = settings_of(platform, *needed)

    [(name, channel)] = open_channels([whole]).items()

    assert set(VALUES[platform]) == set(needed)
    assert (name, about.platform, whole.list_missing()) == (platform, platform, [])
    assert isinstance(channel, PolledChannel | SocketChannel) == about.polled
    assert isinstance(channel, HasWebhook) != about.by_hand
    if about.by_hand:
        url = f"https://a.example/webhook/{platform}"
        recipe = write_recipe(whole, url)
        assert url in recipe.document + recipe.steps
    else:
        assert all(each.found or each.made_here for each in about.list_needed())


@each_row("platform", PLATFORMS)
def test_a_channel_opens_as_soon_as_one_of_its_settings_says_that_it_is_wanted(
    platform: str,
) -> None:
    about = PLATFORMS[platform]

    assert not open_channels([settings_of(platform)])
    for field in VALUES[platform]:
        given = settings_of(platform, field)
        assert given.is_open == (field in about.opens_with)
        assert list(open_channels([given])) == ([platform] if given.is_open else [])


@each_row("platform", CHATS)
def test_a_persons_own_chat_is_known_by_its_name(platform: str) -> None:
    about = PLATFORMS[platform]

    assert about.id_form
    assert OWN_CHAT.fullmatch(f"{platform}:{CHATS[platform]}")
    assert OWN_CHAT.fullmatch(f"{platform}-shop:{CHATS[platform]}")
    assert not OWN_CHAT.fullmatch(f"{platform}:{CHATS[platform]}:thread")
    assert not OWN_CHAT.fullmatch(f"else:{CHATS[platform]}")


def test_a_platform_is_one_of_those_with_such_chats_or_says_nothing_of_them() -> None:
    assert {name for name, about in PLATFORMS.items() if about.own_chat} == set(CHATS)


def test_each_setting_of_a_platform_is_read_from_its_variable(tmp_path: Path) -> None:
    names = {
        name_variable(platform, each.field): f"{platform} {each.field}"
        for platform, about in PLATFORMS.items()
        for each in about.settings
    }

    read = Settings.read(names, tmp_path)

    for channel in read.channels:
        for each in channel.about.settings:
            assert channel[each.field] == f"{channel.name} {each.field}"
    shown = {name: value for name, value, _ in describe_settings(read)}
    secrets = {facts.name for facts in Settings.list_facts({}) if facts.secret}
    assert {name: shown[name] for name in names} == {
        name: "set" if name in secrets else value for name, value in names.items()
    }
    assert not [value for value in names.values() if value in repr(read)]
