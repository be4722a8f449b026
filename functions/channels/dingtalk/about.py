"""What is known about DingTalk before its code is loaded."""

from __future__ import annotations

from typing import Final

from functions.channels.about import About, ChannelSetting

API: Final = "https://api.dingtalk.com"
OLD_API: Final = "https://oapi.dingtalk.com"
ABOUT: Final = About(
    platform="dingtalk",
    title="DingTalk",
    settings=(
        ChannelSetting("app_key", "the app's client id (AppKey), ding…", needed=True),
        ChannelSetting(
            "app_secret",
            "the app's client secret: with it the agent answers, and knows what DingTalk sends",
            secret=True,
            rules=True,
            needed=True,
            spared_by="aes_key",
        ),
        ChannelSetting(
            "aes_key",
            "the robot's aes_key: with it only what is encrypted is taken",
            secret=True,
            rules=True,
            used_by="webhook",
        ),
        ChannelSetting("robot_code", "the robot's code, where it is not the app's client id"),
        ChannelSetting(
            "card_template",
            "the id of an AI card's template, ….schema: with it people read along while an answer"
            " is written",
            used_by="worker",
        ),
        ChannelSetting("api", "the API's address", API, keeps=("app_secret",)),
        ChannelSetting(
            "old_api",
            "the address of the API for answers to a message, and for uploads",
            OLD_API,
            keeps=("app_secret",),
        ),
    ),
    opens_with=("app_key",),
    by_hand=True,
    polled=True,
    polls_with=("app_secret",),
    own_chat=r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}",
    id_form="a person's user id in the organization",
    id_scope="bot",
)
