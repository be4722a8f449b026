"""What is known about Matrix before its code is loaded."""

from __future__ import annotations

from typing import Final

from functions.channels.about import About, ChannelSetting

ABOUT: Final = About(
    platform="matrix",
    title="Matrix",
    settings=(
        ChannelSetting("user", "the bot's account, such as @sigil:example.org", needed=True),
        ChannelSetting(
            "homeserver",
            "the homeserver's address, such as https://matrix.example.org",
            keeps=("token",),
            needed=True,
            used_by="worker",
        ),
        ChannelSetting(
            "token",
            "the account's access token, or the as_token of its registration",
            secret=True,
            needed=True,
            used_by="worker",
        ),
        ChannelSetting(
            "secret",
            "the hs_token of its registration (without it the webhook refuses everything, and the"
            " account is for `uncaged serve --poll`)",
            secret=True,
            rules=True,
            needed=True,
            used_by="webhook",
        ),
        ChannelSetting(
            "drafts",
            "`on` shows answers in rooms of two while they are written; the room keeps each change",
            "off",
            used_by="worker",
        ),
    ),
    opens_with=("user",),
    by_hand=True,
    polled=True,
    own_chat=r"@[!-9;-~]{1,250}:(?:[A-Za-z0-9.-]{1,230}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?",
    room=r"![!#%-~]{1,255}",
    joined_by_others=True,
    id_form="@USER:SERVER",
    whoami="!whoami",
    command_sign="!",
)
