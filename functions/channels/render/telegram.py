"""Rich text in Telegram's dialect: plain text with entities
(https://core.telegram.org/bots/api#formatting-options).

Entities need no escaping, so no text can break out of its style. Offsets count UTF-16 units. Its
rules of nesting: code holds nothing and stands in no style and no link; a quote holds no quote, a
link no link.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice

from functions.channels.render.markdown import read
from functions.channels.render.rich_text import Kind, Rich, Span
from functions.channels.render.split import split

LIMIT = 4096
"""UTF-16 units of a message's text."""
MOST_ENTITIES = 100
_TYPES: dict[Kind, str] = {
    "bold": "bold",
    "italic": "italic",
    "strike": "strikethrough",
    "code": "code",
    "pre": "pre",
    "link": "text_link",
    "quote": "blockquote",
}
_CODE: tuple[Kind, ...] = ("code", "pre")
_STYLES: tuple[Kind, ...] = ("bold", "italic", "strike")


@dataclass(frozen=True, slots=True)
class Entity:
    """A MessageEntity; `offset` and `length` in UTF-16 units."""

    type: str
    offset: int
    length: int
    url: str = ""
    language: str = ""

    def as_dict(self) -> dict[str, str | int]:
        """Return the entity as the Bot API takes it, without empty fields."""
        fields: dict[str, str | int] = {
            "type": self.type,
            "offset": self.offset,
            "length": self.length,
        }
        return fields | {
            name: text for name, text in (("url", self.url), ("language", self.language)) if text
        }


@dataclass(frozen=True, slots=True)
class Part:
    """One message: never blank, at most `LIMIT` units and `MOST_ENTITIES` entities."""

    text: str
    entities: tuple[Entity, ...] = ()


def parts(markdown: str, most: int | None = None) -> list[Part]:
    """Return `markdown` as messages; none when there is nothing to see. `most`: the largest number
    that is made.
    """
    return [
        Part(part.text, _entities(part))
        for part in islice(split(_allow_spans(read(markdown)), LIMIT, _fits), most)
    ]


def units(text: str) -> int:
    """Return the length of `text` in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def _fits(rich: Rich) -> bool:
    return units(rich.text) <= LIMIT and len(rich.spans) <= MOST_ENTITIES


def _entities(rich: Rich) -> tuple[Entity, ...]:
    at = [0, *accumulate(1 + (character > "\uffff") for character in rich.text)]
    tight = (_trim_span(span, rich.text) for span in rich.spans)
    return tuple(
        _entity(span, at) for span in sorted(tight, key=_position) if span.start < span.end
    )


def _entity(span: Span, at: Sequence[int]) -> Entity:
    url, language = (span.value, "") if span.kind == "link" else ("", span.value)
    return Entity(_TYPES[span.kind], at[span.start], at[span.end] - at[span.start], url, language)


def _position(span: Span) -> tuple[int, int]:
    return span.start, -span.end


def _allow_spans(rich: Rich) -> Rich:
    """Return the same text with the spans that Telegram allows."""
    outer = [span for span, around in _with_outer(rich.spans) if not _is_redundant(span, around)]
    code = [span for span in outer if span.kind in _CODE]
    starts = [span.start for span in code]
    spans: list[Span] = []
    for span in outer:
        inside = (
            code[bisect_left(starts, span.start) : bisect_left(starts, span.end)]
            if span.kind in _STYLES
            else []
        )
        spans += (piece for piece in _without(span, inside) if piece.start < piece.end)
    return replace(rich, spans=tuple(sorted(spans, key=_position)))


def _with_outer(spans: Iterable[Span]) -> Iterator[tuple[Span, list[Span]]]:
    """Yield each span with those around it."""
    around: list[Span] = []
    for span in spans:
        around = [outer for outer in around if span.start < outer.end]
        yield span, around
        around = [*around, span]


def _is_redundant(span: Span, around: Iterable[Span]) -> bool:
    """Return whether a span around `span` has its style already, or may not hold it."""
    return any(
        outer.kind == span.kind or (outer.kind == "link" and span.kind in _CODE) for outer in around
    )


def _without(span: Span, holes: Iterable[Span]) -> Iterator[Span]:
    """Yield what is left of `span` between the holes in it."""
    start = span.start
    for hole in holes:
        yield Span(span.kind, start, hole.start, span.value)
        start = hole.end
    yield Span(span.kind, start, span.end, span.value)


def _trim_span(span: Span, text: str) -> Span:
    """Return `span` without the white space at its ends, where Telegram would not count it; code
    keeps its own.
    """
    inside = text[span.start : span.end]
    if span.kind in (*_CODE, "quote") and inside.strip():
        return span
    start = span.start + len(inside) - len(inside.lstrip())
    return Span(span.kind, start, max(start, span.start + len(inside.rstrip())), span.value)
