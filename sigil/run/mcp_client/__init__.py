"""The client of MCP servers: it lists their tools, calls them, and reads their answers."""
