"""`read-file` on what is no text: pages of a document, and pictures that the model looks at."""

from __future__ import annotations

from typing import Final

from functions.agent.conversation.pictures import LOOK
from functions.agent.services.call_context import Arguments, CallContext, read_number
from functions.agent.workspace.file import FileContent
from functions.agent.workspace.files import Workspace, Writer
from functions.agent.workspace.path import RECEIVED
from functions.agent.workspace.received import OPENED_BYTES
from sigil.errors import UsageError
from sigil.protocol import Json

KEPT_TYPE: Final = "jpeg"
"""Pictures that people send are kept as a model takes them, and as this type."""
OUTLINE_MOST: Final = 40
"""Lines of a document's outline that the model reads."""
SCAN: Final = "this page is a picture: call again with look"
CUT: Final = "this page has more text than is shown"
PAGE_NUMBER_MOST: Final = 10**6


def read_page(context: CallContext, content: FileContent, arguments: Arguments) -> Json:
    """Return a page of a document, and with the first one what is known of all of it.

    `ToolError` says why it is not opened.
    """
    page = read_number(arguments, "page", 1, PAGE_NUMBER_MOST)
    document = context.app.helpers.reader.read(content.body, page)
    row: dict[str, Json] = {"path": content.version.path, "type": document.type}
    if page == 1:
        if document.title:
            row["title"] = document.title
        if document.outline:
            outline = document.outline[:OUTLINE_MOST]
            row["outline"] = [f"{each.title} · {each.page}" for each in outline]
    notes = [*document.notes]
    for each in document.pages:
        row |= {"page": each.number, "text": each.text}
        notes += [SCAN] if each.is_scan else []
        notes += [CUT] if each.is_cut else []
    row["pages"] = document.page_count
    if notes:
        row["notes"] = [*notes]
    return context.redact(row)


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
