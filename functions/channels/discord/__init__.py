"""Discord as a chat platform: `interactions` reads what Discord sends, `channel` is the platform,
`api` talks to its API.
"""

from __future__ import annotations

from functions.channels.discord.channel import Discord

__all__ = ["Discord"]
