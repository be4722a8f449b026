"""Scrubbing takes secrets out of what a server sends.

The text is read as every reader of it would read it, and what reads as a secret's value is taken
out. Nothing here looks for the forms that a value may have: escapes are undone in the text, layer
by layer, and the value is looked for in what they mean. So it takes time in proportion to the text,
whatever a hostile server or value is made of.
"""

from __future__ import annotations

import base64
import html
import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from html.entities import html5
from itertools import accumulate
from typing import NamedTuple

Values = Mapping[str, str]

LAYERS = 3
"""A text may be escaped so many times over."""
_TOKEN = re.compile(
    rb"("
    rb"\\u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}"
    rb"|\\u[0-9A-Fa-f]{4}"
    rb"|\\u\{[0-9A-Fa-f]{1,6}\}"
    rb"|\\x[0-9A-Fa-f]{2}"
    rb"|\\[\"'\\/bfnrt]"
    rb"|%[0-9A-Fa-f]{2}"
    rb"|%u[0-9A-Fa-f]{4}"
    rb"|&#[0-9]{1,9};"
    rb"|&#[Xx][0-9A-Fa-f]{1,8};"
    rb"|&[A-Za-z][A-Za-z0-9]{1,31};"
    rb")"
)
"""An escape of JSON and JavaScript, of URLs, or of HTML."""
_BLANK = b"\t\n\r "
_BLANKS = re.compile(rb"([\t\n\r ]+)")
_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_BEFORE = tuple(b"% %0 %u %u0 %u00 %u000 \\ \\u \\u0 \\u00 \\u000 \\u{ \\x \\x0 & &# &#x".split())
"""Texts that may come before a value and make its first bytes the end of an escape."""
_AFTER = tuple(b"0 00 000 0000 } n x00 u0000 ; #0; p; ; mp; amp;".split())
"""Texts that may come after a value and make its last bytes the beginning of an escape."""
_PAIR = len(rb"\ud83d\ude00")
_CORE = 6
"""A part of a value that has so many bytes counts as all of it."""


class _Needles(NamedTuple):
    """The bytes to look for of one value.

    `plain` are looked for in the text in lower case, `wrapped` in the text without blanks, and
    `folded` in that one in lower case.
    """

    plain: tuple[bytes, ...]
    wrapped: tuple[bytes, ...]
    folded: tuple[bytes, ...]


class _Layer(NamedTuple):
    """A reading of a text.

    `pieces` are those of the layer below, every second of them a token; `meanings` are what they
    mean in this layer.
    """

    text: bytes
    pieces: Sequence[bytes] = ()
    meanings: Sequence[bytes] = ()


class _Span(NamedTuple):
    start: int
    end: int
    name: str


def scrub(body: bytes, values: Values) -> bytes:
    """Return `body` with `{{NAME}}` in place of each of `values`.

    A value is found as it is, in UTF-8, UTF-16 and Latin-1, in hexadecimal and in base64 at any
    offset, in lines or not, each of them with any of its characters escaped as in JSON, JavaScript,
    a URL, a form or HTML, up to `LAYERS` times over; and in other letters than its own, all
    capitals or all small. Base64 of such a one is not found.
    """
    if not values or len(body) < _CORE:
        return body
    needles = [(name, _make_needles(value)) for name, value in values.items()]
    spans: list[_Span] = []
    for layer in reversed(_read_layers(body)):
        found = _find_values(layer.text, needles)
        spans = _map_to_layer_below(layer, spans + found)
    if not spans:
        return body
    parts: list[bytes] = []
    done = 0
    for start, end, name in sorted(spans, key=lambda span: (span.start, -span.end)):
        if start >= done:
            parts.append(body[done:start])
            parts.append(b"{{%b}}" % name.encode("ascii"))
        done = max(done, end)
    parts.append(body[done:])
    return b"".join(parts)


def scrub_text(text: str, values: Values) -> str:
    """Return `text`, scrubbed like `scrub`."""
    if not values:
        return text
    body = scrub(text.encode("utf-8", "surrogatepass"), values)
    return body.decode("utf-8", "surrogatepass")


def scrub_field(text: str, values: Values) -> str:
    """Return a header's value, or the words beside a status, scrubbed as the bytes that came.

    Each of its characters was one byte.
    """
    try:
        body = text.encode("latin-1")
    except UnicodeEncodeError:
        return scrub_text(text, values)
    return scrub(body, values).decode("latin-1")


def scrub_name(text: str, values: Values) -> str:
    """Return a header's name, which is read in lower case, scrubbed."""
    return scrub_field(text, {name: value.lower() for name, value in values.items()})


def _read_layers(text: bytes) -> list[_Layer]:
    """Return the text, and what it means when its escapes are undone once, twice, …"""
    layers = [_Layer(text)]
    meanings = _Meanings()
    while len(layers) <= LAYERS:
        below = layers[-1].text
        if not any(sign in below for sign in (b"\\", b"%", b"&")):
            break
        upper = _read_tokens(below, _TOKEN, meanings)
        if not upper.meanings:
            break
        layers.append(upper)
    return layers


def _read_tokens(text: bytes, token: re.Pattern[bytes], known: Mapping[bytes, bytes]) -> _Layer:
    """Return the layer in which every token of the text is replaced by its meaning."""
    pieces = token.split(text)
    if len(pieces) == 1:
        return _Layer(text)
    meanings = pieces.copy()
    meanings[1::2] = map(known.__getitem__, pieces[1::2])
    return _Layer(b"".join(meanings), pieces, meanings)


class _Meanings(dict[bytes, bytes]):
    """The meaning of each escape, found out at its first use."""

    def __missing__(self, token: bytes) -> bytes:
        meaning = _decode_escape(token)
        self[token] = meaning
        return meaning


class _NoBlanks(dict[bytes, bytes]):
    """The meaning of every blank: nothing."""

    def __missing__(self, token: bytes) -> bytes:
        return b""


def _decode_escape(token: bytes) -> bytes:
    """Return the bytes that an escape means; the escape itself when it means none."""
    kind = token[:1]
    rest = token[1:].decode("ascii")
    if kind == b"&":
        if rest[0] == "#" or rest in html5:
            return html.unescape(f"&{rest}").encode("utf-8", "replace")
        return token
    if kind == b"%" and rest[0] != "u":
        return bytes.fromhex(rest)
    if rest[0] == "x":
        return bytes.fromhex(rest[1:])
    if len(token) == _PAIR:
        return bytes.fromhex(rest.replace("\\", "").replace("u", "")).decode("utf-16-be").encode()
    if len(rest) == 1:
        return _LETTERS.get(token[1:], token[1:])
    number = int(rest[1:].strip("{}"), 16)
    if number > sys.maxunicode:
        return token
    return chr(number).encode("utf-8", "surrogatepass")


def _find_values(text: bytes, needles: Sequence[tuple[str, _Needles]]) -> list[_Span]:
    """Return the spans of values in the text of one layer."""
    lower = text.lower()  # bytes keep their length
    dense = text.translate(None, _BLANK)
    folded = dense.lower()
    spans: list[_Span] = []
    wrapped: list[_Span] = []
    for name, needle in needles:
        spans.extend(_find_all(lower, needle.plain, name))
        wrapped.extend(_find_all(dense, needle.wrapped, name))
        wrapped.extend(_find_all(folded, needle.folded, name))
    if wrapped:
        layer = _read_tokens(text, _BLANKS, _NoBlanks())
        spans.extend(_map_to_layer_below(layer, wrapped))
    return spans


def _find_all(text: bytes, needles: Iterable[bytes], name: str) -> Iterator[_Span]:
    for needle in needles:
        start = text.find(needle)
        while start >= 0:
            yield _Span(start, start + len(needle), name)
            start = text.find(needle, start + len(needle))


def _map_to_layer_below(layer: _Layer, spans: list[_Span]) -> list[_Span]:
    """Return the spans of a layer in offsets of the one below; a token is taken whole."""
    if not spans or not layer.meanings:
        return spans
    lows = [0, *accumulate(map(len, layer.pieces))]
    highs = [0, *accumulate(map(len, layer.meanings))]

    def map_start(offset: int) -> int:
        number = bisect_right(highs, offset) - 1
        if number % 2:
            return lows[number]
        return lows[number] + offset - highs[number]

    def map_end(offset: int) -> int:
        number = bisect_right(highs, offset - 1) - 1
        if number % 2:
            return lows[number + 1]
        return lows[number] + offset - highs[number]

    return [_Span(map_start(start), map_end(end), name) for start, end, name in spans]


@lru_cache(maxsize=256)
def _make_needles(value: str) -> _Needles:
    """Return what to look for of a value, in every form that it may have."""
    plain = value.encode()
    readings = {plain, value.upper().encode(), value.lower().encode()}
    for core in _cut_cores(plain):
        for layer in _read_layers(core):
            if len(layer.text) >= _CORE:
                readings.add(layer.text)
    readings |= {text.replace(b" ", b"+") for text in readings}
    readings.add(value.encode("utf-16-le"))
    readings.add(value.encode("utf-16-be"))
    if all(character <= "\xff" for character in value):
        readings.add(value.encode("latin-1", "ignore"))
    in_base64: set[bytes] = set()
    for offset in range(3):
        # In any longer text, these characters depend on the value alone.
        text = base64.b64encode(b"\0" * offset + plain)
        inner = text[(0, 2, 3)[offset] : (offset + len(plain)) * 8 // 6]
        in_base64.add(inner)
        in_base64.add(inner.translate(bytes.maketrans(b"+/", b"-_")))
    return _Needles(
        tuple(sorted({text.lower() for text in readings})),
        tuple(sorted(in_base64)),
        (plain.hex().encode(),),
    )


def _cut_cores(plain: bytes) -> set[bytes]:
    """Return what is left of a value when its ends are read as parts of escapes.

    The text beside the value decides that.
    """
    starts = {0}
    for before in _BEFORE:
        token = _TOKEN.match(before + plain)
        if token:
            starts.add(max(token.end() - len(before), 0))
    ends = {len(plain)}
    for after in _AFTER:
        for token in _TOKEN.finditer(plain + after):
            if token.start() < len(plain) < token.end():
                ends.add(token.start())
    return {plain[start:end] for start in starts for end in ends}
