"""Rich text is a text with spans: the meaning of markdown, before any platform's dialect."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Literal

from functions.channels.visible_text import clean_text

Kind = Literal["bold", "italic", "strike", "code", "pre", "link", "quote", "heading"]


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A style for the characters from `start` up to `end`.

    `value`: a link's address, a code block's language, a heading's level (`1` to `6`).
    """

    kind: Kind
    start: int
    end: int
    value: str = ""


@dataclass(frozen=True, slots=True)
class BlockStart:
    """The beginning of a block at the character `at`; `depth` is 0 at the top, more in a list or a
    quote.
    """

    at: int
    depth: int


def _read_place(block: BlockStart) -> int:
    return block.at


@dataclass(frozen=True, slots=True)
class RichText:
    """A text, the spans over it, and where its blocks begin, in order.

    Spans are properly nested, an outer one before its inner ones.
    """

    text: str
    spans: tuple[TextSpan, ...] = ()
    blocks: tuple[BlockStart, ...] = ()

    def slice(self, start: int, end: int) -> RichText:
        """Return the characters from `start` up to `end` with their spans and blocks."""
        spans = [
            TextSpan(
                span.kind, max(span.start, start) - start, min(span.end, end) - start, span.value
            )
            for span in self.spans
            if span.start < end and span.end > start
        ]
        first = bisect_right(self.blocks, start, key=_read_place)
        behind = bisect_left(self.blocks, end, key=_read_place)
        blocks = [BlockStart(block.at - start, block.depth) for block in self.blocks[first:behind]]
        return RichText(self.text[start:end], tuple(spans), tuple(blocks))


@dataclass(frozen=True, slots=True)
class _OpenSpan:
    """A span that is not closed yet: its index among the spans, and its first piece of text."""

    index: int
    piece: int
    kind: Kind
    start: int
    value: str


class RichTextBuilder:
    """Builds a text that only grows. Spans open and close like brackets."""

    def __init__(self) -> None:
        self.length = 0
        self._pieces: list[str] = []
        # None for a span that is still open, or that was not kept
        self._spans: list[TextSpan | None] = []
        self._open: list[_OpenSpan] = []
        self._blocks: list[BlockStart] = []

    def write(self, text: str) -> None:
        """Add `text`, cleaned once more: in markdown an entity (`&#x202e;`) becomes a character."""
        text = clean_text(text)
        self._pieces.append(text)
        self.length += len(text)

    def open_span(self, kind: Kind, value: str = "") -> None:
        """Open a span here."""
        self._open.append(_OpenSpan(len(self._spans), len(self._pieces), kind, self.length, value))
        self._spans.append(None)

    def close_span(self, *, keep: bool = True) -> None:
        """Close the innermost span; forget it unless `keep`, or when it is empty."""
        span = self._open.pop()
        if keep and self.length > span.start:
            self._spans[span.index] = TextSpan(span.kind, span.start, self.length, span.value)

    def read_open_span(self) -> tuple[str, str]:
        """Return the value of the innermost open span and the text that it covers so far."""
        span = self._open[-1]
        return span.value, "".join(self._pieces[span.piece :])

    def mark_block(self, depth: int) -> None:
        """Note that a block begins here."""
        self._blocks.append(BlockStart(self.length, depth))

    def is_at_line_start(self) -> bool:
        """Return whether this line is still empty."""
        return not self.length or self._pieces[-1].endswith("\n")

    def build(self) -> RichText:
        """Return everything that was written."""
        spans = tuple(span for span in self._spans if span)
        return RichText("".join(self._pieces), spans, tuple(self._blocks))
