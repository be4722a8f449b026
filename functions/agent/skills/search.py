"""The search for skills ranks them among the capabilities of the library, as `sigil_query` does.

A catalog is read once a generation and process; a query reads the text of the one skill that it
finds.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final, Protocol

from functions.agent.memory.documents import Doc
from functions.agent.skills.catalog import Catalog, SkillEntry, SkillsHead
from functions.agent.skills.skills import Skills

CLOSE: Final = 0.85
"""A skill is paged in that fits a query at least this part as well as the best capability."""
LEAST: Final = 0.4
"""One with a lower score has a word of the query by chance: it is named, and not paged in."""
NAMED_MOST: Final = 3
"""So many further skills are named at most."""
AGENTS_MOST: Final = 64
"""The catalogs of so many agents are remembered."""


@dataclass(frozen=True, slots=True)
class RankedSkills:
    """The names of the skills that answer a query with their scores, the best first, and the score
    of the capability of the library that fits it best.
    """

    hits: tuple[tuple[str, float], ...] = ()
    best_other: float = 0.0


class SkillRanking(Protocol):
    """Ranks the skills of agents, each agent's apart from all others."""

    def put(self, scope: str, skills: Sequence[SkillEntry]) -> None:
        """Put skills in the place of those of a scope."""

    def rank(self, scope: str, query: str) -> RankedSkills:
        """Return the skills of a scope that answer a query."""


class NoRanking:
    """Finds no skills."""

    def put(self, scope: str, skills: Sequence[SkillEntry]) -> None:
        """Keep nothing."""

    def rank(self, scope: str, query: str) -> RankedSkills:
        """Find nothing."""
        return RankedSkills()


@dataclass(frozen=True, slots=True)
class FoundSkills:
    """What a query finds among the skills: the one that is paged in, with its entry, its text and
    its score, and the `others`, which are named.
    """

    entry: SkillEntry | None = None
    doc: Doc | None = None
    score: float = 0.0
    others: tuple[SkillEntry, ...] = ()

    @property
    def reference(self) -> str:
        """Return NAME@VERSION of the skill that is paged in, empty for none."""
        return f"{self.entry.name}@{self.doc.version}" if self.entry and self.doc else ""


NO_SKILLS_FOUND: Final = FoundSkills()
FindSkills = Callable[[str, float], FoundSkills]
"""Returns the skills that a query finds, beside capabilities of which the best has this score."""


def find_no_skills(query: str, best: float) -> FoundSkills:
    """Return nothing: this agent has no skills."""
    return NO_SKILLS_FOUND


class SkillSearch:
    """Searches the skills of all agents of a process."""

    def __init__(self, open_ranking: Callable[[], SkillRanking] = NoRanking) -> None:
        """`open_ranking` is called when an agent with skills first searches."""
        self._open_ranking = open_ranking
        self._ranking: SkillRanking | None = None
        self._catalogs: OrderedDict[str, tuple[int, Catalog]] = OrderedDict()
        self._lock = Lock()

    def find(self, skills: Skills, head: SkillsHead, query: str, best: float) -> FoundSkills:
        """Return what a query finds; `head` is what the turn knows of the skills, and `best` the
        score of the best capability that it found.
        """
        # one search at a time: a catalog and its ranking are replaced together
        with self._lock:
            catalog = self._load_catalog(skills, head)
            assert self._ranking is not None, "it was opened with the catalog"
            ranked = self._ranking.rank(skills.scope, query)
        entries = [(catalog.find(name), score) for name, score in ranked.hits]
        found = [(entry, score) for entry, score in entries if entry]
        if not found:
            return NO_SKILLS_FOUND
        (first, score), *rest = found
        others = tuple(entry for entry, _ in rest)
        if score < max(max(best, ranked.best_other) * CLOSE, LEAST):
            return FoundSkills(others=(first, *others)[:NAMED_MOST])
        doc = skills.read_many([first.name])[0]
        if doc is None or not doc.text:  # it was removed after the turn began
            return FoundSkills(others=others[:NAMED_MOST])
        return FoundSkills(first, doc, score, others[:NAMED_MOST])

    def _load_catalog(self, skills: Skills, head: SkillsHead) -> Catalog:
        if self._ranking is None:
            self._ranking = self._open_ranking()
        known = self._catalogs.get(skills.scope)
        if known is None or known[0] != head.generation:
            known = head.generation, skills.read_catalog()
            self._ranking.put(skills.scope, known[1].skills)
            self._catalogs[skills.scope] = known
        self._catalogs.move_to_end(skills.scope)
        if len(self._catalogs) > AGENTS_MOST:
            oldest, _ = self._catalogs.popitem(last=False)
            self._ranking.put(oldest, ())
        return known[1]
