"""Opens a PDF."""

from __future__ import annotations

import pypdfium2
from pypdfium2 import raw

from functions.media.protocol import Unreadable


def open_pdf(data: bytes) -> pypdfium2.PdfDocument:
    """Return the document; `Unreadable` for one that is encrypted or damaged."""
    try:
        document = pypdfium2.PdfDocument(data)
        document.init_forms()
        if len(document) > 0:
            return document
    except pypdfium2.PdfiumError as problem:
        if problem.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise Unreadable("encrypted") from None
    raise Unreadable("broken")
