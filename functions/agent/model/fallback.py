"""A second model that stands in while the first gives no answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from functions.agent.model.base import Failure, Model, Reply, Request
from functions.agent.model.failures import reply_of
from functions.agent.model.window import estimated

TRIES = 2
"""Failed tries of one model in a row, before the other is asked."""
PAUSE_MOST = 2.0
"""Seconds that are waited for one model while there is another."""
REST_SECONDS, REST_MOST = 60.0, 3_600.0
"""For so long a first model that failed is asked only when the second fails too; longer when its
endpoint says so.
"""
SECONDS = 110.0


class WithFallback:
    """Two models as one. Its window is that of the model which is asked next."""

    def __init__(
        self, first: Model, second: Model, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._first = first
        self._second = second
        self._monotonic = monotonic
        self._rests_until = float("-inf")

    def close(self) -> None:
        """Let go of what both hold open."""
        for model in (self._first, self._second):
            close = getattr(model, "close", None)
            if close:
                close()

    @property
    def name(self) -> str:
        return self._asked_next.name

    @property
    def window(self) -> int:
        return self._asked_next.window

    def chat(self, request: Request) -> Reply:
        """The reply of the first model, or of the second while the first fails; with all failed
        tries and why they failed.

        What is wrong with the request itself is no reason to ask another model: a content that was
        refused, a length that does not fit.
        """
        order = (self._second, self._first) if self._rests else (self._first, self._second)
        reply = self._ask(order[0], request, last=False)
        if (
            reply.finish != "error"
            or (reply.failure and reply.failure.kind in ("window", "refused"))
            or reply.tries >= request.tries
        ):
            return reply
        other = self._ask(order[1], replace(request, tries=request.tries - reply.tries), last=True)
        return _together(reply, other)

    @property
    def _rests(self) -> bool:
        return self._monotonic() < self._rests_until

    @property
    def _asked_next(self) -> Model:
        return self._second if self._rests else self._first

    def _ask(self, model: Model, request: Request, *, last: bool) -> Reply:
        if model is self._second and estimated(request) > model.window:
            return reply_of(
                Failure(
                    "window",
                    "the request does not fit into the second model's window",
                    model.window,
                )
            )
        left = min(request.deadline - time.monotonic(), SECONDS)
        deadline = request.deadline if last else time.monotonic() + left / 2
        asked = replace(
            request,
            deadline=deadline,
            tries=min(TRIES, request.tries),
            pause_most=min(PAUSE_MOST, request.pause_most),
        )
        reply = model.chat(asked)
        if (
            model is self._first
            and reply.finish == "error"
            and reply.failure
            and reply.failure.kind not in ("window", "refused")
        ):
            self._rests_until = self._monotonic() + min(
                max(REST_SECONDS, reply.retry_after or 0.0), REST_MOST
            )
        return reply


def _together(failed: Reply, other: Reply) -> Reply:
    """The reply of the model that was asked second, which also tells why the one before it had
    failed.
    """
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
