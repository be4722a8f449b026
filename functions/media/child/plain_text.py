"""Reads a text, such as CSV, as it is."""

from __future__ import annotations

from functions.media.child.paging import PageWriter
from functions.media.file_types import decode_text
from functions.media.protocol import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def run(order: Mapping[str, object], data: bytes) -> tuple[Mapping[str, object], bytes]:
    """Return the pages that the order names."""
    text = decode_text(data)
    if text is None:
        raise Unreadable("broken")
    pages = PageWriter()
    pages.add(text.replace("\r\n", "\n").replace("\r", "\n"))
    return pages.finish(order), b""
