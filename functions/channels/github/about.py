"""What is known about GitHub before its code is loaded."""

from __future__ import annotations

from typing import Final

from functions.channels.about import About, ChannelSetting

API: Final = "https://api.github.com"
ABOUT: Final = About(
    platform="github",
    title="GitHub",
    settings=(
        ChannelSetting(
            "repositories",
            "the repositories where it answers, OWNER/REPOSITORY with blanks between them",
            rules=True,
            needed=True,
            found="the repositories where the agent answers, such as octocat/hello-world",
        ),
        ChannelSetting(
            "token",
            "the access token of the bot's own account",
            secret=True,
            needed=True,
            used_by="worker",
            found=(
                "an access token of the bot's account: Settings, Developer settings, Fine-grained"
                " tokens"
            ),
        ),
        ChannelSetting(
            "secret",
            "the webhook's secret (without it the webhook refuses everything)",
            secret=True,
            rules=True,
            needed=True,
            used_by="webhook",
            made_here=True,
        ),
        ChannelSetting("api", "the address of GitHub's API", API, keeps=("token", "secret")),
    ),
    opens_with=("token", "secret"),
    id_form="NUMBER",
    whoami="/uncaged whoami",
    command_sign="/uncaged ",
    has_private_chats=False,
)
