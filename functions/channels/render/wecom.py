"""Rich text in the dialect of WeCom's messages
(https://developer.work.weixin.qq.com/document/path/90236): bold, code of one line, quotes and
links. Everything is counted in bytes.

It knows no blocks of code: marks within one would be read as styles, so a message with one is plain
text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from functions.channels.render.markdown import parse_markdown
from functions.channels.render.marks import (
    Mark,
    find_breaks,
    insert_marks,
    is_in_code,
    list_lines,
)
from functions.channels.render.rich_text import RichText, TextSpan
from functions.channels.render.split import split_rich_text

PART_BYTES: Final = 2_000
"""Bytes of a message's text, of 2,048 that it may have."""
_MARKS: Final = {"bold": "**", "code": "`", "strike": "~"}
_STYLED: Final = ("bold", "code", "quote", "link")
_ACTIVE = re.compile(r"<(?=[@/!?A-Za-z])|\](?=\()")
"""What names people, is a tag, or makes a link that was not meant as one."""
_ACTIVE_IN_CODE = re.compile(
    r"<(?=@|a\s)|\](?=\(\s*(?!https?:)[a-z][a-z0-9+.-]*://)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class WeComPart:
    """The text of a message as it is `written`, and without its styles, as text that needs none
    is sent; `is_plain`: that is how it has to be sent. `prose`: so many characters of the plain
    text stand before the code that it ends with, 0 when it is nothing else.
    """

    written: str
    plain: str
    is_plain: bool
    prose: int = 0


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
    kinds = {span.kind for span in rich.spans}
    is_plain = "pre" in kinds or kinds.isdisjoint(_STYLED)
    head = len(rich.text)
    while block := next((span for span in rich.spans if _is_code_at_end(span, rich, head)), None):
        head = len(rich.text[: block.start].rstrip())
    prose = _write(rich.slice(0, head), _place_addresses)
    tail = _write(rich.slice(head, len(rich.text)), _place_addresses)
    return WeComPart(_write(rich, _place_marks), prose + tail, is_plain, len(prose))


def _is_code_at_end(span: TextSpan, rich: RichText, end: int) -> bool:
    return span.kind == "pre" and span.start < end and not rich.text[span.end : end].strip()


def _write(rich: RichText, place: Callable[[RichText, TextSpan], Iterator[Mark]]) -> str:
    """Return a text that names nobody, and has no links but those that are marked."""
    return insert_marks(rich, place, find_breaks(rich, _ACTIVE, _ACTIVE_IN_CODE))


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
