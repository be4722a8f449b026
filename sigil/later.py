"""A registry that is opened by its first verb, so that a start waits for nothing and loads nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from sigil.errors import BackendError, UsageError
from sigil.protocol import Caller, Deployed, Found, Json, Ran

if TYPE_CHECKING:
    from sigil.wire import Keeper


class Later:
    """The registry that `open` opens, once. A setting that is wrong is told by the first verb, as `BackendError`."""

    def __init__(self, open: Callable[[], Keeper]) -> None:
        self._open = open
        self._lock = threading.Lock()
        self._registry: Keeper | None = None

    def query(self, text: str, caller: Caller, *, limit: int = 3) -> Found:
        return self._opened().query(text, caller, limit=limit)

    def inspect(self, ref: str, caller: Caller) -> dict[str, Json]:
        return self._opened().inspect(ref, caller)

    def deploy(self, spec: Mapping[str, Json], caller: Caller) -> Deployed:
        return self._opened().deploy(spec, caller)

    def run(self, ref: str, arguments: Mapping[str, Json], caller: Caller) -> Ran:
        return self._opened().run(ref, arguments, caller)

    def list(self, caller: Caller) -> Iterator[dict[str, Json]]:
        return self._opened().list(caller)

    def remove(self, name: str, caller: Caller) -> None:
        self._opened().remove(name, caller)

    def close(self) -> None:
        with self._lock:
            if self._registry:
                self._registry.close()
            self._registry = None

    def _opened(self) -> Keeper:
        with self._lock:
            try:
                self._registry = self._registry or self._open()
            except UsageError as problem:
                # A wrong setting is the server's mistake, not that of whoever asks.
                raise BackendError("EUNAVAILABLE", problem.message, source="registry", suggestion=problem.suggestion) from None
            return self._registry
