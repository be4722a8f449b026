"""Answer the methods of an MCP server, each in the revision that the request speaks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sigil.mcp.jsonrpc import INTERNAL, METHOD, PARAMS, RpcError, RpcRequest
from sigil.mcp.revisions import (
    HANDSHAKE,
    NEWEST_HANDSHAKE,
    SERVER,
    STATELESS,
    is_stateless,
    server_info,
)
from sigil.mcp.tools import Toolbox
from sigil.protocol import Json

INSTRUCTIONS = (
    "A registry of capabilities. Search with sigil_query first; what it finds is called by its own"
    " cap_* tool, or with sigil_run. When nothing fits, sigil_deploy (where it is listed) makes a"
    " new one."
)


@dataclass(frozen=True, slots=True)
class Methods:
    """The methods over a toolbox. `changes`: the other side is notified when the tools change."""

    toolbox: Toolbox
    changes: bool = False

    def answer(self, request: RpcRequest) -> dict[str, Json]:
        """Return the result of a request; `RpcError` when the protocol has none for it."""
        stateless = is_stateless(request.params)
        methods = _STATELESS_METHODS if stateless else _HANDSHAKE_METHODS
        method = methods.get(request.method)
        if method is None:
            raise RpcError(METHOD, f"there is no method {request.method!r} here")
        result = method(self, request.params)
        if stateless:
            result["resultType"] = "complete"
        return result

    def initialize(self, params: Mapping[str, Json]) -> dict[str, Json]:
        """Answer the handshake: with the revision of the request when it is known, else with the
        newest of ours that has a handshake.
        """
        requested = params.get("protocolVersion")
        if not isinstance(requested, str):
            raise RpcError(PARAMS, "protocolVersion is missing")
        return {
            "protocolVersion": requested if requested in HANDSHAKE else NEWEST_HANDSHAKE,
            "capabilities": self._capabilities(),
            "serverInfo": server_info(),
            "instructions": INSTRUCTIONS,
        }

    def discover(self, params: Mapping[str, Json]) -> dict[str, Json]:
        """Answer with the contents of a handshake, which the newest revision has no more."""
        return {
            "supportedVersions": [STATELESS],
            "capabilities": self._capabilities(),
            "instructions": INSTRUCTIONS,
            "ttlMs": 60_000,
            "cacheScope": "private",
            "_meta": {SERVER: server_info()},
        }

    def ping(self, params: Mapping[str, Json]) -> dict[str, Json]:
        """Answer that the server is there."""
        return {}

    def list_tools(self, params: Mapping[str, Json]) -> dict[str, Json]:
        """List all tools: there is one page."""
        if params.get("cursor") is not None:
            raise RpcError(PARAMS, "there is no such page")
        return {"tools": self.toolbox.list_tools()}

    def list_tools_for_now(self, params: Mapping[str, Json]) -> dict[str, Json]:
        """List all tools, which may be others after the next call."""
        return {**self.list_tools(params), "ttlMs": 0, "cacheScope": "private"}

    def call_tool(self, params: Mapping[str, Json]) -> dict[str, Json]:
        """Call a tool."""
        name = params.get("name")
        arguments = params.get("arguments")
        if not isinstance(name, str) or not (arguments is None or isinstance(arguments, dict)):
            raise RpcError(PARAMS, "a call has a name, and arguments that are an object")
        return self.toolbox.call(name, arguments or {})

    def _capabilities(self) -> dict[str, Json]:
        return {"tools": {"listChanged": True} if self.changes else {}}


Method = Callable[[Methods, Mapping[str, Json]], dict[str, Json]]
_HANDSHAKE_METHODS: Mapping[str, Method] = {
    "initialize": Methods.initialize,
    "ping": Methods.ping,
    "tools/list": Methods.list_tools,
    "tools/call": Methods.call_tool,
}
_STATELESS_METHODS: Mapping[str, Method] = {
    "server/discover": Methods.discover,
    "tools/list": Methods.list_tools_for_now,
    "tools/call": Methods.call_tool,
}


def make_internal_error() -> RpcError:
    """Return the error for a failure of our own that nobody expected."""
    return RpcError(INTERNAL, "the server made a mistake")
