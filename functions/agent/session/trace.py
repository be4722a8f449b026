"""What a turn did, kept for eight days: requests with their tokens, calls with their sizes,
checkpoints; never a text of anybody's.

What a model's endpoint said of a failure stands here, because people are told less: owners alone
read it.
"""

from __future__ import annotations

import orjson

from functions.agent.session.document import Turn
from functions.agent.session.store import Opened
from sigil.protocol import Json
from sigil.storage.kv import KV, keys


def keep(kv: KV, turn: Turn, closed: Opened, now: float) -> None:
    """Write the trace of a closed turn."""
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


def read(kv: KV, event: str) -> dict[str, Json] | None:
    """The trace of an event; None when it was not handled in the last eight days."""
    item = kv.get(keys.event_trace(event))
    return orjson.loads(item.value) if item else None


def tree(record: dict[str, Json]) -> list[str]:
    """The trace as lines: a round, its request, its calls, its checkpoints."""
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
        number += step["kind"] == "request"
        lines.append(_LINES.get(step["kind"], _other)(step, number))
    return lines


def _request(step: dict[str, Json], number: int) -> str:
    spent = f"{step['prompt']:,} + {step['completion']:,} tokens"
    return (
        f"  ├ round {number}: request {step['ms']} ms, {spent}, {step['tools']} tools,"
        f" {step['finish']}{_failure(step)}"
    )


def _aside(step: dict[str, Json], number: int) -> str:
    return f"  │   · a request beside the conversation{_failure(step)}"


def _failure(step: dict[str, Json]) -> str:
    """Why tries to reach the model failed, in its endpoint's words."""
    tries = f", {step['tries']} failed" if step.get("tries") else ""
    return f"{tries} ({step['failure']}: {step['detail']})" if step.get("failure") else tries


def _call(step: dict[str, Json], number: int) -> str:
    outcome = step["error"] or f"{step['size']:,} characters"
    if step.get("fingerprint"):
        outcome = f"{outcome} [{step['fingerprint']}]"
    return f"  │   ├ {step['name']} {step['ms']} ms, {outcome}"


def _verified(step: dict[str, Json], number: int) -> str:
    return f"  │   · verified: {step['outcome']}"


def _other(step: dict[str, Json], number: int) -> str:
    return f"  │   · {step['kind']}"


_LINES = {"request": _request, "call": _call, "aside": _aside, "verified": _verified}
