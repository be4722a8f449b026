"""Telegram: webhooks in, messages out. `updates` reads, `bot` is the channel, `api` talks to the
Bot API.
"""

from __future__ import annotations

from functions.channels.telegram.channel import Telegram

__all__ = ["Telegram"]
