"""An act is something that an agent is about to do; an actor is on whose behalf it does it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from functions.agent.access.roles import Role
from sigil.errors import UsageError, one_line

ACTS: Final[Mapping[str, str]] = {
    "call": "call a capability, by its name",
    "find": "get a capability as the result of a search, by its name",
    "net": "let a capability reach a host, by the host's name",
    "read": "read a file of its workspace, by the path",
    "write": "write a file of its workspace, by the path",
    "spawn": "start a teammate, by its name",
    "subagent": "make or stop an agent below it, by its name",
    "mail": "write to another agent, by its name",
    "say": "say something by itself in a chat, by the chat's name",
    "schedule": "schedule a reminder or a piece of work",
    "ingest": "keep something: in the memory of the `chat`, or `shared` by all chats, in the"
    " `knowledge` base, or that of the `team`",
    "self": "change a document that says who it is, by the document's name",
    "behaviour": "change one of its behaviours, by its name",
    "skill": "change one of its skills, by its name",
    "reschedule": "change what is scheduled already, by its id",
    "publish": "let all chats use a capability that it makes or changes, by its name",
    "spend": "pay somebody, by the payee's name",
    "task": "put a task on the board, and change those of the same person",
    "board": "see and change all tasks of the board, also those of other people",
    "deploy": "make or change a capability, by its name",
    "grant": "get what a capability waits for from an owner, by the capability's name",
}
"""Every kind of act, and what it is."""
EVERYBODY: Final = "everybody"
OWN_WORK, GROUPS, AGENTS = "own-work", "groups", "agents"
ACTORS: Final[Mapping[str, str]] = {
    EVERYBODY: "whoever it is",
    "owner": "an owner",
    "member": "a member; work of the agent's own for a member or an owner is a member's",
    "guest": "everybody else",
    GROUPS: "in a group, whoever it is",
    OWN_WORK: "work that nobody typed: wakeups, tasks, mail",
    AGENTS: "an agent below the root",
}
"""The words for actors in a policy."""
NAMELESS: Final = frozenset({"schedule", "task", "board"})
"""The acts that have no target."""


@dataclass(frozen=True, slots=True)
class Act:
    """One act: its kind, one of `ACTS`, and what it is about; `target` is empty for one that is
    about nothing more.
    """

    kind: str
    target: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.target}" if self.target else self.kind


@dataclass(frozen=True, slots=True)
class Actor:
    """Whose rights an act has; `labels` are the words of `ACTORS` that are true of it."""

    labels: frozenset[str]


def list_chats(acts: Iterable[str]) -> tuple[str, ...]:
    """Return the chats that acts name, which are hashes in the ledger, as people are."""
    parts = [act.partition(" ") for act in acts]
    return tuple(target for kind, _, target in parts if kind == "say" and target)


@lru_cache(maxsize=64)
def make_actor(
    role: Role, *, private: bool = True, own_work: bool = False, below_root: bool = False
) -> Actor:
    """Return the actor of a turn whose person has this role.

    `private`: nobody else writes there; `own_work`: nobody typed it; `below_root`: the agent is not
    the root.
    """
    if own_work and role == "owner":
        role = "member"
    labels = {EVERYBODY, role}
    if own_work:
        labels.add(OWN_WORK)
    elif not private:
        labels.add(GROUPS)
    if below_root:
        labels.add(AGENTS)
    return Actor(frozenset(labels))


@lru_cache(maxsize=1)
def make_everybody() -> Actor:
    """Return the actor of whom nothing is known."""
    return Actor(frozenset({EVERYBODY}))


def parse_actor(text: str) -> Actor:
    """Return the actor of whom these words of a policy are true, with commas between them."""
    words = frozenset(text.split(","))
    for word in sorted(words - ACTORS.keys()):
        raise UsageError(
            "EINVAL", f"{one_line(word, 40)!r} is nobody", suggestion=f"one of {', '.join(ACTORS)}"
        )
    return Actor(words | {EVERYBODY})
