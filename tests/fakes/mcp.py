"""An MCP server that behaves as a test wants: over HTTP, with the handshake of 2025-11-25 and a
session.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable
from typing import Any

from tests.fakes.server import Answer, Recorded, RecordingServer, json_answer

Result = dict[str, Any]


def tool(name: str, description: str = "Does something.", *takes: str) -> dict[str, Any]:
    """A tool as a server lists it; what it takes are texts."""
    return {
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {each: {"type": "string"} for each in takes},
        },
    }


class FakeMcp(RecordingServer):
    """`tools` it lists, `page` of them at a time; `does` answers a call by the tool's name;
    `answers` a whole method, as HTTP.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        super().__init__()
        self.tools: list[dict[str, Any]] = [tool("greet", "Greet somebody.", "name")]
        self.page = 100
        self.session = "session-1"
        self.does: dict[str, Callable[[dict[str, Any]], Any]] = {}
        self.answers: dict[str, Callable[[Recorded, dict[str, Any]], Answer]] = {}
        self._tls = context is not None
        if context:
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )

    @property
    def address(self) -> str:
        """Where it is."""
        return (
            f"{'https' if self._tls else 'http'}://127.0.0.1:{self._server.server_address[1]}/mcp"
        )

    @property
    def methods(self) -> list[str]:
        """What it was asked, in order."""
        return [request.json()["method"] for request in self.requests]

    def answer(self, request: Recorded) -> Answer:
        message = request.json()
        method, params = message["method"], message.get("params", {})
        if method in self.answers:
            return self.answers[method](request, message)
        if "id" not in message:
            return Answer(202)
        if method == "initialize":
            return self._result(
                message,
                {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "fake"},
                },
            )
        if request.headers.get("mcp-session-id", "") != self.session:
            return Answer(404 if request.headers.get("mcp-session-id") else 400)
        if method == "tools/list":
            begin = int(params.get("cursor", "0"))
            more = (
                {"nextCursor": str(begin + self.page)}
                if begin + self.page < len(self.tools)
                else {}
            )
            return self._result(message, {"tools": self.tools[begin : begin + self.page], **more})
        return self._called(message, params)

    def _called(self, message: dict[str, Any], params: dict[str, Any]) -> Answer:
        does = self.does.get(params["name"], lambda given: f"called with {json.dumps(given)}")
        said = does(params.get("arguments", {}))
        if isinstance(said, Answer):
            return said
        return self._result(
            message,
            said if isinstance(said, dict) else {"content": [{"type": "text", "text": said}]},
        )

    def _result(self, message: dict[str, Any], result: Result) -> Answer:
        answer = json_answer({"jsonrpc": "2.0", "id": message["id"], "result": result})
        return Answer(
            answer.status,
            answer.body,
            {**answer.headers, **({"mcp-session-id": self.session} if self.session else {})},
        )
