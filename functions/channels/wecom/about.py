"""What is known about WeCom before its code is loaded."""

from __future__ import annotations

from typing import Final

from functions.channels.about import About, ChannelSetting

API: Final = "https://qyapi.weixin.qq.com"
ABOUT: Final = About(
    platform="wecom",
    title="WeCom",
    settings=(
        ChannelSetting("corp_id", "the organization's id, ww…", needed=True),
        ChannelSetting("agent_id", "the app's AgentId, a number", needed=True),
        ChannelSetting("secret", "the app's secret", secret=True, needed=True, used_by="worker"),
        ChannelSetting(
            "token",
            "the token of the app's API for receiving messages",
            secret=True,
            rules=True,
            needed=True,
            used_by="webhook",
        ),
        ChannelSetting(
            "aes_key",
            "the EncodingAESKey of the app's API for receiving messages",
            secret=True,
            rules=True,
            needed=True,
            used_by="webhook",
        ),
        ChannelSetting("api", "the API's address", API, keeps=("secret",)),
    ),
    opens_with=("corp_id",),
    by_hand=True,
    own_chat=r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}",
    id_form="a person's user id in the organization",
    id_scope="bot",
)
