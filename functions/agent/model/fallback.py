"""A second model answers while the first one gives no answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from functions.agent.model.base import Failure, Learner, Model, ModelReply, ModelRequest
from functions.agent.model.client import REQUEST_SECONDS
from functions.agent.model.failures import make_error_reply
from functions.agent.model.window import estimate_tokens

TRIES = 2
"""After so many failed tries of one model in a row the other is asked."""
PAUSE_MOST = 2.0
"""Pause at most so many seconds for one model while there is another."""
REST_SECONDS, REST_MOST = 60.0, 3_600.0
"""A first model that failed rests for so long, longer when its endpoint says so.

It is asked meanwhile only when the second one fails, too.
"""


class FallbackModel:
    """Two models as one. The window is that of the model which is asked next.

    A request may take `seconds`: the model that is asked first has half of them.
    """

    def __init__(
        self,
        first: Model,
        second: Model,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        seconds: float = REQUEST_SECONDS,
    ) -> None:
        self._first = first
        self._second = second
        self._monotonic = monotonic
        self._seconds = seconds
        self._rests_until = float("-inf")

    def close(self) -> None:
        """Close the connections of both models."""
        for model in (self._first, self._second):
            close = getattr(model, "close", None)
            if close:
                close()

    @property
    def name(self) -> str:
        return self._next_model.name

    @property
    def window(self) -> int:
        return self._next_model.window

    def chat(self, request: ModelRequest) -> ModelReply:
        """Return the reply of the first model, or of the second while the first fails.

        It has all failed tries and why they failed. A fault of the request itself is no reason to
        ask another model: a content that was refused, a length that does not fit.
        """
        first, second = self._first, self._second
        if self._is_first_resting:
            first, second = second, first
        reply = self._ask_model(first, request, last=False)
        if not _is_models_fault(reply) or reply.tries >= request.tries:
            return reply
        other = self._ask_model(
            second, replace(request, tries=request.tries - reply.tries), last=True
        )
        return _combine_replies(reply, other)

    def list_lessons(self, model: str = "") -> list[str]:
        """See `Learner.list_lessons`; those of the second model are below its name."""
        said = [*self._first.list_lessons(model)] if isinstance(self._first, Learner) else []
        if isinstance(self._second, Learner):
            said += [f"{self._second.name}: {each}" for each in self._second.list_lessons()]
        return said

    def forget_lessons(self, model: str = "") -> None:
        """See `Learner.forget_lessons`; both models forget."""
        if isinstance(self._first, Learner):
            self._first.forget_lessons(model)
        if isinstance(self._second, Learner):
            self._second.forget_lessons()

    @property
    def _is_first_resting(self) -> bool:
        return self._monotonic() < self._rests_until

    @property
    def _next_model(self) -> Model:
        return self._second if self._is_first_resting else self._first

    def _ask_model(self, model: Model, request: ModelRequest, *, last: bool) -> ModelReply:
        if model is self._second:
            request = replace(request, model="")  # the name is of the first one's endpoint
        if model is self._second and estimate_tokens(request) > model.window:
            detail = "the request does not fit into the second model's window"
            return make_error_reply(Failure("window", detail, model.window))
        left = min(request.deadline - time.monotonic(), self._seconds)
        deadline = request.deadline if last else time.monotonic() + left / 2
        limited = replace(
            request,
            deadline=deadline,
            tries=min(TRIES, request.tries),
            pause_most=min(PAUSE_MOST, request.pause_most),
        )
        reply = replace(model.chat(limited), model=request.model or model.name)
        if model is self._first and reply.failure and _is_models_fault(reply):
            rest = min(max(REST_SECONDS, reply.retry_after or 0.0), REST_MOST)
            self._rests_until = self._monotonic() + rest
        return reply


def _is_models_fault(reply: ModelReply) -> bool:
    """Return whether a reply is an error that another model might not make."""
    if reply.finish != "error":
        return False
    return reply.failure is None or reply.failure.kind not in ("window", "refused")


def _combine_replies(failed: ModelReply, other: ModelReply) -> ModelReply:
    """Return the reply of the model that was asked second, with why the other one had failed."""
    tries = failed.tries + other.tries
    failure = other.failure or failed.failure
    if other.failure and failed.failure:
        detail = (
            f"{other.failure.detail}; before that, from the other model: {failed.failure.detail}"
        )
        failure = replace(other.failure, detail=detail)
    if (
        other.finish == "error"
        and failed.transient
        and not other.transient
        and other.failure
        and other.failure.kind != "window"
    ):
        return replace(failed, tries=tries, failure=failure)
    return replace(other, tries=tries, failure=failure)
