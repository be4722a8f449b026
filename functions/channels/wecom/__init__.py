"""WeCom: `channel` is an app of an organization, `messages` reads what it sends, `sending` writes
messages, `api` speaks HTTP to it.
"""
