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
        over = self._add_pause(who, name, at_once)
        try:
            yield
        except SigilError:
            with suppress(BackendError):  # the turn comes back by itself
                self._remove_pause(who, over, at_once)
            raise

    def _add_pause(self, who: str, name: str, at_once: int) -> float:
        """Add one pause, and return when all pauses are over (seconds since 1970)."""

        def decide(value: bytes | None) -> tuple[bytes, float]:
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
            return update(self._kv, keys.deploy_cooldown(who), decide, self._ttl(at_once))
        except Conflict:
            raise _too_fast(1.0, name) from None

    def _remove_pause(self, who: str, over: float, at_once: int) -> None:
        """Take one pause away again, unless all of them are over by now."""

        def decide(value: bytes | None) -> tuple[bytes | None, None]:
            if value is None or self._clock() >= over:
                return None, None
            return b"%.3f" % (_parse_seconds(value) - self._seconds), None

        update(self._kv, keys.deploy_cooldown(who), decide, self._ttl(at_once))

    def _ttl(self, at_once: int) -> float:
        return at_once * self._seconds + GRACE_SECONDS


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
