"""A trace tells what a turn did: requests with their tokens, calls with their sizes, checkpoints.

It is kept for eight days and has no text of anybody's. What a model's endpoint said about a failure
is in it, because people are told less: only owners read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest
from typing import TypedDict

import orjson

from functions.agent.session.document import Turn
from functions.agent.session.store import SessionHandle
from sigil.protocol import Json
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import scan_all


class TokenCounts(TypedDict):
    prompt: int
    completion: int


class DocumentSize(TypedDict):
    messages: int
    bytes: int


class TraceRecord(TypedDict):
    """The trace of one event: its requests, tokens, `seconds` and steps."""

    event: str
    session: str
    agent: str
    began: float
    seconds: float
    rounds: int
    usage: TokenCounts
    document: DocumentSize
    steps: list[dict[str, Json]]


def save_trace(kv: KV, turn: Turn, closed: SessionHandle, now: float) -> None:
    """Write the trace of a closed turn; `now` is in seconds since 1970."""
    event = turn.event
    record = {
        "event": event.id,
        "session": event.session,
        "agent": event.agent,
        "began": turn.began,
        "seconds": round(max(now - turn.began, 0.0), 3),
        "rounds": turn.rounds,
        "usage": turn.usage,
        "document": {"messages": len(closed.document.messages), "bytes": closed.size},
        "steps": turn.trace,
    }
    kv.put(keys.event_trace(event.id), orjson.dumps(record), ttl=keys.SEEN_TTL)


def load_trace(kv: KV, event: str) -> TraceRecord | None:
    """Return the trace of an event; None when it was not handled in the last eight days."""
    item = kv.get(keys.event_trace(event))
    return orjson.loads(item.value) if item else None


def list_latest(kv: KV, most: int) -> list[TraceRecord]:
    """Return the traces of the latest events, the newest first."""
    items = scan_all(kv, keys.event_trace("").partition)
    records: Iterator[TraceRecord] = (orjson.loads(item.value) for _, item in items)
    return nlargest(most, records, key=lambda record: record["began"])


def format_trace(record: TraceRecord) -> list[str]:
    """Return the trace as lines: each round with its request, its calls and its checkpoints."""
    usage = record["usage"]
    lines = [
        f"{record['event']}  {record['session']}",
        (
            f"  {record['rounds']} requests, {usage['prompt']:,} + {usage['completion']:,} tokens,"
            f" {record['seconds']:.3f} s, {record['document']['messages']} messages,"
            f" {record['document']['bytes']:,} bytes"
        ),
    ]
    number = 0
    for step in record["steps"]:
        if step["kind"] == "request":
            number += 1
        lines.append(_format_step(step, number))
    return lines


def _format_step(step: dict[str, Json], number: int) -> str:
    """Return the line of a step; `number` is that of its round."""
    match step["kind"]:
        case "request":
            spent = f"{step['prompt']:,} + {step['completion']:,} tokens"
            return (
                f"  ├ round {number}: request {step['ms']} ms, {spent}, {step['tools']} tools,"
                f" {step['finish']}{_format_failure(step)}"
            )
        case "call":
            outcome = step["error"] or f"{step['size']:,} characters"
            if step.get("fingerprint"):
                outcome = f"{outcome} [{step['fingerprint']}]"
            return f"  │   ├ {step['name']} {step['ms']} ms, {outcome}"
        case "aside":
            return f"  │   · a request beside the conversation{_format_failure(step)}"
        case "verified":
            return f"  │   · verified: {step['outcome']}"
        case "skip":
            return f"  │   · skipped: {step['reason']}"
        case kind:
            return f"  │   · {kind}"


def _format_failure(step: dict[str, Json]) -> str:
    """Return why tries to reach the model failed, in its endpoint's words."""
    tries = f", {step['tries']} failed" if step.get("tries") else ""
    return f"{tries} ({step['failure']}: {step['detail']})" if step.get("failure") else tries
