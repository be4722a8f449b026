"""The access token of an app, for platforms that give one for a while in exchange for a secret."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

from sigil.errors import BackendError

MARGIN_SECONDS: Final = 600.0
"""A token is replaced so many seconds before its end; the one before stays valid meanwhile."""
_Result = TypeVar("_Result")


class TokenEnded(Exception):
    """The platform does not take the access token any more."""


class AccessToken:
    """A token that `fetch` gets, with the seconds for which it is valid.

    One thread fetches it, and the others wait. `platform` is the platform's name for people, and
    `source` that in errors; `advice` says what to check when it takes no token at all.
    """

    def __init__(
        self, fetch: Callable[[], tuple[str, float]], platform: str, source: str, advice: str
    ) -> None:
        self._fetch = fetch
        self._platform = platform
        self._source = source
        self._advice = advice
        self._lock = threading.Lock()
        self._token = ""
        self._end = 0.0

    def use(self, send: Callable[[str], _Result]) -> _Result:
        """Return what `send` does with the token, once more with a new one if it raises
        `TokenEnded`: a token may end before its time.
        """
        token = self._find()
        try:
            return send(token)
        except TokenEnded:
            with self._lock:
                if self._token == token:
                    self._token = ""
        try:
            return send(self._find())
        except TokenEnded:
            raise BackendError(
                "EUNAVAILABLE",
                f"{self._platform} does not take the access token that it has just given",
                source=self._source,
                suggestion=self._advice,
            ) from None

    def _find(self) -> str:
        with self._lock:
            if self._token and time.monotonic() < self._end:
                return self._token
            token, seconds = self._fetch()
            if not token:
                raise BackendError(
                    "EUNAVAILABLE",
                    f"{self._platform} gives no access token",
                    source=self._source,
                    suggestion=self._advice,
                )
            self._token = token
            self._end = time.monotonic() + max(seconds - MARGIN_SECONDS, seconds / 2)
            return token
