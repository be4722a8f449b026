"""Reads the sheets of a workbook: the first rows of each, with a tab between the cells."""

from __future__ import annotations

import datetime
from io import BytesIO

import python_calamine

from functions.media.child.paging import PageWriter
from functions.media.child.zip_file import open_zip
from functions.media.limits import MAX_CELL_CHARACTERS, MAX_COLUMNS, MAX_PAGES, MAX_ROWS
from functions.media.protocol import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def run(order: Mapping[str, object], data: bytes) -> tuple[Mapping[str, object], bytes]:
    """Return the pages that the order names."""
    if order["type"] != "xls":
        open_zip(data).close()
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(BytesIO(data))
        pages = PageWriter()
        for name in book.sheet_names[:MAX_PAGES]:
            _add_sheet(name, book, pages)
        if len(book.sheet_names) > MAX_PAGES:
            pages.notes.append(
                f"Only the first {MAX_PAGES} of {len(book.sheet_names)} sheets were read."
            )
    except python_calamine.PasswordError:
        raise Unreadable("encrypted") from None
    except python_calamine.CalamineError:
        raise Unreadable("broken") from None
    return pages.finish(order), b""


def _add_sheet(name: str, book: python_calamine.CalamineWorkbook, pages: PageWriter) -> None:
    pages.add(f"\n## Sheet {name}")
    pages.add_heading(name, 0)
    try:
        sheet = book.get_sheet_by_name(name)
    except python_calamine.WorksheetNotFound:  # a sheet that is a chart
        pages.add("[no cells]")
        return
    rows = [_write_row(row) for row in sheet.to_python(nrows=MAX_ROWS)]
    while rows and not rows[-1]:
        rows.pop()
    pages.add("\n".join(rows) if rows else "[no cells]")
    if sheet.height > MAX_ROWS:
        note = f"The first {MAX_ROWS} of {sheet.height} rows of the sheet {name} were read."
        pages.add(f"[{note}]")
        pages.notes.append(note)
    if sheet.width > MAX_COLUMNS:
        pages.notes.append(
            f"The first {MAX_COLUMNS} of {sheet.width} columns of the sheet {name} were read."
        )


def _write_row(row: Sequence[object]) -> str:
    return "\t".join(map(_write_cell, row[:MAX_COLUMNS])).rstrip("\t")


def _write_cell(value: object) -> str:
    """Return a value as a person would write it; formulas have their values already."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime.datetime):
        is_day = value.time() == datetime.time()
        return value.date().isoformat() if is_day else value.isoformat(" ")
    return " ".join(str(value).split())[:MAX_CELL_CHARACTERS]
