"""Secrets on their way: `{{NAME}}` becomes the value in a request to its host, and the value becomes `{{NAME}}` in an answer."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from urllib.parse import quote, quote_plus

_MARK = re.compile(r"\{\{([A-Z][A-Z0-9_]{0,62})\}\}", re.ASCII)
_MARK_ENCODED = re.compile(r"(?:\{|%7B){2}([A-Z][A-Z0-9_]{0,62})(?:\}|%7D){2}", re.ASCII | re.IGNORECASE)
_MARK_BYTES = re.compile(rb"\{\{([A-Z][A-Z0-9_]{0,62})\}\}")
_MARK_BYTES_ENCODED = re.compile(rb"(?:\{|%7[Bb]){2}([A-Z][A-Z0-9_]{0,62})(?:\}|%7[Dd]){2}")
SHORTEST = 8
"""Characters of a secret: what is shorter would be found, and scrubbed, where it is only a part of a word."""

Values = Mapping[str, str]
Write = Callable[[str], str]


def named(*texts: str | bytes) -> frozenset[str]:
    """The names that stand in `texts` as placeholders, percent-encoded braces included."""
    found: set[str] = set()
    for text in texts:
        if isinstance(text, bytes):
            found.update(name.decode("ascii") for name in _MARK_BYTES_ENCODED.findall(text))
        else:
            found.update(_MARK_ENCODED.findall(text))
    return frozenset(found)


def in_header(text: str, values: Values) -> str:
    """`text` with the values in place."""
    return _MARK.sub(lambda mark: values.get(mark[1], mark[0]), text)


def in_query(text: str, values: Values) -> str:
    """`text` with the values in place, percent-encoded."""
    return _MARK_ENCODED.sub(lambda mark: quote(values[mark[1]], safe="") if mark[1] in values else mark[0], text)


def in_body(body: bytes, kind: str, values: Values) -> bytes:
    """`body` with the values in place, written as its content type wants them: JSON-escaped, percent-encoded, or as they are."""
    encoded = kind.partition(";")[0].strip().lower()
    if encoded == "application/x-www-form-urlencoded":
        return _in_bytes(_MARK_BYTES_ENCODED, body, values, quote_plus)
    if encoded.endswith(("/json", "+json")):
        return _in_bytes(_MARK_BYTES, body, values, lambda value: json.dumps(value)[1:-1])
    return _in_bytes(_MARK_BYTES, body, values, str)


def _in_bytes(marks: re.Pattern[bytes], body: bytes, values: Values, write: Write) -> bytes:
    def put(mark: re.Match[bytes]) -> bytes:
        value = values.get(mark[1].decode("ascii"))
        return mark[0] if value is None else write(value).encode()

    return marks.sub(put, body)


def scrubbed(body: bytes, values: Values) -> bytes:
    """`body` without the values: as they are, in UTF-16, hexadecimal, base64 at any offset, percent-encoded, JSON- and HTML-escaped."""
    for name, value in values.items():
        mark = b"{{%b}}" % name.encode("ascii")
        for form in _forms(value):
            if form in body:
                body = body.replace(form, mark)
    return body


def scrubbed_text(text: str, values: Values) -> str:
    """`text`, scrubbed like `scrubbed`."""
    return scrubbed(text.encode("utf-8", "surrogatepass"), values).decode("utf-8", "surrogatepass") if values else text


@lru_cache(maxsize=256)
def _forms(value: str) -> tuple[bytes, ...]:
    """Every way in which the value may be written, longest first: a short form may be a part of a longer one."""
    plain = value.encode()
    escaped = json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], json.dumps(value)[1:-1].replace("/", "\\/")
    percent = [write(value, safe=safe) for write in (quote, quote_plus) for safe in ("", "/", "/:@!$&'()*+,;=")]
    texts = {value, *escaped, *percent, *(text.lower() for text in percent if "%" in text)}
    texts |= {html.escape(value), html.escape(value, quote=False), plain.hex(), plain.hex().upper()}
    forms = {text.encode() for text in texts} | {value.encode("utf-16-le"), value.encode("utf-16-be"), *_in_base64(plain)}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def _in_base64(plain: bytes) -> set[bytes]:
    """What base64 makes of the value wherever it stands in a longer text: the characters that depend on it alone."""
    found = set()
    for offset in range(3):
        text = base64.b64encode(b"\0" * offset + plain)
        inner = text[(0, 2, 3)[offset] : (offset + len(plain)) * 8 // 6]
        found |= {inner, inner.translate(bytes.maketrans(b"+/", b"-_"))}
    return found
