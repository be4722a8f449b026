"""By which rules documents become terms and strengths, in a few characters: an index that others
made ranks differently.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

from sigil.search import document
from sigil.search.postings import UNIT
from sigil.search.words import Words

RULES: Final = 2
"""Raised by whoever changes how text becomes terms, where the sample below does not show it."""
SAMPLE: Final = (
    "parseHTTPResponse SHA-256 café naïve generously university universal organization organisation"
    " skies dying communication evening news inning herring provable 查询匯率 ﬁle １２ data_types"
    " e-mail 2^10 + 5*3"
)


def rules(words: Words) -> str:
    """Equal where equal texts become equal terms of equal strength."""
    fields = [value for value in vars(document).values() if isinstance(value, document.Field)]
    told = repr((fields, document.FIELD_LIMIT, document.SATURATION, UNIT, words.terms(SAMPLE)))
    return f"{RULES}-{crc32(told.encode('utf-8', 'replace')):08x}"
