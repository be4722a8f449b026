"""A pause between two deploys of one token."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from sigil.errors import Conflict, Refused
from sigil.kv import ABSENT, KV, keys


class Cooldown:
    """At most one deploy in `seconds` for each holder, whichever process it reaches; 0 switches it off."""

    def __init__(self, kv: KV, clock: Callable[[], float] = time.time, seconds: float = 5.0) -> None:
        self._kv = kv
        self._clock = clock
        self._seconds = seconds

    def demand(self, who: str) -> None:
        """Take the turn of `who`; `Refused` ERATE says when the next one is due."""
        if self._seconds <= 0:
            return
        now, item = self._clock(), self._kv.get(keys.cooldown(who))
        due = float(item.value) if item else 0.0
        if now < due <= now + self._seconds:  # a clock that was set back must not lock anybody out
            raise _early(due - now)
        try:
            self._kv.put(
                keys.cooldown(who), b"%.3f" % (now + self._seconds), expect=item.version if item else ABSENT, ttl=self._seconds + 60
            )
        except Conflict:
            raise _early(self._seconds) from None


def _early(left: float) -> Refused:
    seconds = max(math.ceil(left), 1)
    return Refused("ERATE", "deploys follow each other too fast", suggestion=f"try again in {seconds} s", retry_after=seconds)
