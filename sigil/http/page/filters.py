"""How values are written on a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup

from sigil.errors import one_line


def write_number(value: float) -> str:
    """Return a number with its thousands parted: `4,761`."""
    return f"{value:,}"


def write_duration(seconds: float) -> str:
    """Return how long something took: `48 ms`, `9.8 s`, `3 min`."""
    if seconds < 1:
        return f"{seconds * 1000:.{1 if seconds < 0.01 else 0}f} ms"
    if seconds < 100:
        return f"{seconds:.{1 if seconds < 10 else 0}f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3600:.1f} h"


def write_time(at: float) -> Markup:
    """Return a time (seconds since 1970) as an element that the script shows in the viewer's own
    zone; without a script it is UTC.
    """
    try:
        when = datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):
        return Markup("")
    return Markup('<time datetime="{}">{}</time>').format(
        when.strftime("%Y-%m-%dT%H:%M:%SZ"), when.strftime("%Y-%m-%d %H:%M")
    )


def write_line(text: str, limit: int = 200) -> str:
    """Return a text on one line, without what nobody sees."""
    return one_line(text, limit)


def write_code(text: str) -> Markup:
    """Return a sentence of ours with what stands between backticks as code."""
    parts = text.split("`")
    tags = [Markup("<code>{}</code>") if place % 2 else Markup("{}") for place in range(len(parts))]
    return Markup("").join(tag.format(part) for tag, part in zip(tags, parts, strict=True))


FILTERS: Final[Mapping[str, Callable[..., object]]] = {
    "number": write_number,
    "duration": write_duration,
    "time": write_time,
    "line": write_line,
    "code": write_code,
}
