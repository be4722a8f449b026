"""The cooldown is a pause between two deploys of one token, and of a model in one chat."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from sigil.errors import BackendError, Conflict, Refused, SigilError
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import update

GRACE_SECONDS = 60
"""How long the store keeps the end of a pause that is over."""


class Cooldown:
    """Lets a holder deploy once in `seconds`, in whichever process; 0 switches it off.

    The store keeps when the pauses of all turns that were taken are over: a turn adds `seconds` to
    it. So a holder may take several turns at once, and waits for their pauses afterwards.
    """

    def __init__(
        self, kv: KV, clock: Callable[[], float] = time.time, seconds: float = 5.0
    ) -> None:
        self._kv = kv
        self._clock = clock
        self._seconds = seconds

    @contextmanager
    def take_turn(self, who: str, name: str, at_once: int = 1) -> Iterator[None]:
        """Take a turn of `who` for the deploy of `name` inside; a deploy that fails gives it back.

        `at_once` turns may be taken without a pause between them. Raises `Refused` ERATE, which
        says when the next turn is due.
        """
        if self._seconds <= 0:
            yield
            return
        key = keys.deploy_cooldown(who)
        ttl = at_once * self._seconds + GRACE_SECONDS

        def add_pause(value: bytes | None) -> tuple[bytes, float]:
            now = self._clock()
            over = _parse_seconds(value)
            if not now < over <= now + at_once * self._seconds:
                over = now  # a clock that was set back must not lock anybody out
            early = over - now - (at_once - 1) * self._seconds
            if early > 0:
                raise _too_fast(early, name)
            over += self._seconds
            return b"%.3f" % over, over

        try:
            over = update(self._kv, key, add_pause, ttl)
        except Conflict:
            raise _too_fast(1.0, name) from None

        def remove_pause(value: bytes | None) -> tuple[bytes | None, None]:
            if value is None or self._clock() >= over:
                return None, None  # all pauses are over by now
            return b"%.3f" % (_parse_seconds(value) - self._seconds), None

        try:
            yield
        except SigilError:
            with suppress(BackendError):  # the turn comes back by itself
                update(self._kv, key, remove_pause, ttl)
            raise


def _parse_seconds(value: bytes | None) -> float:
    """Return the stored time; 0 for a damaged one, which the next turn writes anew."""
    try:
        return float(value) if value else 0.0
    except ValueError:
        return 0.0


def _too_fast(wait: float, name: str) -> Refused:
    seconds = max(math.ceil(wait), 1)
    return Refused(
        "ERATE",
        "deploys follow each other too fast",
        source=name,
        suggestion=f"try again in {seconds} s",
        retry_after=seconds,
    )
