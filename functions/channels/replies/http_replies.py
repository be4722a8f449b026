"""HTTP clients and terminals fetch their replies here: one waits for its reply, polls for it, or
reads what came while it was away.

`functions.reply_sender` puts them here, and sends all others to their platform.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

import orjson

from functions.channels.replies.unread_replies import UnreadReplies
from sigil.errors import Conflict
from sigil.protocol import Json
from sigil.storage.kv import ABSENT, KV, keys

KEPT_SECONDS = 3600.0
LOOK_SECONDS = 0.25
NAME = "unread"
"""The field of a kept reply with its name among the unread ones."""
WAITING = b'{"waiting":true}'


def tell_nobody(event: str) -> None:
    """Do nothing: nobody looks on."""


class HttpReplies:
    """The replies to events, kept for an hour for those who know the event.

    Among the `unread` ones each is kept for longer, until somebody has read it. `tell` is told the
    events whose replies this process has kept.
    """

    def __init__(self, kv: KV) -> None:
        self._kv = kv
        self.unread = UnreadReplies(kv)
        self._changed = threading.Condition()
        self.tell: Callable[[str], None] = tell_nobody

    def expect(self, session: str, event: str) -> None:
        """Note that a reply to `event` will come, so that a poll can tell a slow one from an
        unknown one.
        """
        try:
            self._kv.put(keys.event_reply(session, event), WAITING, expect=ABSENT, ttl=KEPT_SECONDS)
        except Conflict:
            return

    def keep(self, session: str, event: str, reply: Mapping[str, Json]) -> None:
        """Keep the reply to `event` and wake the request that waits for it."""
        name = self.unread.keep(session, event, reply)
        kept = orjson.dumps({**reply, NAME: name})
        self._kv.put(keys.event_reply(session, event), kept, ttl=KEPT_SECONDS)
        with self._changed:
            self._changed.notify_all()
        self.tell(event)

    def get(self, session: str, event: str) -> dict[str, Json] | None:
        """Return the reply; `{"waiting": true}` while there is none yet; None when the event is
        unknown.
        """
        reply = self._load(session, event)
        if reply:
            reply.pop(NAME, None)
        return reply

    def mark_read(self, session: str, event: str) -> None:
        """Note that the reply to `event` has reached whoever asked."""
        name = (self._load(session, event) or {}).get(NAME)
        if name:
            self.unread.drop(session, (str(name),))

    def _load(self, session: str, event: str) -> dict[str, Json] | None:
        item = self._kv.get(keys.event_reply(session, event))
        return orjson.loads(item.value) if item else None

    def wait(self, session: str, event: str, seconds: float) -> dict[str, Json] | None:
        """Return the reply once it is there, or what `get` returns after `seconds`."""
        end = time.monotonic() + seconds
        while True:
            reply = self.get(session, event)
            left = end - time.monotonic()
            if left <= 0 or not (reply and reply.get("waiting")):
                return reply
            with self._changed:
                self._changed.wait(min(left, LOOK_SECONDS))
