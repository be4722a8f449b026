"""The manifest from which Slack makes our app (https://docs.slack.dev/app-manifests)."""

from __future__ import annotations

import json
from typing import Final

from functions.channels.about import ChannelSettings
from functions.channels.slack.channel import SCOPES
from functions.channels.webhooks import SetupRecipe

APP_NAME: Final = "Uncaged"
COMMAND: Final = "/uncaged"
EVENTS: Final = (
    "app_mention",
    "member_joined_channel",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
)
STEPS: Final = """\
1. Open https://api.slack.com/apps, choose "Create New App", then "From a manifest", and paste what
   is printed here.
2. "Install App": Slack shows the bot token. Set SLACK_TOKEN to it.
3. "Basic Information", "App Credentials": set SLACK_SECRET to the signing secret.
4. Start the agent with both. Then "Event Subscriptions": choose "Retry", so that Slack sees that it
   answers.
5. Write to the app in Slack, or invite it into a channel and mention it.
"""
LISTENING_STEPS: Final = """\
1. Open https://api.slack.com/apps, choose "Create New App", then "From a manifest", and paste what
   is printed here.
2. "Install App": Slack shows the bot token. Set SLACK_TOKEN to it.
3. "Basic Information", "App-Level Tokens": make one with the scope connections:write, and set
   SLACK_APP_TOKEN to it.
4. Start the agent with both: uncaged serve --poll
5. Write to the app in Slack, or invite it into a channel and mention it.
"""


def write_recipe(channel: ChannelSettings, url: str) -> SetupRecipe:
    """Return how an owner sets up an app whose requests go to `url`; without one the agent
    listens.
    """
    return SetupRecipe(write_manifest(url), STEPS if url else LISTENING_STEPS)


def write_manifest(url: str) -> str:
    """Return the manifest of an app whose requests go to `url`, or else over Socket Mode."""
    command = {
        "command": COMMAND,
        "description": "A command of the agent's, or a message to it",
        "usage_hint": "help",
        "should_escape": True,
    }
    address = {"request_url": url} if url else {}
    manifest = {
        "display_information": {
            "name": APP_NAME,
            "description": "An agent that finds its tools as it needs them",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": False,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": APP_NAME, "always_online": True},
            "slash_commands": [command | {"url": url} if url else command],
        },
        "oauth_config": {"scopes": {"bot": list(SCOPES)}},
        "settings": {
            "event_subscriptions": {**address, "bot_events": list(EVENTS)},
            "interactivity": {"is_enabled": True, **address},
            "org_deploy_enabled": False,
            "socket_mode_enabled": not url,
            "token_rotation_enabled": False,
        },
    }
    return json.dumps(manifest, indent=2)
