"""Rich text in Telegram's dialect: plain text with entities
(https://core.telegram.org/bots/api#formatting-options).

Entities need no escaping, so no text can break out of its style. Offsets count UTF-16 units. Its
rules of nesting: code holds nothing and lies in no style and no link; a quote holds no quote, a
link no link.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import accumulate, islice

from functions.channels.render.markdown import parse_markdown
from functions.channels.render.rich_text import Kind, RichText, TextSpan
from functions.channels.render.split import split_rich_text

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
class MessageEntity:
    """A style of a message's text; `offset` and `length` in UTF-16 units."""

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
        if self.url:
            fields["url"] = self.url
        if self.language:
            fields["language"] = self.language
        return fields


@dataclass(frozen=True, slots=True)
class MessagePart:
    """One message: never blank, at most `LIMIT` units and `MOST_ENTITIES` entities."""

    text: str
    entities: tuple[MessageEntity, ...] = ()

    def params(self) -> dict[str, object]:
        """Return the fields of a request that have its text and styles."""
        params: dict[str, object] = {"text": self.text}
        if self.entities:
            params["entities"] = [entity.as_dict() for entity in self.entities]
        return params


def render_parts(markdown: str, most: int | None = None) -> list[MessagePart]:
    """Return `markdown` as messages; none when there is nothing to see.

    `most`: the largest number that is made.
    """
    rich = _remove_forbidden_spans(parse_markdown(markdown))

    def fits_message(part: RichText) -> bool:
        return count_units(part.text) <= LIMIT and len(part.spans) <= MOST_ENTITIES

    parts = split_rich_text(rich, LIMIT, fits_message)
    return [MessagePart(part.text, _make_entities(part)) for part in islice(parts, most)]


def count_units(text: str) -> int:
    """Return the length of `text` in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def _make_entities(rich: RichText) -> tuple[MessageEntity, ...]:
    """Return the spans as entities, in the order of their nesting.

    They leave out the white space at their ends, where Telegram would not count it; code and quotes
    keep theirs.
    """
    offsets = [0, *accumulate(1 + (character > "\uffff") for character in rich.text)]
    trimmed = []
    for span in rich.spans:
        inside = rich.text[span.start : span.end]
        if span.kind in (*_CODE, "quote") and inside.strip():
            trimmed.append(span)
            continue
        start = span.start + len(inside) - len(inside.lstrip())
        end = max(start, span.start + len(inside.rstrip()))
        trimmed.append(TextSpan(span.kind, start, end, span.value))
    entities = []
    for span in sorted(trimmed, key=_nesting_order):
        if span.start < span.end:
            start = offsets[span.start]
            entities.append(
                MessageEntity(
                    type=_TYPES[span.kind],
                    offset=start,
                    length=offsets[span.end] - start,
                    url=span.value if span.kind == "link" else "",
                    language="" if span.kind == "link" else span.value,
                )
            )
    return tuple(entities)


def _nesting_order(span: TextSpan) -> tuple[int, int]:
    """Return the sort key that puts an outer span before those in it."""
    return span.start, -span.end


def _remove_forbidden_spans(rich: RichText) -> RichText:
    """Return the same text with the spans that Telegram allows."""
    allowed: list[TextSpan] = []
    around: list[TextSpan] = []
    for span in rich.spans:
        around = [outer for outer in around if span.start < outer.end]
        has_style = any(outer.kind == span.kind for outer in around)
        in_link = any(outer.kind == "link" for outer in around)
        if not has_style and not (in_link and span.kind in _CODE):
            allowed.append(span)
        around.append(span)
    code = [span for span in allowed if span.kind in _CODE]
    starts = [span.start for span in code]
    pieces: list[TextSpan] = []
    for span in allowed:
        start = span.start
        if span.kind in _STYLES:
            # a style ends before code and begins anew behind it
            for hole in code[bisect_left(starts, span.start) : bisect_left(starts, span.end)]:
                pieces.append(TextSpan(span.kind, start, hole.start, span.value))
                start = hole.end
        pieces.append(TextSpan(span.kind, start, span.end, span.value))
    pieces = [piece for piece in pieces if piece.start < piece.end]
    return replace(rich, spans=tuple(sorted(pieces, key=_nesting_order)))
