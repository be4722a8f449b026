"""How often a message was handed out and came to nothing. SQS counts every receive, so past a few
of them the store counts.
"""

from __future__ import annotations

from contextlib import suppress

import orjson

from functions.queues.sqs_message import Message
from sigil.errors import BackendError
from sigil.storage.kv import KV, keys

FREE = 5
"""So many receives cost no request to the store: whatever they were, they are too few for giving
up.
"""
KEEP_SECONDS = 14 * 86_400.0
"""As long as SQS keeps a message at most."""


class Tries:
    """A receive counts as one that came to nothing until a planned wait takes that back. A store
    that is away counts nothing.
    """

    def __init__(self, kv: KV) -> None:
        self._kv = kv

    def taken(self, message: Message) -> int:
        """The message is handed out: how often that came to nothing before."""
        if message.receives <= FREE:
            return message.receives - 1
        tries = FREE
        with suppress(BackendError):
            item = self._kv.get(keys.tries(message.id))
            tries = _count(item.value) if item else FREE
            self._keep(message.id, tries + 1)
        return tries

    def waits(self, message: str, receives: int, tries: int) -> None:
        """The message was given back on purpose."""
        if receives >= FREE:
            with suppress(BackendError):
                self._keep(message, tries)

    def _keep(self, message: str, tries: int) -> None:
        self._kv.put(keys.tries(message), orjson.dumps({"tries": tries}), ttl=KEEP_SECONDS)


def _count(data: bytes) -> int:
    try:
        return int(orjson.loads(data)["tries"])
    except (ValueError, TypeError, KeyError):
        return FREE
