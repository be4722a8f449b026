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
GUESSED_SECONDS: Final = 3_600.0
"""A dialect that a chat was answered in, though nobody knows why, is used there for so long."""
FAILED_SECONDS: Final = 120.0
"""In a chat whose request was refused to the last, the next ones begin there for so long."""
CHATS_MOST: Final = 1_000
"""A process knows of so many chats what was guessed for them."""
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
        self._guessed: dict[tuple[str, str], tuple[Dialect, float]] = {}

    def find(self, model: str, chat: str = "") -> Dialect:
        """Return the dialect of a model in a chat: what was guessed there, else what was learnt,
        else what the table says.
        """
        if self._guessed:
            guessed = self._guessed.get((model, chat))
            if guessed and self._monotonic() < guessed[1]:
                return guessed[0]
        known = self._known.get(model)
        if known and self._monotonic() < known[1]:
            return known[0]
        dialect = self._read(model) or self._choose(model)
        self._known[model] = (dialect, self._monotonic() + READ_AGAIN_SECONDS)
        return dialect

    def keep(self, model: str, dialect: Dialect) -> None:
        """Keep the dialect that a model's endpoint has asked for and then taken."""
        seconds = KEPT_SECONDS if self._kv is None else READ_AGAIN_SECONDS
        self._known[model] = (dialect, self._monotonic() + seconds)
        if self._kv is None:
            return
        with suppress(BackendError):  # this process knows, and another one learns it by itself
            self._kv.put(keys.dialect(self._endpoint, model), dumps(dialect), ttl=KEPT_SECONDS)

    def guess(self, model: str, chat: str, dialect: Dialect, *, worked: bool) -> None:
        """Use a dialect for what is said next in a chat, in this process alone: what was refused
        may have been something in this chat.
        """
        if len(self._guessed) >= CHATS_MOST:
            self._guessed.clear()
        seconds = GUESSED_SECONDS if worked else FAILED_SECONDS
        self._guessed[model, chat] = (dialect, self._monotonic() + seconds)

    def list_learnt(self, model: str) -> list[str]:
        """Return what was learnt of a model beside what the table says, a phrase each."""
        return list_differences(self._choose(model), self.find(model))

    def forget(self, model: str) -> None:
        """Forget what was learnt of a model."""
        self._known.pop(model, None)
        self._guessed.clear()
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
