"""A model whose window is smaller than somebody set: its endpoint's refusal teaches how large it
is, and every process hears of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import orjson

from functions.agent import tokens
from functions.agent.model import failures
from functions.agent.model.base import Model, Reply, Request
from functions.agent.model.failures import LEAST_WINDOW
from sigil.errors import BackendError
from sigil.storage.kv import KV, Key

KEPT_SECONDS = 86_400.0
"""For so long a learnt window holds; then the one that was set is tried again, since an endpoint
may have been mended.
"""
LOOK_SECONDS = 10.0
"""How long a process goes by what it read."""
SMALLER = 0.75
"""Of a refused request's estimated tokens, so many may fit where the endpoint's words say that the
window is as it was set.
"""


def estimated(request: Request) -> float:
    """The estimated tokens of a request."""
    return tokens.of_text(orjson.dumps([*request.messages, *request.tools]).decode())


def _speaks_of_windows(request: Request) -> bool:
    """Whether the refusal's words may be an echo: some endpoints repeat what they were sent, and
    anybody may have written that.
    """
    given = [message for message in request.messages if message.get("role") != "system"]
    return failures.tells_of_window(orjson.dumps(given).decode("utf-8", "replace"))


class LearntWindow:
    """A model with the window that its endpoint has taught, kept under `noted`."""

    def __init__(
        self, model: Model, kv: KV, noted: Key, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._model = model
        self._kv = kv
        self._noted = noted
        self._monotonic = monotonic
        self._learnt = 0
        self._read_at = float("-inf")

    def close(self) -> None:
        """Let go of what the model holds open."""
        close = getattr(self._model, "close", None)
        if close:
            close()

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def window(self) -> int:
        if self._monotonic() - self._read_at > LOOK_SECONDS:
            self._look()
        return min(self._model.window, self._learnt or self._model.window)

    def chat(self, request: Request) -> Reply:
        """See `Model.chat`."""
        reply = self._model.chat(request)
        refused = reply.finish == "error" and reply.failure and reply.failure.kind == "window"
        if refused and not _speaks_of_windows(request):
            self._learn(reply.failure.limit if reply.failure else 0, estimated(request))
        return reply

    def _look(self) -> None:
        """Read what any process has learnt. A store that is away changes nothing: the turn itself
        will meet it.
        """
        try:
            item = self._kv.get(self._noted)
        except BackendError:
            return
        self._learnt = (
            int(item.value) if item and item.value.isdigit() and len(item.value) <= 12 else 0
        )
        self._read_at = self._monotonic()

    def _learn(self, limit: int, asked: float) -> None:
        """Keep the limit that the endpoint told of, when it explains the refusal; else what is well
        below the refused request.
        """
        before = self.window
        if LEAST_WINDOW <= limit < before:
            learnt = limit
        elif before <= limit <= 2 * asked:
            learnt = int(min(before, asked * SMALLER))
        else:
            learnt = int(min(before, asked) / 2)
        learnt = max(learnt, LEAST_WINDOW)
        if learnt >= before:
            return
        self._learnt, self._read_at = learnt, self._monotonic()
        try:
            self._kv.put(self._noted, b"%d" % learnt, ttl=KEPT_SECONDS)
        except BackendError:
            return  # this process knows, and the next refusal is kept
