"""Draws a page of a PDF as a picture."""

from __future__ import annotations

from functions.media.child.pdf_file import open_pdf
from functions.media.child.scaling import save
from functions.media.limits import MAX_PAGES, MAX_SIDE
from functions.media.protocol import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def run(order: Mapping[str, object], data: bytes) -> tuple[Mapping[str, object], bytes]:
    """Return the page `first` of the order as JPEG."""
    document = open_pdf(data)
    number = int(str(order["first"]))
    if number > len(document):
        raise Unreadable("no_such_page")
    if number > MAX_PAGES:
        raise Unreadable("too_large")
    page = document[number - 1]
    longest = max(page.get_size())
    if not longest > 0:
        raise Unreadable("broken")
    # The sides are rounded up.
    bitmap = page.render(scale=(MAX_SIDE - 0.5) / longest)
    return save(bitmap.to_pil().convert("RGB"))
