"""`FileReader` opens files that people send: it scales pictures, reads documents page by page, and
draws drawings.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import DecodeError, Struct, json

from functions.channels.render.pictures import make_document
from functions.media.child_process import USUAL_LIMITS, ChildLimits, FileChildren
from functions.media.file_types import (
    DOCUMENTS,
    MADE_PICTURES,
    PICTURES,
    WORKBOOKS,
    FileType,
    find_type,
)
from functions.media.fonts import choose_fonts
from functions.media.results import (
    Document,
    Heading,
    Page,
    Picture,
    Reason,
    UnreadableFile,
    clean_document,
    require_type,
)

_READERS: Final = {
    FileType.PDF: "pdf_text",
    FileType.WORD: "word_text",
    FileType.SLIDES: "slides_text",
    FileType.HTML: "html_text",
    FileType.TEXT: "plain_text",
    FileType.FOREIGN_TEXT: "foreign_text",
    **dict.fromkeys(WORKBOOKS, "sheet_text"),
}
"""The module of the child that reads each type."""
_SIXELS: Final = re.compile(rb"[!-~]+")
"""No sign of these ends the picture, or drives a terminal."""


class FileReader:
    """Opens files in a child process that has no files, no network and no credentials.

    Every method takes the bytes of a whole file and looks at them alone: no name and no type that
    somebody states. Each call starts a child and ends it. They raise `UnreadableFile`, whose
    `reason` is one word of a closed set (`Reason`), and `BackendError` where no child can be
    started (EUNAVAILABLE) or all are busy (EBUSY). It may be used from several threads.
    """

    def __init__(self, limits: ChildLimits = USUAL_LIMITS) -> None:
        self._children = FileChildren(limits)

    def find_type(self, data: bytes) -> str:
        """Return the name of a file's type (`FileType`); empty for one that is not known."""
        return find_type(data) or ""

    def scale(self, data: bytes) -> Picture:
        """Return a JPEG, PNG, WebP or the first frame of a GIF as a JPEG whose longest side has at
        most 1,568 pixels: upright, on white, without metadata.
        """
        type = require_type(data, PICTURES)
        return _read_picture(*self._children.run("scaling", {"type": type.value}, data))

    def read(self, data: bytes, first: int = 1, count: int = 1) -> Document:
        """Return `count` pages of a document from the page `first` on, with its title, its outline
        and the number of its pages.

        PDF has pages of its own; the text of docx, pptx, xlsx, xls, ods, HTML and plain text is cut
        into pages of at most 8,000 characters. Fewer pages come where they have more than 2,000,000
        characters together or take more than 4 s, but one at least.
        """
        type = require_type(data, DOCUMENTS)
        if first < 1 or count < 1:
            raise UnreadableFile(Reason.NO_SUCH_PAGE)
        order = {"type": type.value, "first": first, "count": count}
        head, _ = self._children.run(_READERS[type], order, data)
        answer = _decode(head)
        document = Document(
            type=(FileType.TEXT if type is FileType.FOREIGN_TEXT else type).value,
            title=answer.title,
            page_count=answer.page_count,
            outline=answer.outline,
            pages=answer.pages,
            notes=answer.notes,
        )
        return clean_document(document, first)

    def look(self, data: bytes, page: int = 1) -> Picture:
        """Return a page of a PDF as a JPEG whose longest side has 1,568 pixels. A picture has one
        page, and is scaled.
        """
        type = require_type(data, PICTURES | {FileType.PDF})
        if page < 1 or (page > 1 and type in PICTURES):
            raise UnreadableFile(Reason.NO_SUCH_PAGE)
        if type in PICTURES:
            return self.scale(data)
        return _read_picture(*self._children.run("pdf_look", {"first": page}, data))

    def draw(self, svg: str) -> Picture:
        """Return a drawing as a PNG at twice its size, of at most 4 megapixels, on white.

        It is one that `functions.channels.render.pictures` lets pass: another one is not supported.
        `undrawn` has the characters for which there is no font.
        """
        if not svg.strip():
            raise UnreadableFile(Reason.EMPTY)
        document = make_document(svg)
        if not document:
            raise UnreadableFile(Reason.NOT_SUPPORTED, "draw with SVG that loads and runs nothing")
        fonts, missing = choose_fonts(document)
        order = {"fonts": list(map(str, fonts)), "missing": missing}
        return _read_picture(*self._children.run("drawing", order, document.encode(), fonts))

    def fit(self, data: bytes, width: int, height: int, *, sixel: bool = False) -> bytes:
        """Return a picture for a terminal, of at most so many pixels: as PNG, or in sixels without
        the marks of their beginning and end.
        """
        type = require_type(data, PICTURES)
        order = {"type": type.value, "width": width, "height": height, "sixel": sixel}
        head, made = self._children.run("terminal_picture", order, data)
        if _decode(head).type == "sixel":
            if not (sixel and _SIXELS.fullmatch(made)):
                raise UnreadableFile(Reason.BROKEN)
            return made
        return _read_picture(head, made).data


class _Answer(Struct):
    """The header of a child's answer: a problem, or a document, or what is said of a picture."""

    problem: Reason | None = None
    title: str = ""
    page_count: int = 0
    outline: tuple[Heading, ...] = ()
    pages: tuple[Page, ...] = ()
    notes: tuple[str, ...] = ()
    type: str = ""
    width: int = 0
    height: int = 0
    undrawn: str = ""


def _decode(head: bytes) -> _Answer:
    """Return what a child says; `UnreadableFile` for what it cannot do, and for what is no
    answer.
    """
    try:
        answer = json.decode(head, type=_Answer)
    except DecodeError:
        raise UnreadableFile(Reason.BROKEN) from None
    if answer.problem:
        raise UnreadableFile(answer.problem)
    return answer


def _read_picture(head: bytes, data: bytes) -> Picture:
    answer = _decode(head)
    if answer.type not in MADE_PICTURES or find_type(data) is not MADE_PICTURES[answer.type]:
        raise UnreadableFile(Reason.BROKEN)
    return Picture(data, answer.type, answer.width, answer.height, answer.undrawn)
