"""Slack as a chat platform: `requests` verifies and reads what Slack sends, `channel` is the
platform, `api` talks to the Web API.
"""
