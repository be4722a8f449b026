"""What was said to a session that nobody listened to, such as a reminder in a terminal that is not
open: it is kept until somebody reads it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from sigil.errors import Conflict
from sigil.protocol import Json
from sigil.storage.kv import ABSENT, KV, Item, keys
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import NewerFormat, Shape, Stored, dumps

KEPT_SECONDS: Final = 30 * 86_400.0
MOST: Final = 200
"""So many replies of a session are kept; the oldest go."""


@dataclass(frozen=True, slots=True)
class UnreadReply(Stored):
    """A reply as it was sent: to an `event`, `at` a time in seconds since 1970.

    `reply` is as HTTP clients read it. `lost` counts the older ones that had to go before it.
    """

    event: str
    at: float
    reply: Mapping[str, Json]
    lost: int = 0

    @property
    def text(self) -> str:
        """Return what was said."""
        return str(self.reply.get("reply", ""))


_REPLY: Final = Shape[UnreadReply](UnreadReply)


class UnreadReplies:
    """The unread replies of all sessions (S of the keys), each with a name.

    Names of a session grow, by the time of sending: who knows one asks for those after it.
    """

    def __init__(self, kv: KV) -> None:
        self._kv = kv

    def keep(self, session: str, event: str, reply: Mapping[str, Json]) -> str:
        """Keep a reply, and return its name; one that is kept already stays as it is."""
        while True:
            items = list(scan_all(self._kv, keys.unread_reply(session, "").partition))
            known = self._read(items)
            for name, unread in known:
                if (unread.event, unread.reply) == (event, reply):
                    return name
            at = time.time()
            # the name of one that cannot be read is taken all the same
            last = int(items[-1][0]) if items else 0
            name = f"{max(int(at * 1000), last + 1):015d}"
            try:
                self._put(session, name, UnreadReply(event, at, reply), fresh=True)
            except Conflict:  # another worker was faster
                continue
            self._drop_oldest(session, known)
            return name

    def list_from(
        self, session: str, after: str = "", limit: int = MOST
    ) -> list[tuple[str, UnreadReply]]:
        """Return the first `limit` replies behind a name, the oldest first, each with its name."""
        found: list[tuple[str, UnreadReply]] = []
        partition = keys.unread_reply(session, "").partition
        while len(found) < limit:
            items = self._kv.scan(partition, "", after, limit)
            found += self._read(items)
            if len(items) < limit:
                break
            after = items[-1][0]
        return found[:limit]

    def drop(self, session: str, names: Collection[str]) -> None:
        """Drop replies that were read."""
        for name in names:
            self._kv.delete(keys.unread_reply(session, name))

    def _drop_oldest(self, session: str, known: list[tuple[str, UnreadReply]]) -> None:
        """Make room, where those that were `known` before a new one are too many.

        The oldest one that stays says how many went.
        """
        gone = known[: len(known) + 1 - MOST]
        if len(known) < MOST or len(gone) == len(known):
            return
        name, first = known[len(gone)]
        lost = first.lost + sum(1 + unread.lost for _, unread in gone)
        self._put(session, name, replace(first, lost=lost))
        self.drop(session, [name for name, _ in gone])

    def _put(self, session: str, name: str, unread: UnreadReply, *, fresh: bool = False) -> None:
        self._kv.put(
            keys.unread_reply(session, name),
            dumps(unread),
            expect=ABSENT if fresh else None,
            ttl=KEPT_SECONDS,
        )

    def _read(self, items: Iterable[tuple[str, Item]]) -> list[tuple[str, UnreadReply]]:
        """Return the replies in items; one that only a newer version can read is passed over."""
        found = []
        for name, item in items:
            with suppress(ValueError, NewerFormat):
                found.append((name, _REPLY.read(item.value)))
        return found
