"""What an owner does in Feishu's developer console, which has no call for it."""

from __future__ import annotations

import json
from typing import Final

from functions.channels.about import ChannelSettings
from functions.channels.feishu.channel import SCOPES
from functions.channels.webhooks import SetupRecipe

STEPS: Final = """\
1. Open https://open.feishu.cn/app (Lark: https://open.larksuite.com/app), create a custom app, and
   add the feature "Bot" to it.
2. "Credentials & Basic Info": set FEISHU_APP_ID and FEISHU_APP_SECRET. For Lark also set
   FEISHU_API=https://open.larksuite.com.
3. "Permissions & Scopes", "Batch import/export scopes": paste what is printed here.
4. "Events & Callbacks", "Encryption Strategy": let Feishu make an encrypt key, and set
   FEISHU_ENCRYPT_KEY and FEISHU_VERIFICATION_TOKEN.
5. Start the agent with these settings. Then "Event Configuration" and "Callback Configuration":
   choose to receive at a request URL, each time
   {url}
6. Add the events "Message received" (im.message.receive_v1), "Message recalled"
   (im.message.recalled_v1), "Bot added to group chat" (im.chat.member.bot.added_v1) and, where it
   is offered, "Message edited" (im.message.updated_v1); and the callback "Card callback
   communication" (card.action.trigger).
7. "Version Management & Release": create a version, and publish it.
8. Write to the bot in Feishu, or add it to a group and mention it.
"""
LISTENING_STEPS: Final = """\
1. Open https://open.feishu.cn/app (Lark: https://open.larksuite.com/app), create a custom app, and
   add the feature "Bot" to it.
2. "Credentials & Basic Info": set FEISHU_APP_ID and FEISHU_APP_SECRET. For Lark also set
   FEISHU_API=https://open.larksuite.com.
3. "Permissions & Scopes", "Batch import/export scopes": paste what is printed here.
4. Start the agent: uncaged serve --poll. Then "Event Configuration" and "Callback Configuration":
   choose the long connection, each time. Feishu takes it only while the agent is connected.
5. Add the events "Message received" (im.message.receive_v1), "Message recalled"
   (im.message.recalled_v1), "Bot added to group chat" (im.chat.member.bot.added_v1) and, where it
   is offered, "Message edited" (im.message.updated_v1); and the callback "Card callback
   communication" (card.action.trigger).
6. "Version Management & Release": create a version, and publish it.
7. Write to the bot in Feishu, or add it to a group and mention it.
"""


def write_recipe(channel: ChannelSettings, url: str) -> SetupRecipe:
    """Return how an owner sets up an app whose requests go to `url`; without one the agent
    listens.
    """
    if not url:
        return SetupRecipe(write_scopes(), LISTENING_STEPS)
    return SetupRecipe(write_scopes(), write_steps(url))


def write_scopes() -> str:
    """Return the app's permissions as the console imports them."""
    return json.dumps({"scopes": {"tenant": list(SCOPES), "user": []}}, indent=2)


def write_steps(url: str) -> str:
    """Return the steps for an app whose events go to `url`."""
    return STEPS.replace("{url}", url)
