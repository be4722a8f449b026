"""What is too little to be an answer: by its points alone, and for a document that tells in many
words what it is called, by those.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final

from sigil.search.entries import Entry
from sigil.search.query import Wanted

MANY: Final = 5
"""Aliases from which on a document is taken at its word: who asks for none of them has to be
answered well otherwise.
"""
GOOD: Final = ((8.0, 0.3), (5.5, 0.6))
"""Well otherwise: so many points, and so large a share of what the query's words weigh. Measured on
questions to the standard library, half of which nothing in it answers.
"""


BESIDE: Final = 0.35
"""The share of the best document's points that any other needs."""
FEW: Final = 3
"""Words up to which a query is answered by whatever has all of them: `miles to kilometers`,
`finance`.
"""
ALL: Final = 0.999


@dataclass(frozen=True, slots=True)
class Floor:
    """What passes for one query. `said`: the query as a phrase; `terms`: what it asks for; `read`:
    a text's terms but for stop words.

    `around`: somebody looks around, so that whatever has a word of it passes.
    """

    wanted: Wanted
    said: str
    terms: Collection[str]
    read: Callable[[str], frozenset[str]]
    around: bool = False

    @property
    def beside(self) -> float:
        return 0.0 if self.around else BESIDE

    def names(self, entry: Entry) -> bool:
        """Whether the query says its name or an alias, in whatever order."""
        texts = (entry.called, *entry.aliases)
        return any(
            words and words.issubset(self.terms) for words in map(self.read, texts)
        ) or entry.is_said_in(self.said)

    def passes(
        self, entry: Entry, points: float, best: float, terms: Callable[[], Iterable[str]]
    ) -> bool:
        """Whether an entry with these points and `terms` is an answer, `best` being the most points
        that any has.
        """
        if self.around:
            return True
        if len(self.read(self.said)) <= FEW and self.wanted.covered(terms()) >= ALL:
            return True
        if best < self.wanted.floor:
            return entry.is_said_in(self.said)
        if len(entry.aliases) < MANY or points >= GOOD[0][0] * 3:
            return True
        covered = self.wanted.covered(terms())
        return any(points >= least and covered >= share for least, share in GOOD) or self.names(
            entry
        )
