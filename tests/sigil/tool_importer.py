"""Import the tools of an MCP server into a registry, as an owner does."""

from __future__ import annotations

from typing import Any

from sigil.mcp.hints import is_repeatable
from sigil.protocol import Caller, Json
from sigil.registry import LocalRegistry
from sigil.run.mcp_client import document

OWNER = Caller("main", owner=True)


class ToolImporter:
    """A registry, and short words for what a person does with a server."""

    def __init__(self, registry: LocalRegistry) -> None:
        self.registry = registry

    def list_tools(self, server: dict[str, Json], *only: str) -> list[dict[str, Any]]:
        """The tools of a server."""
        return self.registry.importing.tools(server, OWNER, only)

    def import_tools(
        self,
        server: dict[str, Json],
        *only: str,
        grant: bool = True,
        timeout: int = 5_000,
        tags: tuple[str, ...] = (),
    ) -> list[str]:
        """Bring in every tool that can be a capability, or these only, and grant it; their names.

        Each that comes in is assembled in a process of its own.
        """
        read = document.parse_server(server)
        names = []
        for row in self.list_tools(server, *only):
            if not row["problem"]:
                flat = spec(read, row, timeout)
                self.registry.deploy({**flat, "tags": [*flat["tags"], *tags]}, OWNER)
                if grant:
                    self.registry.granting.grant(row["capability"], OWNER)
                names.append(row["capability"])
        return names

    def run(self, ref: str, /, **given: Json) -> Any:
        """What a capability returns."""
        import json

        return json.loads(self.registry.run(ref, given, OWNER).output)


def spec(server: document.McpServer, row: dict[str, Any], timeout: int = 5_000) -> dict[str, Any]:
    """A tool as a deploy takes it."""
    return {
        "name": row["capability"],
        "description": row["description"],
        "schema": row["schema"],
        "lang": "mcp",
        "tags": list(row["hints"]),
        "idempotent": is_repeatable(row["hints"]),
        "code": document.ServerToolDocument(server, row["tool"]).code.decode(),
        "permissions": {
            "http": list(server.http),
            "secrets": list(server.secrets),
            "mcp": list(server.mcp),
        },
        "limits": {"timeout_ms": timeout},
    }
