"""Reads what somebody has filled into the form on a page of a PDF, which is no part of its text."""

from __future__ import annotations

import ctypes

import pypdfium2
from pypdfium2 import raw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MAX_FIELDS = 500
"""Fields of one page."""
_MAX_VALUE_BYTES = 4_000
_SWITCHES = (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)


def list_fields(page: pypdfium2.PdfPage) -> list[str]:
    """Return the fields that are filled in, in the order of the page, as `name: value`; what is
    ticked has the value `yes`.
    """
    form = page.pdf.formenv
    if form is None:
        return []
    fields = []
    for number in range(min(raw.FPDFPage_GetAnnotCount(page), MAX_FIELDS)):
        note = raw.FPDFPage_GetAnnot(page, number)
        if not note:
            continue
        if raw.FPDFAnnot_GetSubtype(note) == raw.FPDF_ANNOT_WIDGET:
            name = _read(raw.FPDFAnnot_GetFormFieldAlternateName, form, note)
            name = name or _read(raw.FPDFAnnot_GetFormFieldName, form, note)
            value = _read(raw.FPDFAnnot_GetFormFieldValue, form, note)
            if raw.FPDFAnnot_GetFormFieldType(form, note) in _SWITCHES:
                value = "yes" if raw.FPDFAnnot_IsChecked(form, note) else ""
            if value:
                fields.append(f"{name}: {value}")
        raw.FPDFPage_CloseAnnot(note)
    return fields


def _read(read: Callable[..., int], form: pypdfium2.PdfFormEnv, note: Any) -> str:
    """Return a text of a field, which is first measured and then copied."""
    size = min(read(form, note, None, 0), _MAX_VALUE_BYTES)
    room = ctypes.create_string_buffer(size)
    written = read(form, note, ctypes.cast(room, ctypes.POINTER(raw.FPDF_WCHAR)), size)
    if written > size:  # a longer one is not copied
        return "[a long text]"
    return room.raw.decode("utf-16-le", "replace").rstrip("\0")
