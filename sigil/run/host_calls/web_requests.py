"""Count the requests that an agent's capabilities send by `permissions.web`, and bound a day's."""

from __future__ import annotations

import time
from collections.abc import Callable

from sigil.errors import Conflict, Refused
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import update

REQUESTS_PER_DAY = 1_000
"""The default of `SIGIL_WEB_REQUESTS_PER_DAY`."""
DAY_SECONDS = 86_400
_KEPT_SECONDS = 2 * DAY_SECONDS


class WebRequestCounter:
    """Counts an agent's requests of a day, which begins at midnight UTC.

    A request that cannot be counted is not sent.
    """

    def __init__(
        self, kv: KV, clock: Callable[[], float] = time.time, most: int = REQUESTS_PER_DAY
    ) -> None:
        self._kv = kv
        self._clock = clock
        self._most = most

    def count(self, agent: str) -> None:
        """Count one request; raise `Refused` ERATE when there were as many as a day may have."""

        def add_one(value: bytes | None) -> tuple[bytes | None, bool]:
            sent = _parse_count(value)
            if sent >= self._most:
                return None, False
            return b"%d" % (sent + 1), True

        key = keys.web_requests(agent, self._today())
        try:
            is_allowed = update(self._kv, key, add_one, _KEPT_SECONDS)
        except Conflict:
            raise Refused(
                "ERATE", "too many requests to the web at this moment", source="http"
            ) from None
        if not is_allowed:
            raise Refused(
                "ERATE",
                f"{self._most:,} requests to the web were sent today, and no more are allowed:"
                " the count begins anew at midnight UTC (SIGIL_WEB_REQUESTS_PER_DAY)",
                source="http",
            )

    def sent_today(self, agent: str) -> int:
        """Return how many requests the agent sent today."""
        item = self._kv.get(keys.web_requests(agent, self._today()))
        return _parse_count(item.value if item else None)

    def _today(self) -> str:
        return time.strftime("%Y-%m-%d", time.gmtime(self._clock()))


def _parse_count(value: bytes | None) -> int:
    """Return a stored count; one that somebody damaged begins anew."""
    text = (value or b"0").decode("ascii", "replace")
    return int(text) if text.isdigit() and text.isascii() and len(text) < 10 else 0
