"""What is known about Feishu before its code is loaded."""

from __future__ import annotations

from typing import Final

from functions.channels.about import About, ChannelSetting

API: Final = "https://open.feishu.cn"
ABOUT: Final = About(
    platform="feishu",
    title="Feishu",
    settings=(
        ChannelSetting("app_id", "the app's id, cli_…", needed=True),
        ChannelSetting(
            "app_secret", "the app's secret", secret=True, needed=True, used_by="worker"
        ),
        ChannelSetting(
            "verification_token",
            "the app's verification token (without it the webhook refuses everything)",
            secret=True,
            rules=True,
            needed=True,
            used_by="webhook",
        ),
        ChannelSetting(
            "encrypt_key",
            "the app's encrypt key: with it only what is signed and encrypted is taken",
            secret=True,
            rules=True,
            used_by="webhook",
        ),
        ChannelSetting(
            "api",
            "the API's address; Lark's is https://open.larksuite.com",
            API,
            keeps=("app_secret",),
        ),
    ),
    opens_with=("app_id",),
    by_hand=True,
    polled=True,
    polls_with=("app_secret",),
    own_chat="ou_[A-Za-z0-9]{1,64}",
    id_form="ou_…",
    id_scope="bot",
)
