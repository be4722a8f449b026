"""Search over capabilities (`sigil_query`): documents in, ranked references out, nothing where
nothing fits.
"""

from __future__ import annotations

from sigil.search.dense import Encoder
from sigil.search.diversity import Candidate, diverse
from sigil.search.document import Document, Hit
from sigil.search.index import Among, Index
from sigil.search.index_file import DamagedIndexError

__all__ = [
    "Among",
    "Candidate",
    "DamagedIndexError",
    "Document",
    "Encoder",
    "Hit",
    "Index",
    "diverse",
]
