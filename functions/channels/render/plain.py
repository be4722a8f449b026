"""Rich text for platforms that show text as it is: a link has its address behind its words, and
the lines of a quote begin with a mark.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from functions.channels.render.markdown import parse_markdown
from functions.channels.render.rich_text import RichText
from functions.channels.render.split import split_rich_text


def render_parts(
    markdown: str, limit: int, count_units: Callable[[str], int], most: int | None = None
) -> list[str]:
    """Return `markdown` as messages of at most `limit` units; none when there is nothing to see.

    `most`: the largest number that is made.
    """

    def fits_message(part: RichText) -> bool:
        return count_units(write_plain(part)) <= limit

    parts = split_rich_text(parse_markdown(markdown), limit, fits_message)
    return [write_plain(part) for part in islice(parts, most)]


def write_plain(rich: RichText) -> str:
    """Return a text without marks."""
    inserted: dict[int, str] = {}
    for span in rich.spans:
        text = rich.text[span.start : span.end]
        if span.kind == "link" and text.strip() != span.value:
            inserted[span.end] = f"{inserted.get(span.end, '')} ({span.value})"
        elif span.kind == "quote":
            at = span.start
            for line in text.split("\n"):
                if line.strip():
                    inserted[at] = f"{inserted.get(at, '')}> "
                at += len(line) + 1
    pieces = []
    at = 0
    for place in sorted(inserted):
        pieces += [rich.text[at:place], inserted[place]]
        at = place
    return "".join([*pieces, rich.text[at:]])
