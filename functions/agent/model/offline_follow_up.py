"""Follow-ups such as `and 20 %?`: they mean the request before them, with one value changed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from functions.agent.model.offline_units import find_conversion, names_unit

_AGAIN = re.compile(
    r"(?:and|und|what about|how about|was ist mit|wie(?: wäre| ist)? es mit|那么?|再来)\s*"
    r"(?:for |with |bei |mit |für |of |von )?(?P<value>.{1,30}?)\s*[呢吗]?[\s?？!！.。]*",
    re.IGNORECASE,
)
_FIGURE = r"[-−]?\d+(?:[.,]\d+)*"
_PERCENT = rf"{_FIGURE}\s*(?:%|％|per ?cent\b|prozent\b)"
_KINDS = (
    re.compile(_PERCENT, re.IGNORECASE),
    re.compile(
        r"(?<![a-z0-9])(?:md5|sha-?(?:1|256|384|512)|crc-?(?:8|16|32|64)|adler-?32)(?![a-z0-9])",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<![\w.,%])(?<!base )(?<!sha-){_FIGURE}(?![\w%％]|[.,]\d|\s*(?:%|per ?cent|prozent))"
    ),
)
"""What a follow-up may change: a percentage, the name of an algorithm, or a number."""
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|「[^」]*」|`[^`]*`")


def complete_request(words: str, earlier: Sequence[str]) -> str:
    """Return the whole request that a follow-up means; the words where they are none.

    `earlier` are the person's messages before it, the newest first.
    """
    if not is_follow_up(words):
        return words
    before: list[str] = []
    for each in earlier:
        before.append(each)
        if not is_follow_up(each):
            break
    whole = ""
    for each in reversed(before):
        whole = _change_value(whole, each) if is_follow_up(each) else each
    return _change_value(whole, words) or words


def is_follow_up(words: str) -> bool:
    """Return whether words give one value for the request before them, and nothing else."""
    value = _find_value(words)
    return bool(value) and (
        any(kind.fullmatch(value) for kind in _KINDS) or bool(_find_unit(value))
    )


def _find_value(words: str) -> str:
    found = _AGAIN.fullmatch(words.strip())
    return found["value"] if found else ""


def _find_unit(value: str) -> str:
    """Return the unit of `in miles`; empty for anything else."""
    found = re.fullmatch(r"(?:in|to|nach)\s+(\S.*)", value, re.IGNORECASE)
    return found[1] if found and names_unit(found[1]) else ""


def _change_value(request: str, words: str) -> str:
    """Return a request with the value of a follow-up; empty where it may be in several places."""
    value = _find_value(words)
    unit = _find_unit(value)
    if unit:
        conversion = find_conversion(request)
        head, wanted, tail = request.rpartition(conversion.wanted if conversion else "\0")
        return f"{head}{unit}{tail}" if wanted else ""
    for kind in _KINDS:
        if kind.fullmatch(value):
            places = [*kind.finditer(_QUOTED.sub(_blank, request))]
            if len(places) != 1:
                return ""
            return request[: places[0].start()] + value + request[places[0].end() :]
    return ""


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])
