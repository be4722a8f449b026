"""A scripted model behind the chat-completions API: it answers from a script and records every
request.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from typing import Any

from tests.fakes.server import Answer, Recorded, RecordingServer, json_answer

Reply = dict[str, Any] | Answer | Callable[[dict[str, Any]], "dict[str, Any] | Answer"]


class ScriptedModel(RecordingServer):
    """Answers its requests with `script`, one entry each; after the last one with `say("done")`."""

    def __init__(self, script: Iterable[Reply] = ()) -> None:
        super().__init__()
        self._script = list(script)
        self._lock = threading.Lock()
        self.models: list[dict[str, Any]] | None = None
        """The models that GET /models lists; None answers 404."""
        self.pages: dict[str, Any] = {}
        """What other paths answer."""
        self.aside: Reply | None = None
        """What memory is answered whenever it asks, beside the script: a server asks for it at any
        time after a reply.
        """

    def then(self, *replies: Reply) -> None:
        """Go on with these."""
        with self._lock:
            self._script.extend(replies)

    def start_over(self, *replies: Reply) -> None:
        """Answer with these, and with nothing that is left of the script."""
        with self._lock:
            self._script[:] = replies

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the requests, in order."""
        return [request.json() for request in self.requests if request.body]

    @property
    def chats(self) -> list[dict[str, Any]]:
        """The bodies of the requests for an answer in a chat, in order, and of no others."""
        return [
            body
            for body in self.bodies
            if str(body["messages"][0]["content"]).startswith("<<IDENTITY>>")
        ]

    def answer(self, request: Recorded) -> Answer:
        if request.path in self.pages:
            return json_answer(self.pages[request.path])
        if request.method == "GET":
            if self.models is None:
                return json_answer({"error": "not found"}, 404)
            return json_answer({"data": self.models})
        if request.path.endswith("/audio/transcriptions"):  # it hears nothing
            return json_answer({"error": "not found"}, 404)
        with self._lock:
            if self.aside is not None and b"save_memory" in request.body:
                reply = self.aside
            else:
                reply = self._script.pop(0) if self._script else say("done")
        made = reply(request.json()) if callable(reply) else reply
        if isinstance(made, Answer):
            return made
        usage = {"prompt_tokens": len(request.body) // 4, "completion_tokens": 10}
        return json_answer({"usage": usage, **made})


def say(text: str, **message: Any) -> dict[str, Any]:
    """A completion with a text."""
    return completion({"role": "assistant", "content": text, **message}, "stop")


def call(*calls: tuple[str, Any], text: str | None = None) -> dict[str, Any]:
    """A completion with tool calls: (name, arguments); a string goes out as it is."""
    made = [
        {
            "id": f"call_{position}_{name}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
            },
        }
        for position, (name, arguments) in enumerate(calls)
    ]
    return completion({"role": "assistant", "content": text, "tool_calls": made}, "tool_calls")


def completion(message: dict[str, Any], finish: str, **more: Any) -> dict[str, Any]:
    """A whole chat completion; the server adds the usage unless `more` has one."""
    return {
        "id": "x",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        **more,
    }


def offered(body: dict[str, Any]) -> list[str]:
    """The names of the tools in a request."""
    return [tool["function"]["name"] for tool in body.get("tools", [])]


def results(body: dict[str, Any]) -> list[str]:
    """The contents of the tool messages in a request."""
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]
