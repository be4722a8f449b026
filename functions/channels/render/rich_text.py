"""Text with spans: the meaning of markdown, before any platform's dialect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["bold", "italic", "strike", "code", "pre", "link", "quote"]


@dataclass(frozen=True, slots=True)
class Span:
    """A style for the characters from `start` up to `end`. `value`: a link's address, a code
    block's language.
    """

    kind: Kind
    start: int
    end: int
    value: str = ""


@dataclass(frozen=True, slots=True)
class Cut:
    """The beginning of a block at `at`: 0 deep at the top, deeper in a list or a quote."""

    at: int
    depth: int


@dataclass(frozen=True, slots=True)
class Rich:
    """A text, the spans over it (properly nested, an outer one before its inner ones) and where its
    blocks begin, in order.
    """

    text: str
    spans: tuple[Span, ...] = ()
    cuts: tuple[Cut, ...] = ()

    def part(self, start: int, end: int) -> Rich:
        """Return the characters from `start` up to `end` with their spans and cuts."""
        spans = (
            Span(span.kind, max(span.start, start) - start, min(span.end, end) - start, span.value)
            for span in self.spans
            if span.start < end and span.end > start
        )
        cuts = (Cut(cut.at - start, cut.depth) for cut in self.cuts if start < cut.at < end)
        return Rich(self.text[start:end], tuple(spans), tuple(cuts))
