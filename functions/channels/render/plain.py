"""Rich text for platforms that show text as it is: a link has its address behind its words, the
lines of a quote begin with a mark, and what is struck out stands between marks. Columns would not
stand below each other, so a table is a list of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from functions.channels.render.markdown import parse_markdown
from functions.channels.render.marks import Mark, insert_marks, list_lines
from functions.channels.render.rich_text import RichText, TextSpan
from functions.channels.render.split import split_rich_text


def render_parts(
    markdown: str, limit: int, count_units: Callable[[str], int], most: int | None = None
) -> list[str]:
    """Return `markdown` as messages of at most `limit` units; none when there is nothing to see.

    `most`: the largest number that is made.
    """

    def fits_message(part: RichText) -> bool:
        return count_units(write_plain(part)) <= limit

    parts = split_rich_text(parse_markdown(markdown, with_columns=False), limit, fits_message)
    return [write_plain(part) for part in islice(parts, most)]


def write_plain(rich: RichText) -> str:
    """Return a text without marks of styles."""
    return insert_marks(rich, _place_marks)


def _place_marks(rich: RichText, span: TextSpan) -> Iterator[Mark]:
    text = rich.text[span.start : span.end]
    if span.kind == "link" and text.strip() != span.value:
        yield Mark(span.start, span.end, "", f" ({span.value})")
    elif span.kind == "strike":
        yield Mark(span.start, span.end, "~", "~")
    elif span.kind == "quote":
        for start, end in list_lines(text, span.start):
            yield Mark(start, end, "> ", "")
