"""Which models take tools only without reasoning, learnt from what their endpoint refuses.

OpenAI's newer models reason by default, and refuse on chat completions every request with tools
unless its `reasoning_effort` is `none`. That they do is kept for the endpoint and the model, so
that one refusal is paid for and not one for each process.
"""

from __future__ import annotations

from typing import Final, Protocol

from sigil.errors import BackendError
from sigil.storage.kv import KV, keys

NONE: Final = "none"
KEPT_SECONDS: Final = 30 * 86_400.0
"""Then the endpoint is tried again: it may have learnt to take both."""
_WORDS: Final = (b"reasoning_effort", b"tools", b"none")
"""The refusal has all of them: `Function tools with reasoning_effort are not supported for … use
/v1/responses or set reasoning_effort to 'none'.`
"""


class ReasoningEffort(Protocol):
    """What is known of the models of one endpoint."""

    def find(self, model: str) -> str:
        """Return the effort to ask a model for beside tools, empty for its own."""

    def keep(self, model: str, effort: str) -> None:
        """Keep the effort with which a model has taken tools."""


class LearntEffort:
    """What the refusals of an endpoint have taught, kept in the store; `kv` None: in this process
    alone.
    """

    def __init__(self, endpoint: str, kv: KV | None = None) -> None:
        self._endpoint = endpoint
        self._kv = kv
        self._known: dict[str, str] = {}

    def find(self, model: str) -> str:
        """See `ReasoningEffort.find`; the store is asked once for each model."""
        if model not in self._known:
            self._known[model] = self._read(model)
        return self._known[model]

    def keep(self, model: str, effort: str) -> None:
        self._known[model] = effort
        if self._kv is None:
            return
        try:
            key = keys.reasoning_effort(self._endpoint, model)
            self._kv.put(key, effort.encode(), ttl=KEPT_SECONDS)
        except BackendError:
            return  # this process knows, and another one pays for a refusal of its own

    def _read(self, model: str) -> str:
        if self._kv is None:
            return ""
        try:
            item = self._kv.get(keys.reasoning_effort(self._endpoint, model))
        except BackendError:
            return ""  # the turn itself will fail on a store that is away
        return NONE if item and item.value == NONE.encode() else ""


def is_effort_refused(body: bytes) -> bool:
    """Return whether an endpoint's refusal says that tools go without reasoning alone."""
    lowered = body.lower()
    return all(word in lowered for word in _WORDS)
