"""The client of a model behind an HTTP endpoint, in whichever dialect it wants.

A request is tried at most three times within its deadline, with jittered backoff or the server's
own Retry-After, and no more often than the request allows: a turn counts all failed tries of a
message. A 4xx that trying again cannot help is not retried. A request that is refused for what is
in it is sent again in another dialect, at most twice, and what the endpoint took is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

import httpcore
import orjson

from functions.agent.model import chat_wire, failures
from functions.agent.model.base import (
    IMAGES_LEFT_OUT,
    Failure,
    FailureKind,
    ModelReply,
    ModelRequest,
)
from functions.agent.model.billing import Billing
from functions.agent.model.dialect import STREAM, STREAM_OPTIONS, Dialect, Wire
from functions.agent.model.lessons import Lessons
from functions.agent.model.window import estimate_tokens
from functions.agent.safety.retry import backoff_seconds
from functions.http_connection import (
    LOOK_SECONDS,
    HttpAnswer,
    HttpConnections,
    Late,
    Stopped,
    Take,
)
from sigil.protocol import Json
from sigil.storage.evolve import evolve

if TYPE_CHECKING:  # few requests are refused, and not all are watched
    from functions.agent.model.refusals import Adaptation, Refusal
    from functions.agent.model.streamed_words import StreamedWords

ATTEMPTS = 3
EMPTY_ATTEMPTS = 2
"""An answer with nothing in it is asked for once more, and no more."""
HEADERS: Final = {"content-type": "application/json", "accept-encoding": "identity"}
_ERRORS: Final = frozenset({"error", "base_resp"})
"""The fields by which the body of an answer with 200 says that it is none."""
ADAPTATIONS_MOST = 32
"""At most so many dialects are looked at for one in which a request differs."""
BODY_BYTES = 8 << 20
REQUEST_SECONDS = 110.0
"""How long a request may take, all its tries together, unless the settings say otherwise."""
BROKEN_OFF: Final = Failure("unreachable", "the model broke off its answer")
"""A stream that ended as if it were whole, without what ends an answer."""
LARGE_TOKENS = 8_000.0
"""A refusal as too large, without words, is about the window from so many tokens on."""


class _NoAnswer(Exception):
    """The endpoint could not be reached or did not answer in time."""

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        self.failure = Failure(kind, detail)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What came of a request: the reply, and the refusal where it was refused for what is in it."""

    reply: ModelReply
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class _Route:
    """The way of one form of requests; without connections its address is none."""

    form: _WireForm
    connections: HttpConnections | None
    headers: Mapping[str, str]


class ModelClient:
    """The client. `pause` waits a number of seconds between attempts.

    A request and its tries take at most `seconds`. `calls_in_prose`: see
    `written_calls.find_written_calls`. `billing` says what the tokens cost, and `lessons` how the
    endpoint wants its requests. Unless it `streams`, no answer is asked for as a stream because
    somebody wants its words as they come. `images` says whether the model takes any; None lets its
    endpoint say so.
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
        lessons: Lessons | None = None,
        streams: bool = True,
        images: bool | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._url = url.rstrip("/")
        self._routes: dict[Wire, _Route] = {}
        self._key = key
        self._model = model
        self._window = window
        self._seconds = seconds
        self._calls_in_prose = calls_in_prose
        self._billing = billing or Billing()
        self._lessons = lessons or Lessons(url)
        self._streams = streams
        self._images = images
        self._pause = pause
        self._host = urlsplit(url).netloc.rpartition("@")[2]

    def close(self) -> None:
        """Close the connections."""
        for route in self._routes.values():
            if route.connections:
                route.connections.close()

    @property
    def name(self) -> str:
        return self._model

    @property
    def window(self) -> int:
        return self._window

    def list_lessons(self, model: str = "") -> list[str]:
        """See `Learner.list_lessons`."""
        learnt = self._lessons.list_learnt(model or self._model)
        if self._images is None:
            return learnt
        others = [each for each in learnt if each != IMAGES_LEFT_OUT]
        return others if self._images else [*others, IMAGES_LEFT_OUT]

    def forget_lessons(self, model: str = "") -> None:
        """See `Learner.forget_lessons`."""
        self._lessons.forget(model or self._model)

    def chat(self, request: ModelRequest) -> ModelReply:
        """Return the endpoint's reply; see `Model.chat`."""
        deadline = min(request.deadline, time.monotonic() + self._seconds)
        model = request.model or self._model
        request = evolve(request, deadline=deadline, model=model)
        if not self._streams:
            request = evolve(request, tell=None)
        dialect = self._lessons.find(model, request.chat)
        try:
            sent = self._write_body(request, dialect)
            attempt = self._try_request(request, dialect, sent)
            if attempt.refusal is None:
                return attempt.reply
            return self._adapt_request(request, dialect, sent, attempt)
        except Stopped:
            return ModelReply(finish="stopped")

    def _adapt_request(
        self, request: ModelRequest, dialect: Dialect, sent: bytes, attempt: _Attempt
    ) -> ModelReply:
        """Return the reply to a refused request, which is sent in other dialects while it is
        refused; `attempt` is what came of the body that was `sent`.
        """
        taught: list[str] = []
        is_guess = False
        refused: Failure | None = None
        failed = attempt.reply.tries
        while attempt.refusal and len(taught) < request.reduced:
            refused = attempt.reply.failure or refused
            adapted = self._find_adaptation(request, dialect, attempt.refusal, sent)
            if adapted is None:
                break
            dialect = adapted.dialect
            taught.append(adapted.lesson)
            is_guess = is_guess or adapted.is_guess
            sent = self._write_body(request, dialect)
            allowed = max(request.tries - failed, 1)
            attempt = self._try_request(evolve(request, tries=allowed), dialect, sent)
            failed += attempt.reply.tries
        reply = evolve(attempt.reply, tries=failed, reduced=len(taught))
        if not taught:
            return reply
        worked = reply.finish != "error"
        if worked and not is_guess:
            self._lessons.keep(request.model, dialect)
        elif worked or attempt.refusal:
            self._lessons.guess(request.model, request.chat, dialect, worked=worked)
        if worked and refused:
            detail = f"{'; '.join(taught)}, because {refused.detail}"
            reply = evolve(reply, failure=Failure("adapted", failures.scrub_keys(detail)))
        return reply

    def _find_adaptation(
        self, request: ModelRequest, dialect: Dialect, refusal: Refusal, sent: bytes
    ) -> Adaptation | None:
        """Return the next dialect in which a refused request differs from what was sent, None when
        there is none.
        """
        from functions.agent.model import refusals

        for _ in range(ADAPTATIONS_MOST):
            adaptation = refusals.adapt(dialect, refusal)
            if adaptation is None:
                break
            if self._write_body(request, adaptation.dialect) != sent:
                return adaptation
            dialect = adaptation.dialect
        return None

    def _write_body(self, request: ModelRequest, dialect: Dialect) -> bytes:
        route = self._routes.get(dialect.wire) or self._open_route(dialect.wire)
        if self._images is not None:
            dialect = evolve(dialect, without_images=not self._images)
        return orjson.dumps(route.form.write_request(request, dialect, self._host))

    def _try_request(self, request: ModelRequest, dialect: Dialect, body: bytes) -> _Attempt:
        """Return what came of one request, tried again while that may help.

        Where a stream broke off, the answer is asked for as a whole from then on.
        """
        route = self._routes.get(dialect.wire) or self._open_route(dialect.wire)
        words = _listen(request)
        most_empty = min(EMPTY_ATTEMPTS, request.tries)
        failed = 0
        while True:
            reply, refusal = self._try_once(request, route, body, words)
            if words and words.is_cut_off and not dialect.streams:
                reply = failures.make_error_reply(reply.failure or BROKEN_OFF)
            is_answer = reply.finish != "error"
            is_over = failed + 1 >= most_empty
            if is_answer and (reply.text or is_over or not _is_empty(reply, request)):
                if words:
                    words.settle(reply.text)
                return _Attempt(evolve(reply, tries=failed) if failed else reply)
            failed += 1
            reply = evolve(reply, tries=failed)
            if words:
                is_cut_off = words.is_cut_off
                words.take_back()
                if is_cut_off and not dialect.streams:
                    words = None
                    request = evolve(request, tell=None)
                    body = self._write_body(request, dialect)
                    self._note_broken_stream(request, dialect, reply)
            if refusal or (reply.finish == "error" and not reply.transient):
                return _Attempt(reply, refusal)
            is_nothing = reply.failure is None or reply.failure.kind == "empty"
            most = EMPTY_ATTEMPTS if is_nothing else ATTEMPTS
            if failed >= min(most, request.tries):
                return _Attempt(evolve(reply, transient=reply.transient and not is_nothing))
            seconds = reply.retry_after
            if seconds is None:
                seconds = backoff_seconds(failed - 1)
            if not self._pause_before_retry(seconds, request):
                return _Attempt(reply)

    def _try_once(
        self, request: ModelRequest, route: _Route, body: bytes, words: StreamedWords | None
    ) -> tuple[ModelReply, Refusal | None]:
        try:
            answer = self._post_body(body, request, route, words.take if words else None)
        except _NoAnswer as problem:
            return failures.make_error_reply(problem.failure), None
        return self._read_answer(answer, request, route.form)

    def _note_broken_stream(
        self, request: ModelRequest, dialect: Dialect, reply: ModelReply
    ) -> None:
        """Ask for whole answers in this chat for a while: for longer where the stream had no end
        than where the connection broke.
        """
        changed = evolve(dialect, without=(*dialect.without, STREAM, STREAM_OPTIONS))
        is_without_end = reply.failure == BROKEN_OFF
        self._lessons.guess(request.model, request.chat, changed, worked=is_without_end)

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

    def _open_route(self, wire: Wire) -> _Route:
        """Open the way to the address of a form of requests; of several threads, the first does."""
        form = _load_form(wire)
        connections = None
        with suppress(ValueError):  # it cannot be an address: the first request says so
            connections = HttpConnections(self._url + form.PATH)
        route = _Route(form, connections, {**HEADERS, **form.list_headers(self._key)})
        return self._routes.setdefault(wire, route)

    def _post_body(
        self, body: bytes, request: ModelRequest, route: _Route, take: Take | None
    ) -> HttpAnswer:
        connections = route.connections
        if connections is None:
            raise _NoAnswer(
                "unreachable",
                "the model cannot be reached (its address is not an http or https URL)",
            )
        try:
            return connections.post(
                body, route.headers, BODY_BYTES, request.deadline, request.stopped, take=take
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
                failures.scrub_keys(f"the model cannot be reached at {connections.host}: {reason}"),
            ) from None

    def _read_answer(
        self, answer: HttpAnswer, request: ModelRequest, form: _WireForm
    ) -> tuple[ModelReply, Refusal | None]:
        """Return the reply in an answer, and the refusal that it is where it is one."""
        status = answer.status
        data = None
        if status == 200:
            try:
                data = orjson.loads(answer.body)
            except orjson.JSONDecodeError:
                data = _read_odd_body(answer.body)
            if isinstance(data, dict) and not _ERRORS.isdisjoint(data):
                status = failures.find_status(data) or status
        if status != 200 or data is None:
            return self._read_failure(status, answer, request)
        reply = form.read_reply(data, [tool["function"]["name"] for tool in request.tools])
        billed = self._billing.bill(reply.usage, request.model)
        if reply.failure:
            clean = form.read_reply(_read_odd_body(self._without_key(answer.body)), ())
            from functions.agent.model import refusals

            refusal = refusals.Refusal(status, failures.read_words(answer.body), request)
            is_refused = refusals.is_about_choice(refusal)
            return evolve(clean, usage=billed), refusal if is_refused else None
        if reply.beside:
            beside = evolve(reply.beside, endpoint=self._host, model=request.model)
            reply = evolve(reply, beside=beside)
        reply = evolve(reply, usage=billed)
        if reply.calls or not ("{" in reply.text or "<" in reply.text):
            return reply, None
        return self._read_text(reply, request), None

    def _read_text(self, reply: ModelReply, request: ModelRequest) -> ModelReply:
        """Return the reply with the calls in its text, or without them where they do not count."""
        from functions.agent.model import written_calls  # few answers look as if they had calls

        written = written_calls.find_written_calls(
            reply,
            request.messages,
            in_prose=self._calls_in_prose,
            offered=[tool["function"]["name"] for tool in request.tools],
        )
        if not request.tools:
            return reply
        if written is not reply and request.may_write():
            return written
        return written_calls.hide_written_calls(reply, request.messages)

    def _read_failure(
        self, status: int, answer: HttpAnswer, request: ModelRequest
    ) -> tuple[ModelReply, Refusal | None]:
        from functions.agent.model import rate_limits, refusals

        body = self._without_key(answer.body)
        seconds = rate_limits.find_wait(status, answer.headers, body)
        failure = failures.classify_failure(status, body, timed=bool(seconds))
        if status == 413 and failure.kind == "other" and estimate_tokens(request) >= LARGE_TOKENS:
            failure = evolve(failure, kind="window")
        refusal = refusals.Refusal(status, failures.read_words(body), request)
        is_refused = failures.is_refusal(status, failure) or refusals.is_about_choice(refusal)
        reply = evolve(failures.make_error_reply(failure), retry_after=seconds)
        return reply, refusal if is_refused else None

    def _without_key(self, body: bytes) -> bytes:
        """Return an error's bytes without our key.

        It is taken out before anything cuts them: a part of the key would not be found any more.
        """
        return body.replace(self._key.encode(), b"***") if self._key else body


def _listen(request: ModelRequest) -> StreamedWords | None:
    """Return what tells the words of an answer, None when nobody wants them."""
    if request.tell is None:
        return None
    from functions.agent.model.streamed_words import StreamedWords

    return StreamedWords(request.tell)


def _is_empty(reply: ModelReply, request: ModelRequest) -> bool:
    """Return whether a reply has nothing in it; whoever demands a call looks at that alone."""
    if reply.text or reply.calls or reply.finish != "stop":
        return False
    return not isinstance(request.tool_choice, dict)


class _WireForm(Protocol):
    """A module for one form of requests and replies."""

    PATH: str

    def list_headers(self, key: str) -> Mapping[str, str]:
        """Return the headers that a request has beside those of its body; `key` may be empty."""

    def write_request(
        self, request: ModelRequest, dialect: Dialect, endpoint: str
    ) -> dict[str, Json]:
        """Return the body of a request."""

    def read_reply(self, data: Json, offered: Sequence[str]) -> ModelReply:
        """Return the reply in the body of an answer."""


def _read_odd_body(body: bytes) -> Json:
    """Return the answer in a body that is no JSON as it stands, None when it is none."""
    from functions.agent.model import event_stream

    return event_stream.read_body(body)


def _load_form(wire: Wire) -> _WireForm:
    """Return the module for a form; most endpoints take chat completions alone."""
    if wire == "responses":
        from functions.agent.model import responses_wire

        return responses_wire
    if wire == "messages":
        from functions.agent.model import messages_wire

        return messages_wire
    return chat_wire
