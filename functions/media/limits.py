"""The limits of what is opened, and of what comes out."""

from __future__ import annotations

from typing import Final

MAX_FILE_BYTES: Final = 20_000_000
MAX_SIDE: Final = 1_568
"""Pixels of the longest side of a picture that goes to a model."""
MAX_PIXELS: Final = 40_000_000
"""Pixels of a picture that is decoded, as its head declares them."""
JPEG_QUALITY: Final = 85

MAX_PAGE_CHARACTERS: Final = 8_000
MAX_PAGE_TEXT: Final = 200_000
"""Characters of a page of a PDF, which may be a drawing with small letters or a whole book."""
MAX_READ_CHARACTERS: Final = 2_000_000
READ_SECONDS: Final = 4.0
"""Of several pages, those are read that have no more characters together and take no longer."""
MAX_PAGES: Final = 500
"""Pages of a document that can be read; it may have more."""
MAX_OUTLINE: Final = 200
"""Headings of a document's outline."""
MAX_TITLE_CHARACTERS: Final = 200
MIN_TEXT_CHARACTERS: Final = 20
"""A page of a PDF with a picture and fewer characters is a scan."""
MAX_ROWS: Final = 200
"""Rows of a sheet that are read."""
MAX_COLUMNS: Final = 100
MAX_CELL_CHARACTERS: Final = 1_000

MAX_INFLATED_BYTES: Final = 100_000_000
"""Bytes of all that a zip file has in it."""
MAX_INFLATION: Final = 200
"""Bytes of it to each byte of the zip file, from `FREE_INFLATED_BYTES` on."""
FREE_INFLATED_BYTES: Final = 2_000_000
MAX_ZIP_ENTRIES: Final = 10_000
MAX_DEPTH: Final = 200
"""Elements of XML or HTML inside each other."""

MAX_DRAWN_PIXELS: Final = 4_000_000
DRAWN_SCALE: Final = 2.0
MAX_DRAWN_NODES: Final = 2_000
"""Elements of a drawing, those that are used again counted each time."""
MAX_BLUR: Final = 100.0
"""The standard deviation of a drawing's blur, in its own units."""

CHILD_BYTES: Final = 256_000_000
"""Private memory of the child."""
CHILD_SECONDS: Final = 10
"""Processor time of the child, and the wall time from its start to its answer."""
MAX_ANSWER_BYTES: Final = 24_000_000
"""Bytes of an answer that are read; a child that says more is ended."""
