"""A placeholder names a secret: `{{NAME}}` becomes the value in a request to its host.

`scrubbing` takes values out of what comes back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

from sigil.run.host_calls.scrubbing import Values, scrub, scrub_field, scrub_text

__all__ = [
    "Values",
    "fill_body",
    "fill_header",
    "fill_query",
    "names_in",
    "scrub",
    "scrub_text",
    "split_body",
    "split_field",
    "split_text",
]

_MARK = re.compile(r"\{\{([A-Z][A-Z0-9_]{0,62})\}\}", re.ASCII)
_MARK_ENCODED = re.compile(
    r"(?:\{|%7B){2}([A-Z][A-Z0-9_]{0,62})(?:\}|%7D){2}", re.ASCII | re.IGNORECASE
)
_MARK_BYTES = re.compile(rb"\{\{([A-Z][A-Z0-9_]{0,62})\}\}")
_MARK_BYTES_ENCODED = re.compile(rb"(?:\{|%7[Bb]){2}([A-Z][A-Z0-9_]{0,62})(?:\}|%7[Dd]){2}")


def names_in(*texts: str | bytes) -> frozenset[str]:
    """Return the names of the placeholders in `texts`, those in percent-encoded braces too."""
    found: set[str] = set()
    for text in texts:
        if isinstance(text, bytes):
            found.update(name.decode("ascii") for name in _MARK_BYTES_ENCODED.findall(text))
        else:
            found.update(_MARK_ENCODED.findall(text))
    return frozenset(found)


def split_body(body: bytes, names: Iterable[str]) -> bytes:
    """Return what another author wrote, with every placeholder spaced out as `{{ NAME }}`.

    So none of them is filled. They are found in any form that `scrub` reads.
    """
    return scrub(body, _map_spaced(names))


def split_text(text: str, names: Iterable[str]) -> str:
    """Return a text without placeholders, as `split_body` does."""
    return scrub_text(text, _map_spaced(names))


def split_field(text: str, names: Iterable[str]) -> str:
    """Return a header's value without placeholders, as `split_body` does."""
    return scrub_field(text, _map_spaced(names))


def _map_spaced(names: Iterable[str]) -> Values:
    """Return values for `scrub`, which writes a name in braces where it finds the value."""
    return {f" {name} ": f"{{{{{name}}}}}" for name in names}


def fill_header(text: str, values: Values) -> str:
    """Return `text` with the values in place."""

    def replace_mark(mark: re.Match[str]) -> str:
        return values.get(mark[1], mark[0])

    return _MARK.sub(replace_mark, text)


def fill_query(text: str, values: Values) -> str:
    """Return `text` with the values in place, percent-encoded."""

    def replace_mark(mark: re.Match[str]) -> str:
        value = values.get(mark[1])
        if value is None:
            return mark[0]
        return quote(value, safe="")

    return _MARK_ENCODED.sub(replace_mark, text)


def fill_body(body: bytes, kind: str, values: Values) -> bytes:
    """Return `body` with the values in place, written as its content type `kind` needs them.

    They are JSON-escaped, percent-encoded, or as they are.
    """
    media_type = kind.partition(";")[0].strip().lower()
    is_form = media_type == "application/x-www-form-urlencoded"
    is_json = media_type.endswith(("/json", "+json"))

    def replace_mark(mark: re.Match[bytes]) -> bytes:
        value = values.get(mark[1].decode("ascii"))
        if value is None:
            return mark[0]
        if is_form:
            value = quote_plus(value)
        elif is_json:
            value = json.dumps(value)[1:-1]
        return value.encode()

    marks = _MARK_BYTES_ENCODED if is_form else _MARK_BYTES
    return marks.sub(replace_mark, body)
