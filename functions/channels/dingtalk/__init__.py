"""DingTalk: `channel` is its bot, `messages` reads what it sends, `sending` writes messages, `api`
speaks HTTP to it.
"""
