"""Rich text is written with marks around its spans, for platforms whose dialect has such."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from functions.channels.render.rich_text import RichText, TextSpan


@dataclass(frozen=True, slots=True)
class Mark:
    """What stands before the character `start` and behind the one before `end`."""

    start: int
    end: int
    opening: str
    closing: str


def insert_marks(
    rich: RichText,
    place_marks: Callable[[RichText, TextSpan], Iterator[Mark]],
    write_text: Callable[[str], str] = str,
) -> str:
    """Return a text with the marks of its spans; `write_text` writes what stands between them."""
    inserted: dict[int, list[tuple[int, int, str]]] = {}
    for index, span in enumerate(rich.spans):
        for mark in place_marks(rich, span):
            # at one place the inner span ends first, and the outer one begins first
            inserted.setdefault(mark.end, []).append((0, -index, mark.closing))
            inserted.setdefault(mark.start, []).append((1, index, mark.opening))
    pieces = []
    at = 0
    for place in sorted(inserted):
        pieces.append(write_text(rich.text[at:place]))
        pieces.extend(text for _, _, text in sorted(inserted[place]))
        at = place
    pieces.append(write_text(rich.text[at:]))
    return "".join(pieces)


def list_lines(text: str, offset: int) -> Iterator[tuple[int, int]]:
    """Yield where each line of a text has something to see; a mark beside a blank means nothing."""
    for line in text.split("\n"):
        if line.strip():
            blank = len(line) - len(line.lstrip())
            yield offset + blank, offset + len(line.rstrip())
        offset += len(line) + 1


def is_in_code(rich: RichText, span: TextSpan) -> bool:
    """Return whether a span stands within code."""
    return any(
        outer.kind in ("code", "pre")
        and outer is not span
        and outer.start <= span.start
        and span.end <= outer.end
        for outer in rich.spans
    )
