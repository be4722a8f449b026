"""A value that is made at its first use."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class FirstUse(Generic[Value]):
    """What `make` returns, made at its first use by whichever thread comes first.

    Once it was forgotten, the next use makes it again.
    """

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: Value | None = None

    def get(self) -> Value:
        """Return the value; what `make` raises, and then the next use tries again."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    @property
    def made(self) -> Value | None:
        """Return the value if it is made."""
        return self._made

    def forget(self) -> Value | None:
        """Return the value, None for one that is not made, and forget it."""
        with self._lock:
            made, self._made = self._made, None
            return made
