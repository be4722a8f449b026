"""Feishu, and Lark as it is called outside of China: `channel` is its bot, `events` reads what it
sends, `sending` writes messages, `api` speaks HTTP to it.
"""
