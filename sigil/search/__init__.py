"""Search over capabilities (`sigil_query`): documents go in, ranked references come out, and none
where nothing fits.
"""

from __future__ import annotations

from sigil.search.dense import Encoder
from sigil.search.document import IndexDocument, IndexHit
from sigil.search.index import Filter, Index
from sigil.search.index_file import DamagedIndexError
from sigil.search.ranking import Candidate, diversify

__all__ = [
    "Candidate",
    "DamagedIndexError",
    "Encoder",
    "Filter",
    "Index",
    "IndexDocument",
    "IndexHit",
    "diversify",
]
