"""Filter header fields: those that a capability may send, and those of an answer that it sees."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sigil.errors import Refused, ToolError, one_line
from sigil.protocol import Json

Headers = tuple[tuple[str, str], ...]

FIELDS_MOST = 64
CHARACTERS_MOST = 16_384
"""The most of all names and values of a request together, and of an answer."""

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}", re.ASCII)
_SIGN = re.compile(r"[^a-z0-9]", re.ASCII)
_VALUE = re.compile(r"[\t\x20-\x7e]*", re.ASCII)
_HOP = frozenset(
    "connection keep-alive te trailer trailers transfer-encoding upgrade proxy-connection".split()
)
_OURS = _HOP | frozenset(
    "host content-length expect cookie cookie2 date dnt via origin referer forwarded".split()
)
"""The fields that the host itself decides (the fetch standard's forbidden names), and those that
would speak for another sender.
"""
_OTHER_METHOD = frozenset(
    "x-http-method x-http-method-override x-method-override x-original-method".split()
)
_OTHER_PATH = frozenset("x-original-url x-original-uri x-rewrite-url x-original-path".split())
"""The fields by which frameworks and proxies take a request for one of another method, or for
another path, than was granted.
"""
_OTHER_HOST = frozenset(
    "x-host x-original-host x-http-host-override x-backend-host x-server-name".split()
)
_CLIENT_ADDRESS = frozenset(
    "true-client-ip x-client-ip client-ip x-cluster-client-ip x-originating-ip x-remote-ip"
    " x-remote-addr".split()
)
_REFUSED = _OURS | _OTHER_METHOD | _OTHER_PATH | _OTHER_HOST | _CLIENT_ADDRESS
_PREFIXES = ("proxy-", "sec-", "x-forwarded", "x-original-forwarded", "x-real-ip", "x-sigil-")
_CARRIERS = ("x-envoy-", "x-accel-", "cf-connecting-", "fastly-client-")
"""The fields that proxies send to the servers behind them."""
_DROPPED = frozenset(("accept-encoding",))
"""Answers come as they are: a compressed one could hide a secret's value from the scrubbing."""
_HIDDEN = _HOP | frozenset(
    (
        *("set-cookie", "set-cookie2", "content-length", "content-encoding"),
        *("proxy-authenticate", "proxy-authorization"),
    )
)
_BODY = frozenset("content-type content-encoding content-language content-location".split())
CREDENTIALS = frozenset(("authorization", "cookie"))


def check_outgoing(pairs: Json) -> Headers:
    """Return the header fields of a capability's request, names in lower case.

    `Refused` EPERM for a field that it may not set, `ToolError` EINVAL for what is no field.
    """
    if not isinstance(pairs, list) or len(pairs) > FIELDS_MOST:
        raise _make_invalid(f"headers are at most {FIELDS_MOST} pairs of a name and a value")
    fields: list[tuple[str, str]] = []
    for pair in pairs:
        is_pair = isinstance(pair, list) and len(pair) == 2
        if not is_pair or not all(isinstance(part, str) for part in pair):
            raise _make_invalid("a header is a pair of a name and a value")
        name = pair[0].lower()
        value = pair[1].strip(" \t")
        if not _NAME.fullmatch(name):
            raise _make_invalid(f"not a header's name: {one_line(name, 40)!r}")
        if not _VALUE.fullmatch(value):
            raise _make_invalid(f"the header {name} holds more than visible ASCII")
        plain_name = normalize_name(name)
        if plain_name in _REFUSED or plain_name.startswith(_PREFIXES + _CARRIERS):
            raise Refused("EPERM", f"the header {name} is set by the host alone")
        if plain_name not in _DROPPED:
            fields.append((name, value))
    if sum(len(name) + len(value) for name, value in fields) > CHARACTERS_MOST:
        raise _make_invalid(f"headers have at most {CHARACTERS_MOST:,} characters together")
    return tuple(fields)


def normalize_name(name: str) -> str:
    """Return the name as a server may read it: where fields become variables, `transfer_encoding`
    and `transfer-encoding` are one.
    """
    return _SIGN.sub("-", name)


def read_incoming(pairs: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return the fields of an answer that a capability sees, names in lower case: no cookies,
    nothing about the connection.
    """
    fields: list[tuple[str, str]] = []
    characters_left = CHARACTERS_MOST
    for raw_name, raw_value in pairs:
        name = raw_name.decode("latin-1").lower()
        value = raw_value.decode("latin-1")
        characters_left -= len(name) + len(value)
        if name not in _HIDDEN and characters_left >= 0:
            fields.append((name, value))
    return tuple(fields)


def drop_body_headers(headers: Headers) -> Headers:
    """Return the fields without those that describe a body, for a redirect that drops it."""
    return tuple(field for field in headers if field[0] not in _BODY)


def _make_invalid(message: str) -> ToolError:
    return ToolError("EINVAL", message, source="http")
