"""Slack's own SDK: its verifier, its client of the Web API and of Socket Mode."""

from __future__ import annotations

import inspect
import threading
from typing import Any

from loopback import answer, read_body, verdicts
from slack_sdk import WebClient
from slack_sdk.models.blocks import Block
from slack_sdk.signature import Clock, SignatureVerifier
from slack_sdk.socket_mode.builtin import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse


class StandingClock(Clock):
    """It stands where the test's clock does."""

    def __init__(self, at: float) -> None:
        self.at = at

    def now(self) -> float:
        return self.at


def verify(requests: list[dict[str, Any]], secret: str, now: float) -> list[bool]:
    """Return which requests the SDK takes for Slack's."""
    verifier = SignatureVerifier(secret, StandingClock(now))
    return verdicts(lambda one: verifier.is_valid_request(read_body(one), one["headers"]), requests)


def call(base: str, token: str, calls: list[list[Any]]) -> list[dict[str, Any]]:
    """Return, for each method with its parameters, which of these the SDK does not know, what is
    left of its blocks after the SDK has read them, and Slack's answer.
    """
    client = WebClient(token, base_url=f"{base}/")
    rows = []
    for method, params in calls:
        function = getattr(client, method.replace(".", "_"))
        known = set(inspect.signature(function).parameters) - {"kwargs"}
        blocks = Block.parse_all(params.get("blocks", []))
        if blocks:
            params["blocks"] = blocks
        rows.append(
            {
                "unknown": sorted(set(params) - known),
                "blocks": [block.to_dict() for block in blocks],
                "ok": function(**params)["ok"],
            }
        )
    return rows


def upload(base: str, token: str, channel: str, thread: str, content: str) -> bool:
    """Upload a file as the SDK does, and return whether that went well."""
    client = WebClient(token, base_url=f"{base}/")
    uploaded = client.files_upload_v2(
        content=content,
        filename="notes.md",
        title="notes.md",
        channel=channel,
        thread_ts=thread,
        initial_comment="Here",
    )
    return bool(uploaded["ok"])


def listen(base: str, app_token: str, count: int) -> list[list[Any]]:
    """Return the type and the payload of the next envelopes of Socket Mode, each acknowledged."""
    client = SocketModeClient(app_token, web_client=WebClient(base_url=f"{base}/"))
    heard: list[list[Any]] = []
    is_over = threading.Event()

    def hear(client: SocketModeClient, request: SocketModeRequest) -> None:
        client.send_socket_mode_response(SocketModeResponse(request.envelope_id))
        heard.append([request.type, request.payload])
        if len(heard) == count:
            is_over.set()

    client.socket_mode_request_listeners.append(hear)
    client.connect()
    is_over.wait()
    client.close()
    return heard


if __name__ == "__main__":
    answer(verify, call, upload, listen)
