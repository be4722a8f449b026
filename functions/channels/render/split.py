"""Rich text is cut into parts that a platform accepts, between blocks where that is possible."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator

from functions.channels.render.rich_text import RichText

Fits = Callable[[RichText], bool]
_PAUSE = re.compile("[\\s\u3002\uff01\uff1f\uff1b\uff0c\u3001]")
"""White space, and the marks that end a sentence or a clause in scripts without spaces."""


def split_rich_text(rich: RichText, limit: int, fits: Fits) -> Iterator[RichText]:
    """Yield parts of at most `limit` characters that `fits`, none of them blank.

    `fits` must hold for any single character.
    """
    rest = _strip_leading(rich)
    while rest.text:
        length = _measure_longest_fit(rest.slice(0, limit), fits)
        end = length if length == len(rest.text) else _find_cut(rest, length)
        part = rest.slice(0, len(rest.text[:end].rstrip()))
        # platforms refuse a message of blanks and zero-width characters
        if any(unicodedata.category(character)[0] not in "ZC" for character in part.text):
            yield part
        rest = _strip_leading(rest.slice(end, len(rest.text)))


def _strip_leading(rich: RichText) -> RichText:
    """Return it without the white space that it begins with; code keeps its indentation."""
    blank = len(rich.text) - len(rich.text.lstrip())
    code = next((span.start for span in rich.spans if span.kind in ("code", "pre")), blank)
    return rich.slice(min(blank, code), len(rich.text)) if blank else rich


def _measure_longest_fit(rich: RichText, fits: Fits) -> int:
    """Return the length of the longest beginning that fits."""
    if fits(rich):
        return len(rich.text)
    low = 1
    high = len(rich.text) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if fits(rich.slice(0, middle)):
            low = middle
        else:
            high = middle - 1
    return low


def _find_cut(rich: RichText, length: int) -> int:
    """Return the best place to end a part of at most `length` characters: a block, an item, a line,
    a pause, anywhere.
    """
    tops = [block.at for block in rich.blocks if block.depth == 0]
    within = bisect_right(tops, length)
    half = length // 2
    if within:
        last = tops[within - 1]
        following = tops[within] if within < len(tops) else len(rich.text)
        # else the last block must be cut anyway, and this part would stay half empty
        if last and (following - last <= length or last >= half):
            return last
    items = [block.at for block in rich.blocks if half < block.at <= length]
    if items:
        return items[-1]
    line = rich.text.rfind("\n", half, length)
    if line >= 0:
        return line + 1
    pauses = [match.end() for match in _PAUSE.finditer(rich.text, half, length)]
    return pauses[-1] if pauses else length
