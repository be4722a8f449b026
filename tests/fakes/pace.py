"""How often a platform takes requests."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Pace:
    """At most `most` requests about one thing within `seconds`, by a clock."""

    most: int
    seconds: float
    now: Callable[[], float] = time.monotonic
    _times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def takes(self, thing: str) -> bool:
        """Whether one more is taken."""
        now = self.now()
        times = [each for each in self._times[thing] if now - each < self.seconds]
        self._times[thing] = times
        if len(times) >= self.most:
            return False
        times.append(now)
        return True
