"""The client of a model behind an OpenAI-compatible endpoint.

A request is tried at most three times within its deadline, with jittered backoff or the server's
own Retry-After, and no more often than the request allows: a turn counts all failed tries of a
message. A 4xx that trying again cannot help is not retried. A refused tool choice, whatever status
a gateway gives it, becomes "auto", and then none; a refused request with images is sent once
without them, and one whose model takes no tools while it reasons, without reasoning.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from email.utils import parsedate_to_datetime
from math import isfinite

import httpcore
import orjson

from functions.agent.conversation.prompt import PromptMessage
from functions.agent.model import completion_reader, failures
from functions.agent.model.base import Failure, FailureKind, ModelReply, ModelRequest
from functions.agent.model.billing import Billing
from functions.agent.model.reasoning_effort import (
    NONE,
    LearntEffort,
    ReasoningEffort,
    is_effort_refused,
)
from functions.agent.safety.retry import backoff_seconds
from functions.http_connection import LOOK_SECONDS, HttpAnswer, HttpConnections, Late, Stopped
from sigil.protocol import Json

ATTEMPTS = 3
REFUSALS = frozenset({400, 404, 422})
"""After one of these statuses something simpler is sent."""
BODY_BYTES = 8 << 20
REQUEST_SECONDS = 110.0
"""How long a request may take, all its tries together, unless the settings say otherwise."""
DAY = 86_400.0
CHOICE_MARKERS = (
    "tool_choice",
    "toolchoice",
    "does not support",
    'should be ["none", "auto"]',
    "incompatible with thinking",
)
"""The words of providers that refuse a forced tool choice (seed 002)."""
IMAGE_LEFT_OUT = "[an image was left out: the model does not take images]"


class _NoAnswer(Exception):
    """The endpoint could not be reached or did not answer in time."""

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        self.failure = Failure(kind, detail)


class ChatCompletions:
    """The client. `pause` waits a number of seconds between attempts.

    A request and its tries take at most `seconds`. `calls_in_prose`: see
    `completion_reader.find_written_calls`. `billing` says what the tokens cost, and `efforts` how
    much each model may reason beside tools.
    """

    def __init__(
        self,
        url: str,
        key: str,
        model: str,
        window: int,
        *,
        seconds: float = REQUEST_SECONDS,
        calls_in_prose: bool = False,
        billing: Billing | None = None,
        efforts: ReasoningEffort | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._connections: HttpConnections | None
        try:
            self._connections = HttpConnections(url.rstrip("/") + "/chat/completions")
        except ValueError:  # it cannot be an address: the first request says so
            self._connections = None
        self._headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if key:
            self._headers["authorization"] = f"Bearer {key}"
        self._key = key
        self._model = model
        self._window = window
        self._seconds = seconds
        self._calls_in_prose = calls_in_prose
        self._billing = billing or Billing()
        self._efforts = efforts or LearntEffort(url)
        self._pause = pause

    def close(self) -> None:
        """Close the connections."""
        if self._connections:
            self._connections.close()

    @property
    def name(self) -> str:
        return self._model

    @property
    def window(self) -> int:
        return self._window

    def chat(self, request: ModelRequest) -> ModelReply:
        """Return the endpoint's reply; see `Model.chat`."""
        deadline = min(request.deadline, time.monotonic() + self._seconds)
        model = request.model or self._model
        effort = self._efforts.find(model) if request.tools else ""
        request = replace(request, deadline=deadline, effort=effort)
        try:
            reply, answer = self._try_request(request)
            if reply.finish != "error" or answer is None or not _is_refused(request, answer):
                return reply
            for simpler in _list_simpler_requests(request, answer.body):
                failed = reply.tries
                if failed >= request.tries:
                    break
                reply, answer = self._try_request(replace(simpler, tries=request.tries - failed))
                reply = replace(reply, tries=reply.tries + failed)
                if simpler.effort != effort and reply.finish != "error":
                    self._efforts.keep(model, simpler.effort)
                if reply.finish != "error" or answer is None or not _is_refused(simpler, answer):
                    break
            return reply
        except Stopped:
            return ModelReply(finish="stopped")

    def _try_request(self, request: ModelRequest) -> tuple[ModelReply, HttpAnswer | None]:
        """Return the reply to one request, tried again while that may help.

        With it comes the answer that it was read from, None when trying again may still help.
        """
        fields: dict[str, Json] = {
            "model": request.model or self._model,
            "messages": request.messages,
        }
        if request.tools:
            fields["tools"] = request.tools
            if request.tool_choice is not None:
                fields["tool_choice"] = request.tool_choice
            if request.effort:
                fields["reasoning_effort"] = request.effort
        body = orjson.dumps(fields)
        failed = 0
        while True:
            answer: HttpAnswer | None = None
            try:
                answer = self._post_body(body, request)
            except _NoAnswer as problem:
                reply = failures.make_error_reply(problem.failure)
            else:
                reply = self._read_answer(answer, request)
                if reply.finish != "error":
                    return replace(reply, tries=failed), answer
            failed += 1
            reply = replace(reply, tries=failed)
            if answer and (not reply.transient or _is_refused(request, answer)):
                return reply, answer
            if failed >= min(ATTEMPTS, request.tries):
                return reply, None
            seconds = reply.retry_after
            if seconds is None:
                seconds = backoff_seconds(failed - 1)
            if not self._pause_before_retry(seconds, request):
                return reply, None

    def _pause_before_retry(self, seconds: float, request: ModelRequest) -> bool:
        """Pause before the next attempt, and return False when the request leaves no time for it.

        Raises `Stopped` when the request is told to stop.
        """
        if seconds > request.pause_most or time.monotonic() + seconds >= request.deadline:
            return False
        while seconds > 0:
            self._pause(min(seconds, LOOK_SECONDS))
            seconds -= LOOK_SECONDS
            if request.stopped():
                raise Stopped
        return True

    def _post_body(self, body: bytes, request: ModelRequest) -> HttpAnswer:
        if self._connections is None:
            raise _NoAnswer(
                "unreachable",
                "the model cannot be reached (its address is not an http or https URL)",
            )
        try:
            return self._connections.post(
                body, self._headers, BODY_BYTES, request.deadline, request.stopped
            )
        except (Late, httpcore.TimeoutException):
            raise _NoAnswer("late", "the model did not answer in time") from None
        except (
            httpcore.NetworkError,
            httpcore.ProtocolError,
            httpcore.ProxyError,
            httpcore.UnsupportedProtocol,
            OSError,
        ) as problem:
            reason = self._without_key(str(problem).encode()).decode() or type(problem).__name__
            raise _NoAnswer(
                "unreachable",
                failures.scrub_keys(
                    f"the model cannot be reached at {self._connections.host}: {reason}"
                ),
            ) from None

    def _read_answer(self, answer: HttpAnswer, request: ModelRequest) -> ModelReply:
        if answer.status != 200:
            seconds = _parse_retry_after(answer.headers.get("retry-after"))
            failure = failures.classify_failure(
                answer.status, self._without_key(answer.body), timed=bool(seconds)
            )
            return replace(failures.make_error_reply(failure), retry_after=seconds)
        reply = completion_reader.parse_completion(answer.body)
        billed = self._billing.bill(reply.usage, request.model or self._model)
        reply = replace(reply, usage=billed)
        if reply.failure:
            clean = completion_reader.parse_completion(self._without_key(answer.body))
            return replace(clean, usage=billed)
        written = completion_reader.find_written_calls(
            reply, request.messages, in_prose=self._calls_in_prose
        )
        if request.tools and written is not reply and request.may_write():
            return written
        return reply

    def _without_key(self, body: bytes) -> bytes:
        """Return an error's bytes without our key.

        It is taken out before anything cuts them: a part of the key would not be found any more.
        """
        return body.replace(self._key.encode(), b"***") if self._key else body


def _parse_retry_after(header: str | None) -> float | None:
    """Return the seconds of a Retry-After, which is a number or a date; None without one."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return min(max(seconds, 0.0), DAY) if isfinite(seconds) else None


def _is_refused(request: ModelRequest, answer: HttpAnswer) -> bool:
    """Return whether an error is about what was sent.

    Something simpler may help then, and the same again does not.
    """
    return answer.status in REFUSALS or _is_choice_refused(request, answer.body)


def _is_choice_refused(request: ModelRequest, body: bytes) -> bool:
    """Return whether an error is about the tool choice."""
    words = body.decode("utf-8", "replace").lower().replace('\\"', '"')
    return request.tool_choice is not None and any(marker in words for marker in CHOICE_MARKERS)


def _list_simpler_requests(request: ModelRequest, body: bytes) -> list[ModelRequest]:
    """Return the requests to send instead of a refused one, the first choice first."""
    simpler = []
    if request.tools and not request.effort and is_effort_refused(body):
        request = replace(request, effort=NONE)
        simpler.append(request)
    if _is_choice_refused(request, body):
        if request.tool_choice != "auto":
            simpler.append(replace(request, tool_choice="auto"))
        request = replace(request, tool_choice=None)
        simpler.append(request)
    plain: list[PromptMessage] = []
    for message in request.messages:
        content = message.get("content")
        if isinstance(content, list):
            texts = [part.get("text", "") for part in content if part.get("type") == "text"]
            plain.append({**message, "content": "\n".join([*texts, IMAGE_LEFT_OUT])})
        else:
            plain.append(message)
    if plain != list(request.messages):
        simpler.append(replace(request, messages=plain))
    return simpler
