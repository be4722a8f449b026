"""The names of channels, which Slack tells only when it is asked: a message has `<#C1|>` alone
(https://docs.slack.dev/reference/methods/conversations.info).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from sigil.errors import BackendError, Refused, one_line
from sigil.json_fields import as_mapping, as_string

if TYPE_CHECKING:
    from functions.channels.slack.api import SlackApi

FRESH_SECONDS: Final = 3_600.0
NAMES_MOST: Final = 10_000
NAME_CHARACTERS: Final = 100
ASK_TIMEOUT: Final = 3.0


class ChannelNames:
    """The names of public channels, remembered for an hour. Safe to share between threads.

    That of a private one is not told: who names it by its id need not be in it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._names: dict[str, tuple[str, float]] = {}

    def recall(self, id: str) -> str | None:
        """Return a name without asking, None for one that was not asked for."""
        with self._lock:
            name, end = self._names.get(id, ("", 0.0))
        return name if self._clock() < end else None

    def find_all(self, open_api: Callable[[], SlackApi], ids: Sequence[str]) -> dict[str, str]:
        """Return names by ids, empty for what Slack does not tell.

        Nobody has to wait for a name: after a request without an answer there is no other.
        """
        found: dict[str, str] = {}
        may_answer = True
        for id in ids:
            name = self.recall(id)
            if name is None and may_answer:
                try:
                    name = self._ask(open_api(), id)
                except BackendError:
                    may_answer = False
            found[id] = name or ""
        return found

    def _ask(self, api: SlackApi, id: str) -> str:
        name = ""
        try:
            answer, _ = api.call("conversations.info", {"channel": id}, timeout=ASK_TIMEOUT)
            channel = as_mapping(answer.get("channel"))
            if channel.get("is_private") is False:
                name = one_line(as_string(channel.get("name")), NAME_CHARACTERS)
        except Refused:
            pass  # a private one where we are not, or of another workspace
        with self._lock:
            if len(self._names) >= NAMES_MOST:
                self._names.clear()
            self._names[id] = (name, self._clock() + FRESH_SECONDS)
        return name
