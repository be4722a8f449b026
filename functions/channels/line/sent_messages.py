"""The texts of our own messages by their ids: LINE tells the id of a message that is answered, and
not whose it is.

This process knows the last of them. Those of groups are in the store as well, since there an answer
to one of them is for us.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from functions.events import QUOTE_LIMIT
from sigil.errors import BackendError
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json
from sigil.storage.kv import KV, keys
from sigil.storage.stored import Shape, Stored, dumps

REMEMBERED_MOST: Final = 1_000
KEPT_SECONDS: Final = 7 * 86_400.0


@dataclass(frozen=True, slots=True)
class SentMessage(Stored):
    """A message of ours in a group."""

    text: str


_MESSAGE: Final = Shape[SentMessage](SentMessage)


class SentMessages:
    """What an agent's bot has sent. Safe to share between threads."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._kv: KV | None = None
        self._lock = threading.Lock()
        self._texts: dict[str, str] = {}

    def use_store(self, kv: KV) -> None:
        """Remember the messages of groups in a store as well from now on."""
        self._kv = kv

    def note(
        self, session: str, answer: Mapping[str, Json], messages: Sequence[Mapping[str, object]]
    ) -> None:
        """Remember the messages of a session that LINE's answer names, in their order."""
        rows = as_sequence(answer.get("sentMessages"))
        for row, message in zip(rows, messages, strict=False):
            id = as_string(as_mapping(row).get("id"))
            text = str(message.get("text", ""))[:QUOTE_LIMIT]
            if not id:
                continue
            self._remember(id, text)
            if self._kv is not None and _is_group(session):
                # they have left: a failure would let them leave once more
                with suppress(BackendError):
                    key = keys.sent_message(keys.session_of(self._agent, session), id)
                    self._kv.put(key, dumps(SentMessage(text)), ttl=KEPT_SECONDS)

    def recall(self, id: str) -> str | None:
        """Return the text of a message of ours that this process knows, None for any other."""
        with self._lock:
            return self._texts.get(id)

    def find(self, session: str, id: str) -> str | None:
        """Return the text of a message of ours in a session, None for any other; `BackendError`
        when the store does not answer.
        """
        known = self.recall(id)
        if known is not None or self._kv is None:
            return known
        item = self._kv.get(keys.sent_message(keys.session_of(self._agent, session), id))
        if item is None:
            return None
        try:
            text = _MESSAGE.read(item.value).text
        except (ValueError, BackendError):
            # it is ours, whatever became of its text
            text = ""
        self._remember(id, text)
        return text

    def _remember(self, id: str, text: str) -> None:
        with self._lock:
            self._texts[id] = text
            while len(self._texts) > REMEMBERED_MOST:
                del self._texts[next(iter(self._texts))]


def _is_group(session: str) -> bool:
    return not session.partition(":")[2].startswith("U")
