"""How long an endpoint asks to wait before the next request."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Final

from functions.agent.model.answer_json import parse_answer
from sigil.json_fields import as_mapping, as_sequence
from sigil.protocol import Json

DAY: Final = 86_400.0
_RESETS: Final = ("x-ratelimit-reset-tokens", "x-ratelimit-reset-requests")
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": DAY}


def find_wait(status: int, headers: Mapping[str, str], body: bytes) -> float | None:
    """Return the seconds that an answer asks to wait, at most a day; None when it asks for none.

    They stand in Retry-After, in OpenAI's `retry-after-ms`, for Google in `retryDelay` of the
    body's `RetryInfo`, and behind a 429 in `x-ratelimit-reset-*`.
    """
    milliseconds = _read_number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return _bound(milliseconds / 1000)
    header = headers.get("retry-after")
    if header:
        return _parse_retry_after(header)
    if status not in (429, 503):
        return None
    delay = _find_retry_delay(parse_answer(body))
    if delay is not None:
        return _bound(delay)
    resets = [_parse_span(headers.get(name, "")) for name in _RESETS]
    known = [seconds for seconds in resets if seconds is not None]
    return _bound(max(known)) if known and status == 429 else None


def _parse_retry_after(header: str) -> float | None:
    """Return the seconds of a Retry-After, which is a number or a date."""
    seconds = _read_number(header)
    if seconds is None:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return _bound(seconds)


def _find_retry_delay(data: Json) -> float | None:
    error = as_mapping(data[0] if isinstance(data, list) and data else data).get("error")
    for detail in as_sequence(as_mapping(error).get("details")):
        delay = as_mapping(detail).get("retryDelay")
        if isinstance(delay, str):
            return _parse_span(delay)
    return None


def _parse_span(text: str) -> float | None:
    """Return the seconds of a span like `2m59.56s`; None for any other text."""
    parts = _PART.findall(text)
    if not parts or "".join(map("".join, parts)) != text:
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def _read_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _bound(seconds: float) -> float | None:
    return min(max(seconds, 0.0), DAY) if isfinite(seconds) else None
