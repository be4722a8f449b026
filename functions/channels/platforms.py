"""The platforms that there are, and their channels as the settings describe them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Final

from functions.channels.about import About, ChannelSettings
from functions.channels.discord.about import ABOUT as DISCORD
from functions.channels.feishu.about import ABOUT as FEISHU
from functions.channels.line.about import ABOUT as LINE
from functions.channels.slack.about import ABOUT as SLACK
from functions.channels.telegram.about import ABOUT as TELEGRAM
from functions.channels.whatsapp.about import ABOUT as WHATSAPP

if TYPE_CHECKING:
    from functions.channels.base import Channel
    from functions.channels.webhooks import SetupRecipe

PLATFORMS: Final = {
    about.platform: about for about in (TELEGRAM, SLACK, DISCORD, FEISHU, WHATSAPP, LINE)
}
OWN_CHAT: Final = re.compile(
    "|".join(
        f"{about.platform}(?:-[a-z0-9-]{{1,40}})?:(?:{about.own_chat})"
        for about in PLATFORMS.values()
        if about.own_chat
    ),
    re.ASCII,
)
"""A person's own chat, on the platforms where it is named like them."""


def find_about(channel: str) -> About | None:
    """Return what is known about the platform of a channel, None when there is no such platform."""
    return PLATFORMS.get(channel.partition("-")[0])


def open_channels(described: Iterable[ChannelSettings]) -> dict[str, Channel]:
    """Open the channels for which enough is set, by name."""
    channels: dict[str, Channel] = {}
    for settings in described:
        if settings.is_open:
            # a platform's code is loaded only where it has a channel
            module = import_module(f"functions.channels.{settings.about.platform}.channel")
            channels[settings.name] = module.open_channel(settings)
    return channels


def write_recipe(about: About, url: str) -> SetupRecipe:
    """Return how an owner sets up a platform that registers no webhook from here; `url` is ours."""
    recipe: SetupRecipe = import_module(f"functions.channels.{about.platform}.recipe").write_recipe(
        url
    )
    return recipe
