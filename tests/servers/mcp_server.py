"""Runs in an environment of the official SDK: a server of its making, for our client.

`python mcp_server.py stdio | stateful PORT | stateless PORT`
"""

from __future__ import annotations

import sys
import time
from typing import Any

try:
    from mcp.server.mcpserver import Image, MCPServer

    OLD = False
except ImportError:  # the SDK before its second version
    from mcp.server.fastmcp import FastMCP as MCPServer
    from mcp.server.fastmcp import Image

    OLD = True

KIND, PORT = sys.argv[1], int((*sys.argv[2:], "0")[0])
NETWORK: dict[str, Any] = (
    {} if KIND == "stdio" else {"port": PORT, "stateless_http": KIND == "stateless"}
)
server = MCPServer("workbench", **(NETWORK if OLD else {}))


@server.tool()
def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


@server.tool()
def readNotes(topic: str) -> str:
    """Read the notes on a topic."""
    return f"notes on {topic}"


@server.tool(structured_output=False)
def picture() -> list[Any]:
    """Draw a picture."""
    return ["here it is", Image(data=b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" * 25, format="png")]


@server.tool()
def fail(why: str) -> str:
    """Fail, and say why."""
    raise ValueError(why)


@server.tool()
def wait(seconds: float) -> str:
    """Wait a while."""
    time.sleep(seconds)
    return "done"


@server.tool()
def repeat(text: str, times: int) -> str:
    """Repeat a text."""
    return text * times


if __name__ == "__main__":
    if KIND == "stdio":
        server.run()
    else:
        server.run("streamable-http", **({} if OLD else NETWORK))
