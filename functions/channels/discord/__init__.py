"""Discord as a chat platform: `interactions` reads what Discord sends, `channel` is the platform,
`api` talks to its API.
"""
