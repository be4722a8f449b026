"""What is known about WhatsApp before its code is loaded."""

from __future__ import annotations

from typing import Final

from functions.channels.about import About, ChannelSetting

API: Final = "https://graph.facebook.com/v23.0"
ABOUT: Final = About(
    platform="whatsapp",
    title="WhatsApp",
    settings=(
        ChannelSetting("number", "the phone number's id at Meta", needed=True),
        ChannelSetting("token", "the access token", secret=True, needed=True, used_by="worker"),
        ChannelSetting(
            "verify_token",
            "a word of your own, which Meta repeats when its webhook is set",
            secret=True,
            rules=True,
            needed=True,
            used_by="webhook",
        ),
        ChannelSetting(
            "secret",
            "the app's secret (without it the webhook refuses everything)",
            secret=True,
            rules=True,
            needed=True,
            used_by="webhook",
        ),
        ChannelSetting("api", "the Graph API's address, with its version", API, keeps=("token",)),
    ),
    opens_with=("number",),
    by_hand=True,
    own_chat=r"[1-9][0-9]{4,19}|[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}",
    id_form="the digits of a phone number",
)
