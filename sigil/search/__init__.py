"""Search over capabilities (`sigil_query`): documents in, ranked references out, nothing where nothing fits."""

from __future__ import annotations

from sigil.search.document import Document, Hit
from sigil.search.index import Index

__all__ = ["Document", "Hit", "Index"]
