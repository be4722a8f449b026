"""What an MCP server answers: one method at a time, in the revision that the request speaks."""

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
    """The methods over a toolbox. `changes`: whether the other side is told when the tools become
    others.
    """

    toolbox: Toolbox
    changes: bool = False

    def answer(self, request: RpcRequest) -> dict[str, Json]:
        """The result of a request; `RpcError` when the protocol has none for it."""
        stateless = is_stateless(request.params)
        method = (_STATELESS if stateless else _HANDSHAKEN).get(request.method)
        if method is None:
            raise RpcError(METHOD, f"there is no method {request.method!r} here")
        return {**method(self, request.params), **({"resultType": "complete"} if stateless else {})}

    def initialize(self, params: Mapping[str, Json]) -> dict[str, Json]:
        """The handshake: the revision that was asked for when it is known, else the newest of ours
        that has one.
        """
        asked = params.get("protocolVersion")
        if not isinstance(asked, str):
            raise RpcError(PARAMS, "protocolVersion is missing")
        spoken = asked if asked in HANDSHAKE else NEWEST_HANDSHAKE
        return {
            "protocolVersion": spoken,
            "capabilities": self._offered(),
            "serverInfo": server_info(),
            "instructions": INSTRUCTIONS,
        }

    def discover(self, params: Mapping[str, Json]) -> dict[str, Json]:
        """What stands for the handshake since it is gone."""
        said = {
            "supportedVersions": [STATELESS],
            "capabilities": self._offered(),
            "instructions": INSTRUCTIONS,
        }
        return {**said, "ttlMs": 60_000, "cacheScope": "private", "_meta": {SERVER: server_info()}}

    def ping(self, params: Mapping[str, Json]) -> dict[str, Json]:
        """Here."""
        return {}

    def tools(self, params: Mapping[str, Json]) -> dict[str, Json]:
        """All tools: there is one page."""
        if params.get("cursor") is not None:
            raise RpcError(PARAMS, "there is no such page")
        return {"tools": self.toolbox.listed()}

    def tools_for_now(self, params: Mapping[str, Json]) -> dict[str, Json]:
        """All tools, which may be others after the next call."""
        return {**self.tools(params), "ttlMs": 0, "cacheScope": "private"}

    def call(self, params: Mapping[str, Json]) -> dict[str, Json]:
        """The result of a tool."""
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or not (arguments is None or isinstance(arguments, dict)):
            raise RpcError(PARAMS, "a call has a name, and arguments that are an object")
        return self.toolbox.call(name, arguments or {})

    def _offered(self) -> dict[str, Json]:
        return {"tools": {"listChanged": True} if self.changes else {}}


Method = Callable[[Methods, Mapping[str, Json]], dict[str, Json]]
_HANDSHAKEN: Mapping[str, Method] = {
    "initialize": Methods.initialize,
    "ping": Methods.ping,
    "tools/list": Methods.tools,
    "tools/call": Methods.call,
}
_STATELESS: Mapping[str, Method] = {
    "server/discover": Methods.discover,
    "tools/list": Methods.tools_for_now,
    "tools/call": Methods.call,
}


def mistake() -> RpcError:
    """For a failure of our own that nobody expected."""
    return RpcError(INTERNAL, "the server made a mistake")
