"""What is known about Discord before its code is loaded."""

from __future__ import annotations

from typing import Final

from functions.channels.about import About, ChannelSetting

API: Final = "https://discord.com/api/v10"
ABOUT: Final = About(
    platform="discord",
    title="Discord",
    settings=(
        ChannelSetting(
            "token",
            "the bot's token",
            secret=True,
            needed=True,
            used_by="worker",
            found="the bot's token in Discord's developer portal: Bot, Reset Token",
        ),
        ChannelSetting(
            "public_key",
            "the application's public key, 64 digits of 0-9 a-f (without it the webhook refuses"
            " everything)",
            rules=True,
            needed=True,
            used_by="webhook",
            found="the key in Discord's developer portal: General Information, Public Key",
        ),
        ChannelSetting("api", "the address of Discord's API", API, keeps=("token",)),
    ),
    opens_with=("token", "public_key"),
    polled=True,
    types_commands=False,
    room="[0-9]{1,20}",
)
