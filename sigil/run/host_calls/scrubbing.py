"""Secrets out of what a server says: the text is read as every reader of it would read it, and what
reads as a value is taken out.

Nothing here looks for the forms that a value may have: escapes are undone in the text, layer by
layer, and the value is looked for in what they mean. So it takes time in proportion to the text,
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
"""How often a text may be escaped over again."""
_TOKEN = re.compile(
    rb"(\\u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\u\{[0-9A-Fa-f]{1,6}\}|\\x[0-9A-Fa-f]{2}"
    rb"|\\[\"'\\/bfnrt]|%[0-9A-Fa-f]{2}|%u[0-9A-Fa-f]{4}|&#[0-9]{1,9};|&#[Xx][0-9A-Fa-f]{1,8};|&[A-Za-z][A-Za-z0-9]{1,31};)"
)
_BLANKS, _BLANK = re.compile(rb"([\t\n\r ]+)"), b"\t\n\r "
_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_BEGUN = tuple(b"% %0 %u %u0 %u00 %u000 \\ \\u \\u0 \\u00 \\u000 \\u{ \\x \\x0 & &# &#x".split())
"""What may stand before a value, so that an escape is read that begins before it."""
_ENDED = tuple(b"0 00 000 0000 } n x00 u0000 ; #0; p; ; mp; amp;".split())
"""What may stand after one, so that an escape is read that ends after it."""
_PAIR = len(rb"\ud83d\ude00")
_CORE = 6
"""Bytes of a part of a value that stand for all of it."""


class _Needles(NamedTuple):
    """What is looked for: `plain` in lower case, `wrapped` where blanks are left out, `folded`
    there in lower case.
    """

    plain: tuple[bytes, ...]
    wrapped: tuple[bytes, ...]
    folded: tuple[bytes, ...]


class _Layer(NamedTuple):
    """A reading of a text: `pieces` of the one below, every second of them a token, mean `read`."""

    text: bytes
    pieces: Sequence[bytes] = ()
    read: Sequence[bytes] = ()


class _Span(NamedTuple):
    start: int
    end: int
    name: str


def scrub(body: bytes, values: Values) -> bytes:
    """`body` with `{{NAME}}` for each of `values`.

    Found are the value itself, in UTF-8, UTF-16 and Latin-1, in hexadecimal and in base64 at any
    offset, in lines or not, each of them with any of its characters escaped as in JSON, JavaScript,
    a URL, a form or HTML, up to `LAYERS` times over; and in other letters than its own, all
    capitals or all small. Base64 of such a one is not found.
    """
    if not values or len(body) < _CORE:
        return body
    wanted = [(name, _needles(value)) for name, value in values.items()]
    spans: list[_Span] = []
    for layer in reversed(_layers(body)):
        spans = _below(layer, [*spans, *_found(layer.text, wanted)])
    return _marked(body, spans) if spans else body


def scrub_text(text: str, values: Values) -> str:
    """`text`, scrubbed like `scrub`."""
    return (
        scrub(text.encode("utf-8", "surrogatepass"), values).decode("utf-8", "surrogatepass")
        if values
        else text
    )


def scrub_field(text: str, values: Values) -> str:
    """A header's value, or the words beside a status, scrubbed as the bytes that they came as: each
    character is one.
    """
    try:
        body = text.encode("latin-1")
    except UnicodeEncodeError:
        return scrub_text(text, values)
    return scrub(body, values).decode("latin-1")


def scrub_name(text: str, values: Values) -> str:
    """A header's name, which is read in lower case."""
    return scrub_field(text, {name: value.lower() for name, value in values.items()})


def _marked(body: bytes, spans: Iterable[_Span]) -> bytes:
    parts: list[bytes] = []
    done = 0
    for start, end, name in sorted(spans, key=lambda span: (span.start, -span.end)):
        if start >= done:
            parts += body[done:start], b"{{%b}}" % name.encode("ascii")
        done = max(done, end)
    return b"".join((*parts, body[done:]))


def _layers(text: bytes) -> list[_Layer]:
    """The text, and what it means when its escapes are undone once, twice, …"""
    layers = [_Layer(text)]
    meanings = _Meanings()
    while len(layers) <= LAYERS and any(sign in layers[-1].text for sign in (b"\\", b"%", b"&")):
        upper = _read(layers[-1].text, _TOKEN, meanings)
        if not upper.read:
            break
        layers.append(upper)
    return layers


def _read(text: bytes, token: re.Pattern[bytes], meanings: Mapping[bytes, bytes]) -> _Layer:
    pieces = token.split(text)
    if len(pieces) == 1:
        return _Layer(text)
    read = pieces.copy()
    read[1::2] = map(meanings.__getitem__, pieces[1::2])
    return _Layer(b"".join(read), pieces, read)


class _Meanings(dict[bytes, bytes]):
    """What each escape means, worked out at its first use."""

    def __missing__(self, token: bytes) -> bytes:
        self[token] = meaning = _meaning(token)
        return meaning


class _Nothing(dict[bytes, bytes]):
    """What blanks mean."""

    def __missing__(self, token: bytes) -> bytes:
        return b""


def _meaning(token: bytes) -> bytes:
    kind, rest = token[:1], token[1:].decode("ascii")
    if kind == b"&":
        return (
            html.unescape(f"&{rest}").encode("utf-8", "replace")
            if rest[0] == "#" or rest in html5
            else token
        )
    if kind == b"%" and rest[0] != "u":
        return bytes.fromhex(rest)
    if rest[0] == "x":
        return bytes.fromhex(rest[1:])
    if len(token) == _PAIR:
        return bytes.fromhex(rest.replace("\\", "").replace("u", "")).decode("utf-16-be").encode()
    if len(rest) == 1:
        return _LETTERS.get(token[1:], token[1:])
    number = int(rest[1:].strip("{}"), 16)
    return chr(number).encode("utf-8", "surrogatepass") if number <= sys.maxunicode else token


def _found(text: bytes, wanted: Sequence[tuple[str, _Needles]]) -> Iterator[_Span]:
    """Where values stand in one layer."""
    dense = text.translate(None, _BLANK)
    lower, folded = text.lower(), dense.lower()  # bytes: as long as they were
    lines: list[_Span] = []
    for name, needles in wanted:
        yield from _hits(lower, needles.plain, name)
        lines += (*_hits(dense, needles.wrapped, name), *_hits(folded, needles.folded, name))
    yield from _below(_read(text, _BLANKS, _Nothing()), lines) if lines else ()


def _hits(text: bytes, needles: Iterable[bytes], name: str) -> Iterator[_Span]:
    for needle in needles:
        start = text.find(needle)
        while start >= 0:
            yield _Span(start, start + len(needle), name)
            start = text.find(needle, start + len(needle))


def _below(layer: _Layer, spans: list[_Span]) -> list[_Span]:
    """The spans of a layer in offsets of the one below; a token is taken whole."""
    if not spans or not layer.read:
        return spans
    lows, highs = ([0, *accumulate(map(len, pieces))] for pieces in (layer.pieces, layer.read))

    def first(offset: int) -> int:
        number = bisect_right(highs, offset) - 1
        return lows[number] + (0 if number % 2 else offset - highs[number])

    def past(offset: int) -> int:
        number = bisect_right(highs, offset - 1) - 1
        return lows[number + 1] if number % 2 else lows[number] + offset - highs[number]

    return [_Span(first(start), past(end), name) for start, end, name in spans]


@lru_cache(maxsize=256)
def _needles(value: str) -> _Needles:
    plain = value.encode()
    means = {layer.text for part in _cores(plain) for layer in _layers(part)}
    found = {
        plain,
        value.upper().encode(),
        value.lower().encode(),
        *(text for text in means if len(text) >= _CORE),
    }
    found |= {text.replace(b" ", b"+") for text in found} | {
        value.encode("utf-16-le"),
        value.encode("utf-16-be"),
    }
    found |= (
        {value.encode("latin-1", "ignore")}
        if all(character <= "\xff" for character in value)
        else set()
    )
    return _Needles(
        tuple(sorted({text.lower() for text in found})),
        tuple(sorted(_in_base64(plain))),
        (plain.hex().encode(),),
    )


def _cores(plain: bytes) -> set[bytes]:
    """What is left of a value where its ends are read as parts of escapes, because of what somebody
    put beside it.
    """
    starts, ends = {0}, {len(plain)}
    for before in _BEGUN:
        token = _TOKEN.match(before + plain)
        starts.add(max(token.end() - len(before), 0) if token else 0)
    for after in _ENDED:
        ends.update(
            token.start()
            for token in _TOKEN.finditer(plain + after)
            if token.start() < len(plain) < token.end()
        )
    return {plain[start:end] for start in starts for end in ends}


def _in_base64(plain: bytes) -> set[bytes]:
    """What base64 makes of the value wherever it stands in a longer text: the characters that
    depend on it alone.
    """
    found = set()
    for offset in range(3):
        text = base64.b64encode(b"\0" * offset + plain)
        inner = text[(0, 2, 3)[offset] : (offset + len(plain)) * 8 // 6]
        found |= {inner, inner.translate(bytes.maketrans(b"+/", b"-_"))}
    return found
