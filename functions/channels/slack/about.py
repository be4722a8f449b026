"""What is known about Slack before its code is loaded."""

from __future__ import annotations

from typing import Final

from functions.channels.about import About, ChannelSetting

API: Final = "https://slack.com/api"
ABOUT: Final = About(
    platform="slack",
    title="Slack",
    settings=(
        ChannelSetting(
            "token", "the bot's token, xoxb-…", secret=True, needed=True, used_by="worker"
        ),
        ChannelSetting(
            "secret",
            "the app's signing secret (without it the webhook refuses everything)",
            secret=True,
            rules=True,
            needed=True,
            used_by="webhook",
        ),
        ChannelSetting(
            "app_token",
            "the app-level token, xapp-…, with which `uncaged serve --poll` listens (Socket Mode)",
            secret=True,
            used_by="worker",
        ),
        ChannelSetting("api", "the Web API's address", API, keeps=("token", "secret", "app_token")),
    ),
    opens_with=("token", "secret"),
    by_hand=True,
    polled=True,
    polls_with=("app_token",),
    own_chat=r"[TE][A-Z0-9]{1,30}\.[UW][A-Z0-9]{1,30}",
    id_form="TEAM.USER",
    whoami="/uncaged whoami",
    command_sign="!",
    id_scope="workspace",
)
