"""The builder of rich text: it collects text, spans and the beginnings of blocks."""

from __future__ import annotations

from functions.channels.render.rich_text import Cut, Kind, Rich, Span
from functions.channels.visible_text import clean


class RichTextBuilder:
    """Builds a text that only grows. Spans open and close like brackets; an outer one stands before
    those inside it.
    """

    def __init__(self) -> None:
        self.length = 0
        self._text: list[str] = []
        self._spans: list[Span | None] = []
        self._open: list[
            tuple[int, int, Span]
        ] = []  # its place among the spans, its first piece of text, itself
        self._cuts: list[Cut] = []

    def write(self, text: str) -> None:
        """Add `text`, cleaned once more: in markdown an entity (`&#x202e;`) becomes a character."""
        text = clean(text)
        self._text.append(text)
        self.length += len(text)

    def begin(self, kind: Kind, value: str = "") -> None:
        """Open a span here."""
        self._open.append(
            (len(self._spans), len(self._text), Span(kind, self.length, self.length, value))
        )
        self._spans.append(None)

    def end(self, *, keep: bool = True) -> None:
        """Close the innermost span; forget it unless `keep`, or when it is empty."""
        place, _, span = self._open.pop()
        if keep and self.length > span.start:
            self._spans[place] = Span(span.kind, span.start, self.length, span.value)

    def innermost(self) -> tuple[str, str]:
        """Return the value of the innermost open span and the text that it covers so far."""
        _, piece, span = self._open[-1]
        return span.value, "".join(self._text[piece:])

    def cut(self, depth: int) -> None:
        """Note that a block begins here."""
        self._cuts.append(Cut(self.length, depth))

    def at_line_start(self) -> bool:
        """Return whether this line is still empty."""
        return not self.length or self._text[-1].endswith("\n")

    def rich(self) -> Rich:
        """Return everything that was written."""
        return Rich(
            "".join(self._text), tuple(span for span in self._spans if span), tuple(self._cuts)
        )
