"""What an owner does in DingTalk's developer console, which has no call for it."""

from __future__ import annotations

import json
from typing import Final

from functions.channels.about import ChannelSettings
from functions.channels.webhooks import SetupRecipe

PERMISSIONS: Final = ("qyapi_robot_sendmsg",)
"""What the app may do: send messages of its robot, and fetch the files that people send it."""
CARD_PERMISSIONS: Final = ("Card.Streaming.Write", "Card.Instance.Write")
"""What it may do besides where answers are written into cards."""
STEPS: Final = """\
1. Open https://open-dev.dingtalk.com, choose "App development", and create an internal app of your
   organization.
2. "Credentials": set DINGTALK_APP_KEY to the client id (AppKey) and DINGTALK_APP_SECRET to the
   client secret (AppSecret).
3. "Permissions": request what is printed here, to send messages of robots.
4. "Robot": switch the robot on, choose HTTP mode for receiving messages, and enter the address that
   is printed here. Let DingTalk make an aes_key there where the page offers one, and set
   DINGTALK_AES_KEY: without it a request's signature does not cover what it says.
5. If the page shows another RobotCode than the client id, set DINGTALK_ROBOT_CODE.
6. Start the agent with these settings. Then "Version management": create a version, and publish it.
7. Look the robot up in DingTalk and write to it, or add it to a group and mention it.
"""
LISTENING_STEPS: Final = """\
1. Open https://open-dev.dingtalk.com, choose "App development", and create an internal app of your
   organization.
2. "Credentials": set DINGTALK_APP_KEY to the client id (AppKey) and DINGTALK_APP_SECRET to the
   client secret (AppSecret).
3. "Permissions": request what is printed here, to send messages of robots.
4. "Robot": switch the robot on, and choose stream mode for receiving messages.
5. If the page shows another RobotCode than the client id, set DINGTALK_ROBOT_CODE.
6. Start the agent: uncaged serve --poll. Then "Version management": create a version, and publish
   it.
7. Look the robot up in DingTalk and write to it, or add it to a group and mention it.
"""


def write_recipe(channel: ChannelSettings, url: str) -> SetupRecipe:
    """Return how an owner sets up an app whose messages go to `url`; without one the agent
    listens.
    """
    address = {"message_url": url} if url else {}
    permissions = [*PERMISSIONS, *(CARD_PERMISSIONS if channel["card_template"] else ())]
    document = json.dumps({**address, "permissions": permissions}, indent=2)
    return SetupRecipe(document, STEPS if url else LISTENING_STEPS)
