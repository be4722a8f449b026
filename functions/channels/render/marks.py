"""Rich text is written with marks around its spans, for platforms whose dialect has such."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from functions.channels.render.rich_text import RichText, TextSpan

BREAK: Final = "\u200b"
"""A character that nobody sees, behind what a platform would take for more than text."""
_CODE: Final = ("code", "pre")


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
    breaks: Sequence[int] = (),
) -> str:
    """Return a text with the marks of its spans, and a `BREAK` before each place of `breaks`."""
    inserted: dict[int, list[tuple[int, int, str]]] = {place: [(-1, 0, BREAK)] for place in breaks}
    for index, span in enumerate(rich.spans):
        for mark in place_marks(rich, span):
            # at one place the inner span ends first, and the outer one begins first
            inserted.setdefault(mark.end, []).append((0, -index, mark.closing))
            inserted.setdefault(mark.start, []).append((1, index, mark.opening))
    pieces = []
    at = 0
    for place in sorted(inserted):
        pieces.append(rich.text[at:place])
        pieces.extend(text for _, _, text in sorted(inserted[place]))
        at = place
    pieces.append(rich.text[at:])
    return "".join(pieces)


def find_breaks(rich: RichText, in_text: re.Pattern[str], in_code: re.Pattern[str]) -> list[int]:
    """Return the places behind all that matches `in_text`, and in code behind what matches
    `in_code`: people copy it, so it is changed as little as may be.
    """
    code = [range(span.start, span.end) for span in rich.spans if span.kind in _CODE]

    def is_code(place: int) -> bool:
        return any(place in stretch for stretch in code)

    found = [match.end() for match in in_text.finditer(rich.text) if not is_code(match.start())]
    found += [match.end() for match in in_code.finditer(rich.text) if is_code(match.start())]
    return found


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
        outer.kind in _CODE
        and outer is not span
        and outer.start <= span.start
        and span.end <= outer.end
        for outer in rich.spans
    )
