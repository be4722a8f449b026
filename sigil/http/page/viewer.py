"""Who looks at a page, and what they may see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Role = Literal["owner", "member", "reader", "stranger"]
"""Owners see and do everything. Members have their own chats. Readers see numbers and trees without
texts. A stranger has not signed in.
"""
RANKS: Final[tuple[Role, ...]] = ("stranger", "reader", "member", "owner")
"""The roles, from the one that may least on."""
OWNERS: Final[frozenset[Role]] = frozenset({"owner"})
PEOPLE: Final[frozenset[Role]] = frozenset({"owner", "member"})
"""Whoever has chats."""
WATCHERS: Final[frozenset[Role]] = frozenset({"owner", "reader"})
"""Whoever sees how much there is of everything."""
VIEWERS: Final[frozenset[Role]] = frozenset({"owner", "member", "reader"})
"""Whoever has signed in."""
EVERYBODY: Final[frozenset[Role]] = frozenset(RANKS)


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody who looks: a person's id (`telegram:42`), their role and their name; `login` is the
    SHA-256 of the token in their cookie. All but the role are empty for a stranger.
    """

    person: str
    role: Role
    name: str
    login: str


STRANGER: Final = Viewer("", "stranger", "", "")


def limit_role(role: Role, most: Role) -> Role:
    """Return the lesser of two roles."""
    return min(role, most, key=RANKS.index)
