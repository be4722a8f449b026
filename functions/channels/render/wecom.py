"""Rich text in the dialect of WeCom's messages
(https://developer.work.weixin.qq.com/document/path/90236): bold, code of one line, quotes and
links. Everything is counted in bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from functions.channels.render.markdown import parse_markdown
from functions.channels.render.marks import Mark, insert_marks, is_in_code, list_lines
from functions.channels.render.rich_text import RichText, TextSpan
from functions.channels.render.split import split_rich_text

PART_BYTES: Final = 2_000
"""Bytes of a message's text, of 2,048 that it may have."""
_MARKS: Final = {"bold": "**", "code": "`", "strike": "~"}
_STYLED: Final = ("bold", "code", "quote", "link")
_TAG = re.compile(r"<(?=[@/!?A-Za-z])")


@dataclass(frozen=True, slots=True)
class WeComPart:
    """The text of a message as it is `written`, and without its styles, as text that needs none
    is sent; `is_plain`: they are the same.
    """

    written: str
    plain: str
    is_plain: bool


def render_parts(markdown: str, most: int | None = None) -> list[WeComPart]:
    """Return `markdown` as the texts of messages; none when there is nothing to see.

    `most`: the largest number that is made.
    """

    def fits_message(part: RichText) -> bool:
        made = _make_part(part)
        return max(len(made.written.encode()), len(made.plain.encode())) <= PART_BYTES

    parts = split_rich_text(parse_markdown(markdown, with_columns=False), PART_BYTES, fits_message)
    return [_make_part(part) for part in islice(parts, most)]


def count_characters(part: WeComPart) -> int:
    """Return how many characters a part has."""
    return len(part.plain)


def _make_part(rich: RichText) -> WeComPart:
    written = insert_marks(rich, _place_marks, _defuse)
    is_plain = not any(span.kind in _STYLED for span in rich.spans)
    plain = insert_marks(rich, _place_addresses, _defuse)
    return WeComPart(written, plain, is_plain)


def _place_marks(rich: RichText, span: TextSpan) -> Iterator[Mark]:
    """Yield where the marks of a span stand, and which."""
    if is_in_code(rich, span):
        return
    if span.kind == "link":
        if rich.text[span.start : span.end].strip() != span.value:
            address = span.value.replace("(", "%28").replace(")", "%29")
            yield Mark(span.start, span.end, "[", f"]({address})")
    elif span.kind == "quote" or span.kind in _MARKS:
        text = rich.text[span.start : span.end]
        opening = _MARKS.get(span.kind, "> ")
        closing = _MARKS.get(span.kind, "")
        for start, end in list_lines(text, span.start):
            if span.kind == "quote" or opening not in rich.text[start:end]:
                yield Mark(start, end, opening, closing)


def _place_addresses(rich: RichText, span: TextSpan) -> Iterator[Mark]:
    if span.kind == "strike":
        yield Mark(span.start, span.end, "~", "~")
    elif span.kind == "link" and rich.text[span.start : span.end].strip() != span.value:
        yield Mark(span.start, span.end, "", f" ({span.value})")


def _defuse(text: str) -> str:
    """Return a text that names nobody, and has no links but those that are marked."""
    return _TAG.sub("<\u200b", text).replace("](", "]\u200b(")
