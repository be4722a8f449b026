"""Cuts the text of a document that has no pages of its own into pages, at the ends of its lines."""

from __future__ import annotations

from functions.media.limits import (
    MAX_OUTLINE,
    MAX_PAGE_CHARACTERS,
    MAX_PAGES,
    MAX_READ_CHARACTERS,
    MAX_TITLE_CHARACTERS,
)
from functions.media.protocol import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class PageWriter:
    """Collects lines in pages of at most 8,000 characters, and the headings among them.

    `title` and `notes` are parts of the answer.
    """

    def __init__(self) -> None:
        self.title = ""
        self.notes: list[str] = []
        self._outline: list[dict[str, object]] = []
        self._pages: list[str] = []
        self._lines: list[str] = []
        self._size = 0
        self._turned = 0

    def add_heading(self, title: str, depth: int) -> None:
        """Note a heading, whose line comes next."""
        if title.strip() and len(self._outline) < MAX_OUTLINE:
            page = self._turned + 1
            heading = {"title": title.strip()[:MAX_TITLE_CHARACTERS], "page": page, "depth": depth}
            self._outline.append(heading)

    def add(self, text: str) -> None:
        """Add a text of one line or more."""
        for line in text.split("\n"):
            for place in range(0, len(line) or 1, MAX_PAGE_CHARACTERS):
                self._add_line(line[place : place + MAX_PAGE_CHARACTERS])

    def _add_line(self, line: str) -> None:
        if self._lines and self._size + len(line) + 1 > MAX_PAGE_CHARACTERS:
            self._turn()
        if line or self._lines:  # a page begins with no empty line
            self._lines.append(line)
            self._size += len(line) + 1

    def _turn(self) -> None:
        if self._turned < MAX_PAGES:
            self._pages.append("\n".join(self._lines).rstrip("\n"))
        self._turned += 1
        self._lines = []
        self._size = 0

    def finish(self, order: Mapping[str, object]) -> Mapping[str, object]:
        """Return the answer with the pages that the order names."""
        first, count = read_range(order)
        if self._lines or not self._turned:
            self._turn()
        count = min(count, MAX_READ_CHARACTERS // MAX_PAGE_CHARACTERS)
        pages = [
            {"number": number, "text": text}
            for number, text in enumerate(self._pages, 1)
            if first <= number < first + count
        ]
        return make_answer(
            pages,
            self._turned,
            first=first,
            title=self.title,
            outline=self._outline,
            notes=self.notes,
        )


def read_range(order: Mapping[str, object]) -> tuple[int, int]:
    """Return the `first` page that an order names, from 1 on, and the `count` of pages."""
    return int(str(order["first"])), int(str(order["count"]))


def make_answer(
    pages: list[dict[str, object]],
    page_count: int,
    *,
    first: int,
    title: str,
    outline: Iterable[Mapping[str, object]],
    notes: Iterable[str] = (),
) -> Mapping[str, object]:
    """Return the answer of a document; `Unreadable` where the `first` page that is asked for is not
    there, or not among those that can be read.
    """
    if not pages:
        raise Unreadable("too_large" if first <= page_count else "no_such_page")
    return {
        "title": title.strip()[:MAX_TITLE_CHARACTERS],
        "page_count": page_count,
        "outline": list(outline),
        "pages": pages,
        "notes": list(notes),
    }
