"""`read-file` on what is no text: pages of a document, and pictures that the model looks at; and
what an answer hands out.
"""

from __future__ import annotations

import re
from mimetypes import guess_type
from typing import TYPE_CHECKING, Final

from functions.agent.conversation.pictures import LOOK
from functions.agent.services.call_context import Arguments, CallContext, read_number
from functions.agent.workspace.document_text import unpack_text
from functions.agent.workspace.file import FileContent, FileVersion
from functions.agent.workspace.files import Workspace, Writer
from functions.agent.workspace.path import RECEIVED
from functions.agent.workspace.received import OPENED_BYTES
from sigil.errors import UsageError
from sigil.protocol import Json, file_row
from sigil.storage.kept_files import FileContent as KeptContent
from sigil.storage.kept_files import KeptFiles

if TYPE_CHECKING:
    from functions.agent.memory.helpers import OpenedDocument

KEPT_TYPE: Final = "jpeg"
"""Pictures that people send are kept as a model takes them, and as this type."""
PART_CHARACTERS: Final = 8_000
"""A longer page is read in parts."""
OUTLINE_MOST: Final = 40
"""Lines of a document's outline that the model reads."""
SCAN: Final = "this page is a picture: call again with look"
CUT: Final = "this page has more text than can be read"
PAGE_NUMBER_MOST: Final = 10**6
DRAWING_NAME: Final = "picture.svg"
DRAWING_TYPE: Final = "image/svg+xml"
UNKNOWN_TYPE: Final = "application/octet-stream"
_SIGNATURES: Final = (
    ("image/png", re.compile(rb"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", re.compile(rb"\xff\xd8\xff")),
    ("image/gif", re.compile(rb"GIF8[79]a")),
    ("image/webp", re.compile(rb"RIFF.{4}WEBP", re.DOTALL)),
)
"""The pictures are told by their first bytes, whatever their names say."""
_NOT_OF_A_NAME: Final = re.compile(r"[^\w.-]+")


def read_page(
    context: CallContext, version: FileVersion, arguments: Arguments, files: Workspace
) -> Json:
    """Return a page of a document, or a part of a long one, and with the first one what is known of
    all of it.

    `ToolError` says why it is not opened.
    """
    if any(arguments.get(name) is not None for name in ("from", "lines")):
        raise UsageError(
            "EINVAL",
            f"{version.path} is read by pages, and not by lines",
            suggestion="name a page, or none for the first one",
        )
    page = read_number(arguments, "page", 1, PAGE_NUMBER_MOST)
    part = read_number(arguments, "part", 1, PAGE_NUMBER_MOST)
    document = _open_page(context, version, page, files)
    row: dict[str, Json] = {"path": version.path, "type": document.type}
    if page == 1 and part == 1:
        if document.title:
            row["title"] = document.title
        if document.outline:
            outline = document.outline[:OUTLINE_MOST]
            row["outline"] = [f"{each.title} · {each.page}" for each in outline]
    notes = [*document.notes]
    (found,) = (each for each in document.pages if each.number == page)
    parts = max(-(-len(found.text) // PART_CHARACTERS), 1)
    if part > parts:
        raise UsageError(
            "EINVAL",
            f"page {page} of {version.path} has {parts} parts",
            suggestion=f"part is 1 to {parts}",
        )
    begin = (part - 1) * PART_CHARACTERS
    row |= {"page": page, "text": found.text[begin : begin + PART_CHARACTERS]}
    if parts > 1:
        row |= {"part": part, "parts": parts}
    notes += [SCAN] if found.is_scan else []
    notes += [CUT] if found.is_cut else []
    row["pages"] = document.page_count
    if notes:
        row["notes"] = [*notes]
    return context.redact(row)


def _open_page(
    context: CallContext, version: FileVersion, page: int, files: Workspace
) -> OpenedDocument:
    """Return a document with one of its pages: from the text that was made when it came, or opened
    anew.
    """
    kept = files.read_pages(version)
    document = unpack_text(kept) if kept else None
    if document and any(each.number == page for each in document.pages):
        return document
    return context.app.helpers.reader.read(files.read_body(version), page)


def look_at(
    context: CallContext, content: FileContent, arguments: Arguments, files: Workspace
) -> dict[str, Json]:
    """Return what lets the next request show a picture, or a page of a document, which becomes a
    picture beside it. `ToolError` says why it is not opened.
    """
    if not isinstance(arguments.get(LOOK), bool):
        raise UsageError("EINVAL", f"{LOOK} is true or false")
    page = read_number(arguments, "page", 1, PAGE_NUMBER_MOST)
    path = content.version.path
    if path.partition("/")[0] != RECEIVED or files.scope != context.session:
        raise UsageError(
            "EINVAL",
            f"{path} is none of the pictures that people sent into this chat",
            suggestion=f"look at files below {RECEIVED}/",
        )
    reader = context.app.helpers.reader
    if page > 1 or reader.find_type(content.body) != KEPT_TYPE:
        picture = reader.look(content.body, page)
        path = f"{path.rpartition('.')[0]}-{page}.jpg"
        writer = Writer(context.by, context.task, context.call, context.find_holder_here())
        files.write(path, picture.data, writer, most=OPENED_BYTES)
    return {LOOK: path, "note": "the picture stands behind this result, once"}


def keep_for_answer(context: CallContext, path: str, body: bytes) -> Json:
    """Keep a file of the workspace among those that were returned in the chat, for a week, and
    return its row. `Refused` ERATE when too much was kept today.
    """
    type = next((type for type, begin in _SIGNATURES if begin.match(body)), "")
    if not type:
        type = guess_type(path)[0] or UNKNOWN_TYPE
        if type.startswith("image/") and type != DRAWING_TYPE:
            type = UNKNOWN_TYPE
    stem = _NOT_OF_A_NAME.sub("-", path.rpartition("/")[2]).lstrip("-._")[-80:]
    return _keep(context, KeptContent(stem.lstrip("-._") or "file", type, body))


def keep_drawing(context: CallContext, drawing: str) -> Json:
    """Keep a drawing as the document that it is, and return its row; `ToolError` for one that does
    more than draw.
    """
    context.app.helpers.reader.draw(drawing)
    return _keep(context, KeptContent(DRAWING_NAME, DRAWING_TYPE, drawing.encode()))


def _keep(context: CallContext, file: KeptContent) -> Json:
    app = context.app
    files = KeptFiles(app.kv, app.artifacts, app.clock.now)
    row = file_row(files.keep(file, app.make_caller(context.home)))
    return {**row}
