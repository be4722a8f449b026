"""What is known about LINE before its code is loaded."""

from __future__ import annotations

from typing import Final

from functions.channels.about import About, ChannelSetting

API: Final = "https://api.line.me"
ABOUT: Final = About(
    platform="line",
    title="LINE",
    settings=(
        ChannelSetting(
            "token",
            "the channel access token",
            secret=True,
            needed=True,
            used_by="worker",
            found="the channel access token in LINE's console: Messaging API, Issue",
        ),
        ChannelSetting(
            "secret",
            "the channel secret (without it the webhook refuses everything)",
            secret=True,
            rules=True,
            needed=True,
            used_by="webhook",
            found="the channel secret in LINE's console: Basic settings",
        ),
        ChannelSetting(
            "api",
            "the address of LINE's API; files come from https://api-data.line.me, or else from"
            " there",
            API,
            keeps=("token",),
        ),
    ),
    opens_with=("token", "secret"),
    own_chat="U[0-9a-f]{32}",
    id_form="U…",
    id_scope="bot",
)
