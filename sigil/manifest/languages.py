"""The languages that a capability can be written in."""

from __future__ import annotations

from typing import Final, Literal

Lang = Literal[
    "js", "ts", "wat", "wasm", "wasi", "c", "assemblyscript", "rust", "mcp", "host", "bundle"
]

HOST: Final = "host"
"""The language of a function of the agent itself, which has no code here and runs only inside an
agent.
"""
BUNDLE: Final = "bundle"
"""The language of a list of other capabilities, which are found together."""
CODELESS: Final = (HOST, BUNDLE)
"""Languages without code."""
BACKGROUND: Final = "background"
"""The tag of a tool of an MCP server whose calls may outlive the turns that make them."""
BINARY: Final = ("wasm", "wasi")
"""Languages whose code is a finished module."""
SOURCES: Final = {
    "js": "main.js",
    "ts": "main.ts",
    "wat": "main.wat",
    "wasm": "main.wasm",
    "wasi": "main.wasm",
    "c": "main.c",
    "assemblyscript": "main.ts",
    "rust": "main.rs",
    "mcp": "server.json",
}
"""Language → the file that holds its source unless the manifest names another."""
