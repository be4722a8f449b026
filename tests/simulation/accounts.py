"""The account at the end, when nothing waits any more: every message has its answer, every chat its whole history."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from functions.agent.session import Sessions
from sigil.kv import keys
from sigil.kv.memory import MemoryKV
from tests.simulation.promises import Promises


def missing(kv: MemoryKV, promises: Promises) -> Iterator[str]:
    """What is not as it was promised."""
    excused = promises.blocked | promises.dropped
    events = [post.event for post in promises.posts.values()]
    for event in events:
        if not (event.control or event.id in excused or promises.told(event.id)):
            yield f"{event.id} was never answered"
    for session in sorted({keys.session_of(event.agent, event.session) for event in events}):
        yield from _unrest(kv, session)


def _unrest(kv: MemoryKV, session: str) -> Iterator[str]:
    document = Sessions(kv).open(session).document
    if document.turn or document.outbox:
        yield f"{session} has not come to rest"
    kept = {message.seq for message in document.messages}
    for _, item in kv.scan(f"session#{session}", "archive#", limit=10_000):
        kept |= {message["seq"] for message in orjson.loads(item.value)}
    if lost := set(range(1, document.next_seq)) - kept:
        yield f"messages {sorted(lost)} of {session} are lost"
