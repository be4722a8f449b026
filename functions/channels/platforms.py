"""The platforms, and their channels as the settings describe them."""

from __future__ import annotations

from functions.channels.base import Channel
from functions.settings import Settings
from sigil.storage.setting_secrets import reveal


def open_channels(settings: Settings) -> dict[str, Channel]:
    """Open the platforms whose settings are there, by name."""
    channels: dict[str, Channel] = {}
    if settings.telegram_token or settings.telegram_bot:
        from functions.channels.telegram import Telegram

        channels["telegram"] = Telegram(
            reveal(settings.telegram_token),
            reveal(settings.telegram_secret),
            settings.telegram_api,
            settings.agent,
            settings.telegram_username or None,
            bot=settings.telegram_bot,
        )
    return channels
