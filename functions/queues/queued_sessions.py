"""Queued sessions are those that a worker has, or that wait for one in the store's queue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from functions.queues.leases import read_end
from functions.queues.waiting_events import decode_waiting
from sigil.errors import UsageError
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import scan_all

MOST: Final = 200
"""So many sessions of each index are looked at."""
PAGE: Final = 100


@dataclass(frozen=True, slots=True)
class QueuedSession:
    """A session (S of the keys) in the queue; `held` says that a worker has it now."""

    session: str
    held: bool


def list_queued_sessions(kv: KV, root: str, now: float) -> list[QueuedSession]:
    """Return the sessions of a root and of the agents below it that a worker has, and then those
    that wait for one, at most `MOST` of each.

    `now` is in seconds since 1970. What an agent does by itself is one group of the queue: its
    session is that of the group's first event.
    """
    found: dict[str, QueuedSession] = {}
    for group, held in (*_scan_claims(kv, root, now), *_scan_ready(kv, root)):
        session = _find_session(kv, group)
        if session and session not in found:
            found[session] = QueuedSession(session, held)
    return list(found.values())


def _scan_claims(kv: KV, root: str, now: float) -> Iterator[tuple[str, bool]]:
    partition = keys.session_claim("").partition
    for count, (group, item) in enumerate(scan_all(kv, partition, keys.escape(root), page=PAGE)):
        if count >= MOST:
            return
        if keys.belongs_to(root, group):
            yield group, read_end(item) > now


def _scan_ready(kv: KV, root: str) -> Iterator[tuple[str, bool]]:
    for index in (keys.READY, keys.READY_WORK):
        for count, (group, _) in enumerate(scan_all(kv, index, keys.escape(root), page=PAGE)):
            if count >= MOST:
                break
            if keys.belongs_to(root, group):
                yield group, False


def _find_session(kv: KV, group: str) -> str:
    """Return the session whose turns run in a group of the queue; empty for a group of others."""
    if "!" in group:
        return ""
    if "?" not in group:
        return group
    agent = keys.unescape(group.partition("#")[0])
    if group != keys.own_work_of(agent):
        return ""
    for sort, item in kv.scan(keys.inbox_event(group, "").partition, limit=1):
        try:
            event = decode_waiting(sort, item).event
        except UsageError:  # the queue makes it a dead letter
            return ""
        return keys.session_of(event.agent, event.session)
    return ""
