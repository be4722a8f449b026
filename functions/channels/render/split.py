"""Rich text cut into parts that a platform accepts, between blocks where that is possible."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator

from functions.channels.render.rich_text import Rich

Fits = Callable[[Rich], bool]
_PAUSE = re.compile("[\\s\u3002\uff01\uff1f\uff1b\uff0c\u3001]")
"""White space, and the marks that end a sentence or a clause where words stand without spaces."""


def split(rich: Rich, limit: int, fits: Fits) -> Iterator[Rich]:
    """Yield parts of at most `limit` characters that `fits`, none of them blank. `fits` must hold
    for any single character.
    """
    rest = _strip_leading(rich)
    while rest.text:
        length = _longest_fit(rest.part(0, limit), fits)
        end = length if length == len(rest.text) else _find_cut(rest, length)
        part = rest.part(0, len(rest.text[:end].rstrip()))
        if _is_visible(part.text):
            yield part
        rest = _strip_leading(rest.part(end, len(rest.text)))


def _strip_leading(rich: Rich) -> Rich:
    """Return it without the white space that it begins with; code keeps its indentation."""
    blank = len(rich.text) - len(rich.text.lstrip())
    code = next((span.start for span in rich.spans if span.kind in ("code", "pre")), blank)
    return rich.part(min(blank, code), len(rich.text)) if blank else rich


def _longest_fit(rich: Rich, fits: Fits) -> int:
    """Return the length of the longest beginning that fits."""
    if fits(rich):
        return len(rich.text)
    low, high = 1, len(rich.text) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(rich.part(0, middle)) else (low, middle - 1)
    return low


def _find_cut(rich: Rich, length: int) -> int:
    """Return the best place to end a part of at most `length` characters: a block, an item, a line,
    a pause, anywhere.
    """
    return _between_blocks(rich, length) or _inside_block(rich, length // 2, length)


def _between_blocks(rich: Rich, length: int) -> int:
    """Return where the last top-level block begins; 0 when that block must be cut anyway and this
    part would stay half empty.
    """
    tops = [cut.at for cut in rich.cuts if cut.depth == 0]
    within = bisect_right(tops, length)
    if not within:
        return 0
    last = tops[within - 1]
    following = tops[within] if within < len(tops) else len(rich.text)
    return last if following - last <= length or last >= length // 2 else 0


def _inside_block(rich: Rich, low: int, high: int) -> int:
    items = [cut.at for cut in rich.cuts if low < cut.at <= high]
    if items:
        return items[-1]
    line = rich.text.rfind("\n", low, high)
    if line >= 0:
        return line + 1
    pauses = [match.end() for match in _PAUSE.finditer(rich.text, low, high)]
    return pauses[-1] if pauses else high


def _is_visible(text: str) -> bool:
    """Return whether a reader would see anything: platforms refuse a message of blanks and
    zero-width characters.
    """
    return any(unicodedata.category(character)[0] not in "ZC" for character in text)
