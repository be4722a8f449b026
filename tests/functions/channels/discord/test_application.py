"""The application at Discord gets our address and our commands."""

from __future__ import annotations

import pytest

from functions.channels.discord.channel import Discord
from functions.channels.webhooks import CommandMenu, WebhookRegistration
from functions.cli.commands.channel import make_menus
from sigil.errors import BackendError, Refused, UsageError
from tests.fakes.discord import DiscordServer

URL = "https://bot.example.com/webhook/discord"


def test_the_address_and_the_commands_are_registered(
    discord: Discord, discord_server: DiscordServer
) -> None:
    menus = (
        CommandMenu("en", (("new", "Start anew"), ("pair", "x" * 300))),
        CommandMenu("de", (("new", "Neu beginnen"),)),
        CommandMenu("zh", (("new", "重新开始"),)),
        CommandMenu("en", (("halt", "Stop everything"), ("new", "again")), person="discord:42"),
    )
    discord.webhook.register(WebhookRegistration(URL, menus=menus))
    assert discord_server.endpoint == URL
    ask, new, pair, halt = discord_server.commands
    assert [option["name"] for option in ask["options"]] == ["text", "file"]
    assert (new["name"], new["description"]) == ("new", "Start anew")
    assert new["description_localizations"] == {"de": "Neu beginnen", "zh-CN": "重新开始"}
    assert [option["name"] for option in new["options"]] == ["words"]
    assert len(pair["description"]) == 100
    assert (halt["name"], halt["contexts"]) == ("halt", [0, 1])
    state = discord.webhook.read_state()
    assert (state.url, state.works) == (URL, True)
    discord.webhook.remove()
    assert discord_server.endpoint == ""
    assert not discord.webhook.read_state().works
    assert discord.fetch_bot_name() == "sigil"


def test_all_commands_of_the_agent_are_ones_that_discord_takes(
    discord: Discord, discord_server: DiscordServer
) -> None:
    discord.set_menus(make_menus("discord"))
    names = {command["name"] for command in discord_server.commands}
    assert {"ask", "new", "stop", "status", "pair", "help"} <= names


def test_an_address_that_does_not_answer_as_discord_wants_is_refused_with_what_helps(
    discord: Discord, discord_server: DiscordServer
) -> None:
    discord_server.fail(400, 50035, method="PATCH")
    with pytest.raises(Refused) as refused:
        discord.webhook.register(WebhookRegistration(URL))
    assert "DISCORD_PUBLIC_KEY" in refused.value.suggestion
    for url in ("http://bot.example.com/x", "https://", "https://bücher.example/x", "https://[x"):
        with pytest.raises(UsageError):
            discord.webhook.register(WebhookRegistration(url))
    discord_server.fail(401, method="GET")
    with pytest.raises(BackendError):
        discord.webhook.read_state()
