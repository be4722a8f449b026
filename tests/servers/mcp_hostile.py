"""A program for a pipe that speaks MCP as badly as it is told to. It runs without any package."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

KIND = sys.argv[1]


def say(value: object) -> None:
    print(json.dumps(value), flush=True)


def result(id: object, value: object) -> None:
    say({"jsonrpc": "2.0", "id": id, "result": value})


heard: list[str] = []


def report(message: dict[str, Any]) -> None:
    """Tell of progress, among much that is none."""
    token = message["params"]["_meta"]["progressToken"]

    def note(progress: object, **more: object) -> None:
        params = {"progressToken": token, "progress": progress, **more}
        say({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

    note(1, total=4, message="opening\n\x1b[31m the \u202edisk")
    note(99, progressToken=token + 1)
    note(99, progressToken=str(token))
    note(99, progressToken=True)
    for wrong in (True, "99", None, [99], float("nan"), float("inf"), 10**400):
        note(wrong)
    for _ in range(2_000):
        note(0.5, message="back again")
    note(2, total="4", message="x" * 2_001)
    note(2.5, total=True, message=["no text"])
    note(3, total=4, message=f"the key is {os.environ.get('KEY')} " + "y" * 400)


def called(message: dict[str, object], name: str) -> None:
    if name == "die":
        print("the disk\x1b[31m is full", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "flood":
        while True:
            sys.stdout.write("x" * 65_536)
    if name == "silence":
        time.sleep(60)
    if name == "complain":
        sys.stderr.write("y" * 1_000_000)
    if name == "misdirect":
        result(987_654, {"content": [{"type": "text", "text": "for somebody else"}]})
        result("1", {"content": [{"type": "text", "text": "for somebody else"}]})
    if name == "ask":
        say({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {}})
        say({"jsonrpc": "2.0", "id": "p", "method": "ping"})
        answers = [json.loads(sys.stdin.readline()) for _ in range(2)]
        result(
            message["id"],
            {"content": [{"type": "text", "text": json.dumps(answers, sort_keys=True)}]},
        )
        return
    if name == "report":
        report(message)
    if name == "listen":  # to one message, and answer nothing
        params = {"progressToken": message["params"]["_meta"]["progressToken"], "progress": 1}
        say({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        heard.append(sys.stdin.readline())
        return
    if name == "heard":
        result(message["id"], {"content": [], "structuredContent": json.loads(heard[-1])})
        return
    if name == "print":
        print("starting up\n\n{not json}\n[1, 2]")
    if name == "environment":
        result(message["id"], {"content": [], "structuredContent": dict(os.environ)})
        return
    if name == "child" and os.fork() == 0:  # a child in a session of its own
        os.setsid()
        time.sleep(60)
    result(message["id"], {"content": [{"type": "text", "text": f"pid {os.getpid()}"}]})


TOOLS = (
    "die",
    "flood",
    "silence",
    "complain",
    "misdirect",
    "ask",
    "print",
    "report",
    "listen",
    "heard",
    "environment",
    "child",
    "pid",
)


def main() -> None:
    if KIND == "dead":
        sys.exit("no license")
    for line in sys.stdin:
        message = json.loads(line)
        method = message.get("method")
        if KIND == "stateless" and method == "initialize":
            say(
                {
                    "jsonrpc": "2.0",
                    "id": message["id"],
                    "error": {"code": -32601, "message": "what?"},
                }
            )
        elif method == "server/discover":
            result(
                message["id"],
                {"supportedVersions": ["2026-07-28"], "capabilities": {}, "resultType": "complete"},
            )
        elif method == "initialize":
            result(
                message["id"],
                {
                    "protocolVersion": "1999-01-01" if KIND == "future" else "2025-06-18",
                    "capabilities": {},
                },
            )
        elif method == "tools/list":
            schema = {"type": "object", "properties": {}}
            result(
                message["id"], {"tools": [{"name": name, "inputSchema": schema} for name in TOOLS]}
            )
        elif method == "tools/call":
            called(message, message["params"]["name"])


if __name__ == "__main__":
    main()
