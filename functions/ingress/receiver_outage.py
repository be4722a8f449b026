"""An outage of a platform is said once, and not with each try."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

AGAIN_SECONDS: Final = 600.0
"""A problem that lasts is said again after so long."""


class ReceiverOutage:
    """What is said about a bot that nothing can be received for: each problem once, and once more
    every 10 minutes.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said: dict[str, float] = {}

    @property
    def is_on(self) -> bool:
        """Return whether a problem was said, and its end was not."""
        return bool(self._said)

    def is_news(self, problem: str) -> bool:
        """Return whether to say a problem, which then counts as said."""
        now = self._clock()
        if now < self._said.get(problem, float("-inf")) + AGAIN_SECONDS:
            return False
        self._said[problem] = now
        return True

    def end(self) -> None:
        """Forget what was said: it works again."""
        self._said.clear()
