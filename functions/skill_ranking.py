"""The ranking of skills is that of capabilities: the same index, with the library's beside it.

The library says which words are rare. Without it a few skills could not be told from what has
nothing to do with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from functions.agent.skills.catalog import SkillEntry
from functions.agent.skills.search import RankedSkills
from sigil.protocol import LIBRARY
from sigil.search import Index, IndexDocument, library_index

LIMIT: Final = 50
"""So many of all that answer a query are looked at."""


class LibraryRanking:
    """Ranks the skills of each scope as if they were capabilities beside the library's."""

    def __init__(self) -> None:
        self._index = Index()
        shipped = library_index.load()
        if shipped is not None:
            self._index.open_file(LIBRARY, shipped)

    def put(self, scope: str, skills: Sequence[SkillEntry]) -> None:
        """Put skills in the place of those of a scope."""
        group = _group_of(scope)
        self._index.forget(group)
        for skill in skills:
            self._index.add(
                IndexDocument(
                    name=skill.name,
                    description=skill.description,
                    ref=f"{group}/{skill.name}",
                    tags=skill.tags,
                    group=group,
                )
            )

    def rank(self, scope: str, query: str) -> RankedSkills:
        """Return the skills of a scope that answer a query."""
        group = _group_of(scope)
        hits: list[tuple[str, float]] = []
        best_other = 0.0
        for hit in self._index.search(query, LIMIT, within=(LIBRARY, group)):
            home, _, name = hit.ref.rpartition("/")
            if home == group:
                hits.append((name, hit.score))
            else:
                best_other = max(best_other, hit.score)
        return RankedSkills(tuple(hits), best_other)


def _group_of(scope: str) -> str:
    """Return the group of a scope's skills; no namespace of the library's is called so."""
    return f"skills:{scope}"
