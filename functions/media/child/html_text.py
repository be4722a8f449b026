"""Reads what a person would see of a web page, as Markdown: headings, lists, tables and the
addresses of links.
"""

from __future__ import annotations

from html.parser import HTMLParser

from functions.media.child.office_file import write_row
from functions.media.child.paging import PageWriter
from functions.media.file_types import decode_text
from functions.media.protocol import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_UNSEEN = frozenset("script style noscript template svg math object iframe select".split())
_BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt fieldset figcaption figure footer form header"
    " hr li main nav ol p pre section table tr ul h1 h2 h3 h4 h5 h6".split()
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CELLS = ("td", "th")
_VOID = frozenset("br hr img input link meta area base col embed source track wbr".split())
_MAX_ADDRESS = 500


def run(order: Mapping[str, object], data: bytes) -> tuple[Mapping[str, object], bytes]:
    """Return the pages that the order names."""
    text = decode_text(data)
    if text is None:
        raise Unreadable("broken")
    page = _WebPage()
    page.feed(text)
    page.close()
    return page.pages.finish(order), b""


class _WebPage(HTMLParser):
    """Writes the lines of a page while it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.pages = PageWriter()
        self._line: list[str] = []
        self._title: list[str] = []
        self._is_title = False
        self._unseen = 0
        self._unseen_by = ""
        self._level = 0
        self._cells: list[str] | None = None
        self._in_cell = False
        self._address = ""
        self._is_verbatim = False

    def close(self) -> None:
        """Write what was begun and never ended."""
        super().close()
        self._end_row()
        self._end_line()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if self._unseen:
            self._unseen += tag == self._unseen_by
            return
        if tag in _UNSEEN or ("hidden" in attributes and tag not in _VOID):
            self._unseen = 1
            self._unseen_by = tag
            return
        if tag in _BLOCKS:
            self._end_line()
        if tag == "title":
            self._is_title = True
        elif tag in _HEADINGS:
            self._level = _HEADINGS[tag]
        elif tag == "li":
            self._line.append("- ")
        elif tag == "tr":
            self._end_row()
            self._cells = []
        elif tag in _CELLS and self._cells is not None:
            self._end_cell()
            self._in_cell = True
        elif tag == "pre":
            self._is_verbatim = True
        elif tag == "a":
            self._address = (attributes.get("href") or "")[:_MAX_ADDRESS]
        elif tag == "img" and attributes.get("alt"):
            self._line.append(f"[picture: {attributes['alt']}]")

    def handle_endtag(self, tag: str) -> None:
        if self._unseen:
            self._unseen -= tag == self._unseen_by
            return
        if tag == "title":
            self._is_title = False
            self.pages.title = " ".join("".join(self._title).split())
        elif tag in _CELLS:
            self._end_cell()
        elif tag in ("tr", "table"):
            self._end_row()
        elif tag == "a" and self._address.startswith(("http://", "https://", "mailto:")):
            self._line.append(f" ({self._address})")
            self._address = ""
        if tag in _BLOCKS and tag != "br":
            self._end_line()
        if tag == "pre":
            self._is_verbatim = False

    def handle_data(self, data: str) -> None:
        if self._unseen:
            return
        if self._is_title:
            self._title.append(data)
        elif self._is_verbatim:
            self.pages.add(data)
        else:
            self._line.append(data)

    def _end_line(self) -> None:
        """Write the line that was begun, but for one in a cell, which goes on."""
        if self._cells is not None:
            self._line.append(" ")
            return
        line = self._take_line()
        if not line.strip("- "):
            self._level = 0
            return
        if self._level:
            self.pages.add(f"\n{'#' * self._level} {line}")
            self.pages.add_heading(line, self._level - 1)
            self._level = 0
        else:
            self.pages.add(line)

    def _end_cell(self) -> None:
        if self._cells is not None and self._in_cell:
            self._cells.append(self._take_line())
        self._in_cell = False

    def _end_row(self) -> None:
        self._end_cell()
        if self._cells and any(self._cells):
            self.pages.add(write_row(self._cells))
        self._cells = None

    def _take_line(self) -> str:
        line = " ".join("".join(self._line).split())
        self._line = []
        return line
