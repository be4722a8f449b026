"""Slack as a chat platform: `requests` verifies and reads what Slack sends, `channel` is the
platform, `api` talks to the Web API.
"""

from __future__ import annotations

from functions.channels.slack.channel import Slack

__all__ = ["Slack"]
