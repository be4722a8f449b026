"""Failures of a model's endpoint, classified by its status and words, with a sentence for people.

An endpoint's own words name accounts, parts of keys, addresses inside a network and pages for
billing, so only owners read them; no chat and no history ever holds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from functions.agent.model.answer_json import parse_answer
from functions.agent.model.base import Failure, FailureKind, ModelReply
from functions.texts.en import TEXTS as ENGLISH
from sigil.errors import one_line
from sigil.json_fields import as_integer, as_mapping, as_sequence, as_string
from sigil.protocol import Json

DETAIL_CHARACTERS: Final = 200
READ_CHARACTERS: Final = 4_000
"""At most so many characters of an error are read."""
LEAST_WINDOW: Final = 1_000
"""Tokens; a smaller number is believed to be no window."""
MOST_WINDOW: Final = 100_000_000

PASSING: Final[frozenset[FailureKind]] = frozenset({"rate", "unreachable", "late", "empty", "down"})
"""These may pass by themselves: the same request may be answered later."""

_BASE_STATUSES: Final = {
    1000: 500,
    1001: 504,
    1002: 429,
    1004: 401,
    1008: 402,
    1013: 500,
    1026: 400,
    1027: 400,
    1039: 429,
    2013: 400,
    2049: 401,
}
"""MiniMax's own numbers, by the status that means the same."""
_NO_ENDPOINT: Final = (200, 404, 405)
"""With a page, the statuses of a server that has no model at this address."""
_WINDOW_WORDS: Final = (
    "context_length_exceeded",
    "context_window_exceeded",
    "contextwindowexceeded",
    "exceed_context_size",
    "tokens_limit_reached",
    "request_too_large",
    "maximum context length",
    "maximum context size",
    "maximum model length",
    "maximum prompt length",
    "max context length",
    "model's context length",
    "available context size",
    "exceeds the context length",
    "exceed context limit",
    "exceed context window",
    "exceeds the context window",
    "exceeds context window",
    "exceeds model context window",
    "context window exceeds limit",
    "context length of only",
    "greater than the context length",
    "context length exceeded",
    "context overflow",
    "prompt is too long",
    "prompt too long",
    "prompt exceeds max length",
    "input is too long",
    "input too long",
    "too many input tokens",
    "too many tokens: total number of tokens in the prompt",
    "input tokens exceed",
    "exceeds the maximum number of tokens",
    "range of input length should be",
    "exceeded model token limit",
    "exceeds token limit",
    "too large for model with",
    "`inputs` must have less than",
    "`inputs` tokens +",
    "request body too large for",
    "request too large for",
)
"""The words of endpoints for a request longer than their window, in lower case."""
_NUMBER: Final = r"(\d[\d,_]{0,14})"
_LIMITS: Final = tuple(
    re.compile(pattern.replace("N", _NUMBER), re.ASCII)
    for pattern in (
        r'"n_ctx"\s*:\s*N',
        r"(?:maximum|max) (?:context|prompt|model|input) (?:length|size)(?: is| of|:)?\s*\(?N",
        r"context length(?: is| of)?(?: only)?\s*\(?N",
        r"available context size \(N",
        r"context window(?: is| of)\s*N",
        r"> N(?: tokens)? maximum",
        r"exceed context limit: [\d,]+(?: \+ [\d,]+)? > N",
        r"maximum number of (?:input )?tokens(?: allowed)?[:(\s]+N",
        r"range of input length should be \[\d+, ?N\]",
        r"token limit(?: is| of|:)? ?N",
        r"with N maximum context length",
        r"must have less than N tokens",
        r"prompt cannot exceed N",
        r"must be <= N",
        r"max(?:imum)? size: N tokens",
        r"max input tokens: N",
        r"limit:? N, ?requested",
        r"configured limit of N",
    )
)
"""The places where they say how many tokens the window has."""
_REFUSED_WORDS: Final = (
    "content_filter",
    "content_policy",
    "content management policy",
    "data_inspection_failed",
    "datainspectionfailed",
    "inappropriate content",
    "responsible ai",
    "safety system",
    "usage policies",
)
_MONEY_WORDS: Final = (
    "insufficient_quota",
    "insufficient balance",
    "insufficient credit",
    "insufficient funds",
    "billing_hard_limit",
    "billing_not_active",
    "credit balance",
    "arrearage",
    "overdue-payment",
    "payment required",
    "check your plan and billing",
    "exceeded_current_quota",
    "more credits",
)
_MODEL_WORDS: Final = (
    "model_not_found",
    "model not found",
    "model_not_supported",
    "not a valid model",
    "no such model",
    "unknown model",
    "invalid model",
    "model_retired",
    "model_deprecated",
    "model_decommissioned",
    "no endpoints found for",
    "try pulling it first",
)
_MODEL_MISSING: Final = re.compile(
    r"models?\b.{0,120}?(?:not exist|not found|no longer (?:available|supported)|shut ?down"
    r"|been (?:deprecated|decommissioned|retired|removed))"
)
"""The words of endpoints for a model that they do not have, or have no more."""
_KEY_WORDS: Final = (
    "invalid_api_key",
    "incorrect api key",
    "invalid api key",
    "api key not valid",
    "authentication_error",
    "invalidapikey",
)
_LONG_CONTENT: Final = re.compile(
    r"content.{0,200}string_above_max_length|string_above_max_length.{0,200}content"
)
"""OpenAI says so of a message; of an id or a description it is no matter of the window."""
_SLIP: Final = "tool_use_failed"
"""The model wrote a call that its endpoint could not read (Groq); another try may pass."""
_KEYS = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|key|org|proj)[-_][A-Za-z0-9*_-]{6,}|(?i:\bbearer\s+)\S+|\bAIza[\w-]{10,}",
    re.ASCII,
)
"""Text that looks like a key or the id of an account."""


def make_error_reply(failure: Failure) -> ModelReply:
    """Return the reply that tells of a failure. Its text is for people."""
    return ModelReply(
        text=ENGLISH.model_failures[failure.kind],
        finish="error",
        transient=failure.kind in PASSING,
        failure=failure,
    )


def classify_failure(status: int, body: bytes, *, timed: bool = False) -> Failure:
    """Return the failure that an answer without a reply means.

    `timed` says that the answer tells when to try again, so what is used up comes back by itself.
    """
    detail = "the model sent no answer" if status == 200 else f"the model answered {status}"
    line = one_line(find_words(parse_answer(body)), DETAIL_CHARACTERS)
    detail = f"{detail}: {line}" if line else detail
    words = ""
    if body.lstrip()[:1] == b"<":  # a page may have any word
        if status in _NO_ENDPOINT:
            detail += ", but a web page: check the address of its endpoint"
    else:
        words = read_words(body)
    kind = _classify_words(status, words, timed)
    return Failure(kind, scrub_keys(detail), find_limit(words) if kind == "window" else 0)


def read_words(body: bytes) -> str:
    """Return the beginning of an error's body in lower case, the escapes of its JSON undone."""
    words = body[:READ_CHARACTERS].decode("utf-8", "replace").lower()
    for escaped, plain in (
        ("\\\\", "\\"),
        ('\\"', '"'),
        ("\\u003e", ">"),
        ("\\u003c", "<"),
        ("\\u0060", "`"),
    ):
        words = words.replace(escaped, plain)
    return words


def find_words(data: Json) -> str:
    """Return what an error's body says, in whichever of the known places it stands; empty for none.

    Gateways hand on the words of the endpoint behind them beside their own.
    """
    if isinstance(data, list):
        data = data[0] if data else None
    fields = as_mapping(data)
    error = fields.get("error", data)
    if isinstance(error, str):
        return error
    error = as_mapping(error)
    said = error.get("message", error.get("detail", error.get("status_msg")))
    if isinstance(said, str) and (raw := as_mapping(error.get("metadata")).get("raw")):
        inner = find_words(parse_answer(raw.encode())) if isinstance(raw, str) else ""
        return f"{said}: {inner or raw}"
    if isinstance(said, str):
        return said
    if "base_resp" in fields:
        return as_string(as_mapping(fields["base_resp"]).get("status_msg"))
    return "; ".join(_list_problems(said))


def _list_problems(said: Json) -> Iterator[str]:
    """Yield the sentences of a list of problems (pydantic's form), each with its place."""
    if isinstance(said, dict):
        said = said.get("detail", [said])
    for problem in as_sequence(said):
        fields = as_mapping(problem)
        place = ".".join(map(str, as_sequence(fields.get("loc"))))
        text = as_string(fields.get("msg", fields.get("message")))
        yield ": ".join(filter(None, (place, text)))


def find_status(data: Json) -> int:
    """Return the status that an answer with 200 has in its body, 0 when it has none."""
    fields = as_mapping(data)
    base = as_integer(as_mapping(fields.get("base_resp")).get("status_code"), 1)
    if base:
        return _BASE_STATUSES.get(base, 500)
    error = fields.get("error")
    code = as_mapping(error).get("code", as_mapping(error).get("http_code"))
    if isinstance(code, str) and code.isdigit():
        code = int(code)
    status = as_integer(code, 400) or 0
    return status if status < 600 else 0


def is_refusal(status: int, failure: Failure) -> bool:
    """Return whether a failure is about what was sent, and in a form that can be changed.

    Something simpler may help then, and the same again does not.
    """
    return failure.kind == "other" and 400 <= status < 500


def scrub_keys(detail: str) -> str:
    """Return an endpoint's words on one line, without what looks like a key."""
    return one_line(_KEYS.sub("***", detail), DETAIL_CHARACTERS + 60)


def tells_of_window(text: str) -> bool:
    """Return whether a text has words by which an endpoint says that a request is too long."""
    return _has_any(text.lower(), _WINDOW_WORDS)


def find_limit(words: str) -> int:
    """Return the window in tokens that an endpoint's words tell of, 0 when they tell of none."""
    for pattern in _LIMITS:
        found = pattern.search(words)
        if found:
            limit = int(found[1].replace(",", "").replace("_", "") or 0)
            if LEAST_WINDOW <= limit <= MOST_WINDOW:
                return limit
    return 0


def _classify_words(status: int, words: str, timed: bool) -> FailureKind:
    if _has_any(words, _WINDOW_WORDS) or _LONG_CONTENT.search(words):
        return "window"
    if _SLIP in words:
        return "empty"
    if _has_any(words, _REFUSED_WORDS):
        return "refused"
    if (status == 402 or _has_any(words, _MONEY_WORDS)) and not (timed and status == 429):
        return "money"
    if status in (401, 403) or (status in (200, 400) and _has_any(words, _KEY_WORDS)):
        return "key"
    if status == 429:
        return "rate"
    if status in (400, 404, 410, 422) and (
        _has_any(words, _MODEL_WORDS) or _MODEL_MISSING.search(words)
    ):
        return "model"
    if status in (408, 409, 425) or status >= 500:
        return "down"
    return "empty" if status == 200 else "other"


def _has_any(words: str, markers: tuple[str, ...]) -> bool:
    return any(marker in words for marker in markers)
