"""What is known about Telegram before its code is loaded."""

from __future__ import annotations

from typing import Final

from functions.channels.about import About, ChannelSetting

API: Final = "https://api.telegram.org"
ABOUT: Final = About(
    platform="telegram",
    title="Telegram",
    settings=(
        ChannelSetting(
            "token",
            "the bot's token",
            secret=True,
            needed=True,
            used_by="worker",
            found="the token that @BotFather gives you",
        ),
        ChannelSetting(
            "bot",
            "the bot's id, for a webhook that does not get the token (default: the first part of"
            " the token)",
            used_by="webhook",
            first_part_of="token",
        ),
        ChannelSetting(
            "secret",
            "the webhook's secret token (without it the webhook refuses everything)",
            secret=True,
            rules=True,
            needed=True,
            used_by="webhook",
            made_here=True,
        ),
        ChannelSetting("api", "the Bot API's address", API, keeps=("token", "secret")),
        ChannelSetting(
            "username",
            "the bot's user name without @ (default: the Bot API is asked once)",
            used_by="worker",
        ),
    ),
    opens_with=("token", "bot"),
    polled=True,
    own_chat="[0-9]{1,19}",
    id_form="NUMBER",
)
