"""Telegram as a chat platform: `updates` reads webhooks, `channel` is the platform, `api` talks to
the Bot API.
"""

from __future__ import annotations

from functions.channels.telegram.channel import Telegram

__all__ = ["Telegram"]
