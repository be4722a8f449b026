"""Lessons are what the refusals of an endpoint have taught about its models, kept in the store.

So one refusal is paid for, and not one for each process and each turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from functions.agent.model.dialect import Dialect, choose_dialect, list_differences
from sigil.errors import BackendError
from sigil.storage.kv import KV, keys
from sigil.storage.stored import Shape, dumps

KEPT_SECONDS: Final = 86_400.0
"""Then the endpoint is asked as the table says: it may have been mended."""
TOOLLESS_SECONDS: Final = 3_600.0
"""A dialect without tools is kept for so long only."""
FAILED_SECONDS: Final = 600.0
"""What was refused to the last is not tried again from the beginning for so long."""
READ_AGAIN_SECONDS: Final = 600.0
"""A process reads the store again after so long."""
_DIALECT: Final = Shape[Dialect](Dialect)


class Lessons:
    """The dialects of one endpoint's models. `name` is the one of the settings, empty to choose by
    address and model; without `kv`, what is learnt stays in this process.
    """

    def __init__(
        self,
        endpoint: str,
        name: str = "",
        kv: KV | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._endpoint = endpoint
        self._name = name
        self._kv = kv
        self._monotonic = monotonic
        self._known: dict[str, tuple[Dialect, float]] = {}

    def find(self, model: str) -> Dialect:
        """Return the dialect of a model: what was learnt, else what the table says."""
        known = self._known.get(model)
        if known and self._monotonic() < known[1]:
            return known[0]
        dialect = self._read(model) or self._choose(model)
        self._known[model] = (dialect, self._monotonic() + READ_AGAIN_SECONDS)
        return dialect

    def keep(self, model: str, dialect: Dialect, *, worked: bool) -> None:
        """Keep the dialect that a model's endpoint took, or the last one that it refused."""
        seconds = TOOLLESS_SECONDS if dialect.is_toolless else KEPT_SECONDS
        if not worked:
            seconds = FAILED_SECONDS
        self._known[model] = (dialect, self._monotonic() + min(seconds, READ_AGAIN_SECONDS))
        if self._kv is None:
            self._known[model] = (dialect, self._monotonic() + seconds)
            return
        with suppress(
            BackendError
        ):  # this process knows; another one pays for a refusal of its own
            self._kv.put(keys.dialect(self._endpoint, model), dumps(dialect), ttl=seconds)

    def list_learnt(self, model: str) -> list[str]:
        """Return what was learnt of a model beside what the table says, a phrase each."""
        return list_differences(self._choose(model), self.find(model))

    def forget(self, model: str) -> None:
        """Forget what was learnt of a model."""
        self._known.pop(model, None)
        if self._kv is not None:
            self._kv.delete(keys.dialect(self._endpoint, model))

    def _choose(self, model: str) -> Dialect:
        return choose_dialect(self._endpoint, model, self._name)

    def _read(self, model: str) -> Dialect | None:
        if self._kv is None:
            return None
        try:
            item = self._kv.get(keys.dialect(self._endpoint, model))
            return _DIALECT.read(item.value) if item else None
        except (BackendError, ValueError):
            return None  # the turn itself fails on a store that is away
