"""The window, how many tokens a model's request may have, is learnt from its endpoint's refusals.

It is a number and shortens nothing itself; the setting counts until an endpoint says a smaller
number. Every process learns of it through the store. A refusal without a number makes the turn in
progress shorter, and teaches nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import orjson

from functions.agent.conversation import tokens
from functions.agent.conversation.prompt import PromptMessage
from functions.agent.model import failures
from functions.agent.model.base import Learner, Model, ModelReply, ModelRequest
from functions.agent.model.failures import LEAST_WINDOW
from sigil.errors import BackendError
from sigil.storage.kv import KV, Key

KEPT_SECONDS = 86_400.0
"""A learnt window is kept for so long; then the one of the setting is tried again.

The endpoint may have been fixed.
"""
READ_AGAIN_SECONDS = 10.0
"""A process reads the store again after so long."""
SMALLER = 0.75
"""This share of a refused request's estimated tokens may fit.

It is taken where the endpoint's words say that the window is as it was set.
"""


def estimate_tokens(request: ModelRequest) -> float:
    """Return the estimated tokens of a request, in which each picture counts as any other."""
    messages: Sequence[PromptMessage] = request.messages
    pictures = 0.0
    if any(isinstance(message["content"], list) for message in messages):
        from functions.agent.conversation.pictures import TOKENS
        from functions.agent.model import history

        pictures = TOKENS * history.count_images(messages)
        messages = history.leave_out_images(messages)
    return tokens.of_text(orjson.dumps([*messages, *request.tools]).decode()) + pictures


class LearntWindow:
    """A model with the window that its endpoint has taught, kept under the key `noted`."""

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
        """Close the model's connections."""
        close = getattr(self._model, "close", None)
        if close:
            close()

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def window(self) -> int:
        if self._monotonic() - self._read_at > READ_AGAIN_SECONDS:
            self._reload_learnt()
        return min(self._model.window, self._learnt or self._model.window)

    def chat(self, request: ModelRequest) -> ModelReply:
        """Ask the model, and learn its window from a refusal; see `Model.chat`."""
        reply = self._model.chat(request)
        if reply.finish != "error" or reply.failure is None or reply.failure.kind != "window":
            return reply
        if request.model:  # the window is another model's
            return reply
        # Some endpoints repeat what they were sent, and anybody may have written such words there.
        messages = [message for message in request.messages if message.get("role") != "system"]
        text = orjson.dumps(messages).decode("utf-8", "replace")
        if not failures.tells_of_window(text):
            self._learn_window(reply.failure.limit, estimate_tokens(request))
        return reply

    def list_lessons(self, model: str = "") -> list[str]:
        """See `Learner.list_lessons`."""
        said = [*self._model.list_lessons(model)] if isinstance(self._model, Learner) else []
        if not model and self.window < self._model.window:
            said.append(f"its window is {self.window:,} tokens, and {self._model.window:,} are set")
        return said

    def forget_lessons(self, model: str = "") -> None:
        """See `Learner.forget_lessons`."""
        if isinstance(self._model, Learner):
            self._model.forget_lessons(model)
        self._learnt = 0
        self._kv.delete(self._noted)

    def _reload_learnt(self) -> None:
        """Read what any process has learnt.

        A store that is away changes nothing here: the turn itself will fail on it.
        """
        try:
            item = self._kv.get(self._noted)
        except BackendError:
            return
        self._learnt = 0
        if item and item.value.isdigit() and len(item.value) <= 12:
            self._learnt = int(item.value)
        self._read_at = self._monotonic()

    def _learn_window(self, limit: int, requested: float) -> None:
        """Keep a smaller window after a refused request of `requested` estimated tokens.

        It is the limit that the endpoint told, when that explains the refusal; otherwise a part of
        the refused request. Only after a number it is kept for others and for later.
        """
        before = self.window
        if LEAST_WINDOW <= limit < before:
            learnt = limit
        elif before <= limit <= 2 * requested:
            learnt = int(min(before, requested * SMALLER))
        else:
            learnt = int(min(before, requested) / 2)
        learnt = max(learnt, LEAST_WINDOW)
        if learnt >= before:
            return
        self._learnt = learnt
        self._read_at = self._monotonic()
        if not limit:
            return
        try:
            self._kv.put(self._noted, b"%d" % learnt, ttl=KEPT_SECONDS)
        except BackendError:
            return  # this process knows, and the next refusal is kept
