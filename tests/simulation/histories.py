"""What must be true of a history, written a second time: as stored, and as a model gets it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Stored = Sequence[dict[str, Any]]


def in_scope(messages: Stored) -> list[dict[str, Any]]:
    """The offers of a stored history: in order of first appearance, the latest of a name."""
    offers = [offer for message in messages for offer in message["loads"]]
    names = list(dict.fromkeys(offer["name"] for offer in offers))
    return [next(offer for offer in reversed(offers) if offer["name"] == name) for name in names]


def tools(messages: Stored) -> list[dict[str, Any]]:
    """The capabilities' tools of a stored history, in the chat-completions form."""
    functions = [
        {
            "name": f"cap_{offer['name'].replace('-', '_')}",
            "description": offer["description"],
            "parameters": offer["schema"],
        }
        for offer in in_scope(messages)
    ]
    return [{"type": "function", "function": function} for function in functions]


def answered(messages: Stored) -> set[str]:
    """The calls that have an answer."""
    return {message["call_id"] for message in messages if message["role"] == "tool"}


def broken(messages: Stored, *, in_progress: bool) -> str:
    """What is wrong with a stored history; empty when nothing is. Only a turn in progress may have
    calls that nobody answered yet.
    """
    numbers = [message["seq"] for message in messages]
    if numbers != sorted(set(numbers)):
        return f"sequence numbers out of order {numbers}"
    calls = [call["id"] for message in messages for call in message["calls"]]
    results = [message["call_id"] for message in messages if message["role"] == "tool"]
    last = [call["id"] for call in messages[-1]["calls"]] if messages else []
    if results != (calls[: len(calls) - len(last)] if in_progress and last else calls):
        return f"calls {calls} and results {results}"
    return _minted(messages)


def _minted(messages: Stored) -> str:
    made = {call["id"]: call["name"] for message in messages for call in message["calls"]}
    for message in messages:
        if message["loads"] and made.get(message["call_id"]) not in ("sigil_query", "sigil_deploy"):
            return f"tools from {message['call_id'] or message['role']}"
        if message["loads"] and message["content"].startswith('{"error"'):
            return "tools from a failure"
    return ""


def unpaired(messages: Sequence[Any]) -> str:
    """What is wrong with a request's messages: each call is answered once, right behind the message
    that made it, and nothing else is.
    """
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if not waiting or message["tool_call_id"] != waiting.pop(0):
                return f"a result without its call, {message['tool_call_id']}"
            continue
        if waiting:
            return f"calls without results, {waiting}"
        waiting = [call["id"] for call in message.get("tool_calls", ())]
    return f"calls without results at its end, {waiting}" if waiting else ""
