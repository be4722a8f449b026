"""Rich text in WhatsApp's dialect (https://faq.whatsapp.com/539178204879377): marks around words of
one line, no headings, no links with labels, no tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from functions.channels.render.markdown import parse_markdown
from functions.channels.render.rich_text import RichText, TextSpan
from functions.channels.render.split import split_rich_text

LIMIT = 4_096
"""Characters of one message."""
_MARKS = {"bold": "*", "italic": "_", "strike": "~", "code": "`"}
_BLOCK = "```"


def render_parts(markdown: str, most: int | None = None) -> list[str]:
    """Return `markdown` as messages; none when there is nothing to see.

    `most`: the largest number that is made.
    """

    def fits_message(part: RichText) -> bool:
        return len(write_marks(part)) <= LIMIT

    parts = split_rich_text(parse_markdown(markdown), LIMIT, fits_message)
    return [write_marks(part) for part in islice(parts, most)]


def write_marks(rich: RichText) -> str:
    """Return a text with WhatsApp's marks; they are plain characters, and name nobody."""
    inserted: dict[int, list[tuple[int, int, str]]] = {}
    for index, span in enumerate(rich.spans):
        for start, end, opening, closing in _place_marks(rich, span):
            # at one place the inner span ends first, and the outer one begins first
            inserted.setdefault(end, []).append((0, -index, closing))
            inserted.setdefault(start, []).append((1, index, opening))
    pieces = []
    at = 0
    for place in sorted(inserted):
        pieces.append(rich.text[at:place])
        pieces.extend(mark for _, _, mark in sorted(inserted[place]))
        at = place
    pieces.append(rich.text[at:])
    return "".join(pieces)


def _place_marks(rich: RichText, span: TextSpan) -> Iterator[tuple[int, int, str, str]]:
    """Yield where the marks of a span stand, and which."""
    text = rich.text[span.start : span.end]
    if span.kind == "link":
        if text.strip() != span.value:
            yield span.start, span.end, "", f" ({span.value})"
    elif span.kind == "pre":
        if _BLOCK not in text:
            yield span.start, span.end, _BLOCK, _BLOCK
    elif not _is_in_code(rich, span):
        for start, end in _list_lines(text, span.start):
            if span.kind == "quote":
                yield start, end, "> ", ""
            elif _MARKS[span.kind] not in rich.text[start:end]:
                yield start, end, _MARKS[span.kind], _MARKS[span.kind]


def _list_lines(text: str, offset: int) -> Iterator[tuple[int, int]]:
    """Yield where each line of a text has something to see; a mark beside a blank means nothing."""
    for line in text.split("\n"):
        if line.strip():
            blank = len(line) - len(line.lstrip())
            yield offset + blank, offset + len(line.rstrip())
        offset += len(line) + 1


def _is_in_code(rich: RichText, span: TextSpan) -> bool:
    return any(
        outer.kind in ("code", "pre")
        and outer is not span
        and outer.start <= span.start
        and span.end <= outer.end
        for outer in rich.spans
    )
