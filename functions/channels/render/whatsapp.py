"""Rich text in WhatsApp's dialect (https://faq.whatsapp.com/539178204879377): marks around words of
one line, no headings, no links with labels, no tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from functions.channels.render.markdown import parse_markdown
from functions.channels.render.marks import Mark, insert_marks, is_in_code, list_lines
from functions.channels.render.rich_text import RichText, TextSpan
from functions.channels.render.split import split_rich_text

LIMIT = 4_096
"""Characters of one message. Those that UTF-16 writes as two are counted as two: nobody says how
they count there.
"""
_MARKS = {"bold": "*", "italic": "_", "strike": "~", "code": "`"}
_BLOCK = "```"
_LETTER = re.compile(r"[0-9A-Za-z\u00c0-\u024f\u0370-\u052f]")
"""A letter of a writing that has blanks between its words, or a digit."""


def render_parts(markdown: str, most: int | None = None) -> list[str]:
    """Return `markdown` as messages; none when there is nothing to see.

    `most`: the largest number that is made.
    """

    def fits_message(part: RichText) -> bool:
        return len(write_marks(part).encode("utf-16-le")) <= 2 * LIMIT

    parts = split_rich_text(parse_markdown(markdown), LIMIT, fits_message)
    return [write_marks(part) for part in islice(parts, most)]


def write_marks(rich: RichText) -> str:
    """Return a text with WhatsApp's marks; they are plain characters, and name nobody."""
    return insert_marks(rich, _place_marks)


def _place_marks(rich: RichText, span: TextSpan) -> Iterator[Mark]:
    """Yield where the marks of a span stand, and which."""
    text = rich.text[span.start : span.end]
    if span.kind == "link":
        if text.strip() != span.value:
            yield Mark(span.start, span.end, "", f" ({span.value})")
    elif span.kind == "pre":
        if _BLOCK not in text:
            # a backtick beside the mark would be a part of it
            opening = f"{_BLOCK}\n" if text.startswith("`") else _BLOCK
            closing = f"\n{_BLOCK}" if text.endswith("`") else _BLOCK
            yield Mark(span.start, span.end, opening, closing)
    elif not is_in_code(rich, span):
        for start, end in list_lines(text, span.start):
            if span.kind == "quote":
                yield Mark(start, end, "> ", "")
            elif _MARKS[span.kind] not in rich.text[start:end] and not _is_in_word(
                rich, start, end
            ):
                yield Mark(start, end, _MARKS[span.kind], _MARKS[span.kind])


def _is_in_word(rich: RichText, start: int, end: int) -> bool:
    """Return whether more of a word stands beside a place: a mark there would be shown as it is."""
    beside = rich.text[start - 1 : start] + rich.text[end : end + 1]
    return _LETTER.search(beside) is not None
