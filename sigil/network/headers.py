"""Header fields both ways: which ones a capability may send, and which ones of an answer it gets to
see.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NoReturn

from sigil.errors import Refused, ToolError, one_line
from sigil.protocol import Json

Headers = tuple[tuple[str, str], ...]

FIELDS_MOST = 64
CHARACTERS_MOST = 16_384
"""Of all names and values of a request, and of an answer, together."""

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}", re.ASCII)
_SIGN = re.compile(r"[^a-z0-9]", re.ASCII)
_VALUE = re.compile(r"[\t\x20-\x7e]*", re.ASCII)
_HOP = frozenset(
    "connection keep-alive te trailer trailers transfer-encoding upgrade proxy-connection".split()
)
_OURS = _HOP | frozenset(
    "host content-length expect cookie cookie2 date dnt via origin referer forwarded".split()
)
"""What the host itself decides (the fetch standard's forbidden names), and what would speak for
somebody else.
"""
_OTHERWISE = frozenset(
    "x-http-method x-http-method-override x-method-override x-original-method".split()
)
_OTHERWHERE = frozenset("x-original-url x-original-uri x-rewrite-url x-original-path".split())
"""What makes frameworks and proxies take a request for one of another method, or for another path,
than was granted.
"""
_ELSEWHERE = frozenset(
    "x-host x-original-host x-http-host-override x-backend-host x-server-name".split()
)
_SOMEBODY = frozenset(
    "true-client-ip x-client-ip client-ip x-cluster-client-ip x-originating-ip x-remote-ip"
    " x-remote-addr".split()
)
_REFUSED = _OURS | _OTHERWISE | _OTHERWHERE | _ELSEWHERE | _SOMEBODY
_PREFIXES = ("proxy-", "sec-", "x-forwarded", "x-original-forwarded", "x-real-ip", "x-sigil-")
_CARRIERS = ("x-envoy-", "x-accel-", "cf-connecting-", "fastly-client-")
"""What proxies tell the servers behind them."""
_DROPPED = frozenset(("accept-encoding",))
"""Answers come as they are: a compressed one could hide a secret's value from the scrubbing."""
_UNSEEN = _HOP | frozenset(
    (
        *("set-cookie", "set-cookie2", "content-length", "content-encoding"),
        *("proxy-authenticate", "proxy-authorization"),
    )
)
_BODY = frozenset("content-type content-encoding content-language content-location".split())
CREDENTIALS = frozenset(("authorization", "cookie"))


def check_outgoing(given: Json) -> Headers:
    """The header fields of a guest's request, names in lower case; what a guest may not set is
    EPERM, what is none EINVAL.
    """
    if not isinstance(given, list) or len(given) > FIELDS_MOST:
        _wrong(f"headers are at most {FIELDS_MOST} pairs of a name and a value")
    kept = tuple(field for field in map(_field, given) if normalize_name(field[0]) not in _DROPPED)
    if sum(len(name) + len(value) for name, value in kept) > CHARACTERS_MOST:
        _wrong(f"headers have at most {CHARACTERS_MOST:,} characters together")
    return kept


def normalize_name(name: str) -> str:
    """The name as a server may read it: where fields become variables, `transfer_encoding` and
    `transfer-encoding` are one.
    """
    return _SIGN.sub("-", name)


def read_incoming(given: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The fields of an answer that a guest sees, names in lower case: no cookies, nothing about the
    connection.
    """
    fields = ((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in given)
    kept: list[tuple[str, str]] = []
    room = CHARACTERS_MOST
    for name, value in fields:
        room -= len(name) + len(value)
        if name not in _UNSEEN and room >= 0:
            kept.append((name, value))
    return tuple(kept)


def drop_body_headers(headers: Headers) -> Headers:
    """Without what describes a body, for a redirect that drops it."""
    return tuple(field for field in headers if field[0] not in _BODY)


def _field(pair: Json) -> tuple[str, str]:
    if (
        not isinstance(pair, list)
        or len(pair) != 2
        or not all(isinstance(part, str) for part in pair)
    ):
        _wrong("a header is a pair of a name and a value")
    name, value = pair[0].lower(), pair[1].strip(" \t")
    if not _NAME.fullmatch(name):
        _wrong(f"not a header's name: {one_line(name, 40)!r}")
    if not _VALUE.fullmatch(value):
        _wrong(f"the header {name} holds more than visible ASCII")
    if normalize_name(name) in _REFUSED or normalize_name(name).startswith(_PREFIXES + _CARRIERS):
        raise Refused("EPERM", f"the header {name} is the host's to set")
    return name, value


def _wrong(why: str) -> NoReturn:
    raise ToolError("EINVAL", why, source="http")
