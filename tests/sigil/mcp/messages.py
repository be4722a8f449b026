"""Messages of an MCP client, and a capability for them to deploy."""

from __future__ import annotations

from typing import Any

SHOUT = {
    "name": "shout",
    "description": "Say a text in capital letters.",
    "schema": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}},
    "execute": "return input.text.toUpperCase()",
}


def ask(id: Any, method: str, /, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def call(id: Any, tool: str, /, **given: Any) -> dict[str, Any]:
    return ask(id, "tools/call", name=tool, arguments=given)
