"""Telegram as a chat platform: `updates` reads webhooks, `channel` is the platform, `api` talks to
the Bot API.
"""
