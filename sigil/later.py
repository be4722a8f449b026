"""A registry that is opened when it is first asked for, so that a start waits for nothing and loads
nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sigil.errors import BackendError, UsageError
from sigil.protocol import Caller, Deployed, Found, Json, Ran

if TYPE_CHECKING:
    from sigil.registry import LocalRegistry
    from sigil.rows import DetailRow


class LazyOpener:
    """What `open` opens, once."""

    def __init__(self, open: Callable[[], LocalRegistry]) -> None:
        self._open = open
        self._lock = threading.Lock()
        self._registry: LocalRegistry | None = None

    def __call__(self) -> LocalRegistry:
        """The registry; `BackendError` when it cannot be opened, and the next call tries again."""
        with self._lock:
            try:
                self._registry = self._registry or self._open()
            except UsageError as problem:
                # A wrong setting is the server's mistake, not that of whoever asks.
                raise BackendError(
                    "EUNAVAILABLE",
                    problem.message,
                    source="registry",
                    suggestion=problem.suggestion,
                ) from None
            return self._registry

    def close(self) -> None:
        """Close what was opened."""
        with self._lock:
            if self._registry:
                self._registry.close()
            self._registry = None


class LazyRegistry:
    """A `Registry` whose first verb opens it."""

    def __init__(self, open: Callable[[], LocalRegistry]) -> None:
        self._later = LazyOpener(open)

    def query(self, text: str, caller: Caller, *, limit: int = 3) -> Found:
        return self._later().query(text, caller, limit=limit)

    def inspect(self, ref: str, caller: Caller) -> DetailRow:
        return self._later().inspect(ref, caller)

    def deploy(self, spec: Mapping[str, Json], caller: Caller) -> Deployed:
        return self._later().deploy(spec, caller)

    def run(self, ref: str, arguments: Mapping[str, Json], caller: Caller) -> Ran:
        return self._later().run(ref, arguments, caller)

    def close(self) -> None:
        self._later.close()
