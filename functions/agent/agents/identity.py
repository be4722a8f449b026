"""The identity of a teammate: who it is is said in its system message, and opens every request.

It is no part of the history, so no compaction can take it away, and nothing can say it twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from functions.agent.sanitize import sanitize_text
from sigil.errors import one_line

BLOCK: Final = (
    "<identity>You are '{name}', role: {role}, team: {team}. Continue your work.</identity>"
)
ANSWER: Final = "I am {name}. Continuing."
LINE: Final = (
    "You are '{name}', role: {role}, team: {team}, at {place}. Use idle tool when you have no more"
    " work. You will auto-claim new tasks."
)
NO_ROLE: Final = "teammate"
ROLE_CHARACTERS: Final = 80


@dataclass(frozen=True, slots=True)
class TeamIdentity:
    """Who a teammate is: its short name, its role, its team, and where its files are."""

    name: str
    role: str
    team: str
    place: str

    def format(self, pattern: str) -> str:
        """Return a text in which this identity is said."""
        return pattern.format(name=self.name, role=self.role, team=self.team, place=self.place)

    @property
    def block(self) -> str:
        """The block that opens every request."""
        return self.format(BLOCK)

    @property
    def answer(self) -> str:
        """What the teammate says to that."""
        return self.format(ANSWER)

    @property
    def line(self) -> str:
        """The line of the system message."""
        return self.format(LINE)


def clean_role(role: str) -> str:
    """Return a role as it can stand between the signs of the identity."""
    return one_line(sanitize_text(role).replace("<", "(").replace(">", ")"), ROLE_CHARACTERS)


def make_identity(root: str, name: str, role: str) -> TeamIdentity:
    """Return the identity of a root's teammate."""
    return TeamIdentity(name, clean_role(role) or NO_ROLE, root, f"the workspace of {root}.{name}")
