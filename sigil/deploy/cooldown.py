"""A pause between two deploys of one token, and of a model in one chat."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from sigil.errors import BackendError, Conflict, Refused, SigilError
from sigil.storage.kv import ABSENT, KV, Item, keys

RACES = 10


class Cooldown:
    """One deploy in `seconds` for each holder, and so many at once as it is told, whichever process
    they reach; 0 switches it off.

    The store keeps when the pauses of all turns taken are over: a turn adds `seconds` to it.
    """

    def __init__(
        self, kv: KV, clock: Callable[[], float] = time.time, seconds: float = 5.0
    ) -> None:
        self._kv = kv
        self._clock = clock
        self._seconds = seconds

    @contextmanager
    def take_turn(self, who: str, name: str, at_once: int = 1) -> Iterator[None]:
        """Take a turn of `who` for the deploy of `name` inside; one that comes to nothing gives it
        back.

        `Refused` ERATE says when the next one is due.
        """
        over = self._take(who, name, at_once)
        try:
            yield
        except SigilError:
            with suppress(BackendError):  # it comes back by itself
                self._give_back(who, over)
            raise

    def _take(self, who: str, name: str, at_once: int) -> float:
        if self._seconds <= 0:
            return 0.0
        early = self._seconds
        for _ in range(RACES):
            now, item = self._clock(), self._kv.get(keys.deploy_cooldown(who))
            over = _number(item)
            over = (
                over if now < over <= now + at_once * self._seconds else now
            )  # a clock that was set back must not lock anybody out
            early = over - now - (at_once - 1) * self._seconds
            if early > 0:
                break
            with suppress(Conflict):
                self._put(who, over + self._seconds, item)
                return over + self._seconds
        raise _early(max(early, 1.0), name)

    def _give_back(self, who: str, over: float) -> None:
        for _ in range(RACES):
            item = self._kv.get(keys.deploy_cooldown(who))
            if item is None or self._clock() >= over:
                return
            with suppress(Conflict):
                self._put(who, _number(item) - self._seconds, item)
                return

    def _put(self, who: str, over: float, item: Item | None) -> None:
        ttl = max(over - self._clock(), 0.0) + 60
        self._kv.put(
            keys.deploy_cooldown(who),
            b"%.3f" % over,
            expect=item.version if item else ABSENT,
            ttl=ttl,
        )


def _number(item: Item | None) -> float:
    with suppress(ValueError):  # damaged: nobody knows of a pause, and the next turn writes it anew
        return float(item.value) if item else 0.0
    return 0.0


def _early(left: float, name: str) -> Refused:
    seconds = max(math.ceil(left), 1)
    return Refused(
        "ERATE",
        "deploys follow each other too fast",
        source=name,
        suggestion=f"try again in {seconds} s",
        retry_after=seconds,
    )
