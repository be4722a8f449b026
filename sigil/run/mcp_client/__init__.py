"""The tools of other people's MCP servers: which one a capability means, how it is asked, and what
its answer comes to.
"""
