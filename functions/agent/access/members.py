"""The people whom an owner let in, and the owner who paired: who they are, kept in the store beside
`UNCAGED_OWNERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

from msgspec import Meta

from functions.agent.access.roles import PERSON, Role, Rules
from functions.agent.sanitize import clean
from functions.events import Event
from sigil.errors import Refused, UsageError, one_line
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, dumps

MOST = 1_000
"""People that an agent lets in."""
NAME_CHARACTERS = 60
PAGE = 100
LATEST = 1e11
"""Later than any time that a clock shows."""


@dataclass(frozen=True, slots=True)
class Person(Stored):
    """Somebody who was let in. `name`: what they call themselves; `at`: since when, in seconds
    since 1970; `by`: who let them in.
    """

    id: str
    role: Role
    name: str
    at: Annotated[float, Meta(ge=0, lt=LATEST)]
    by: str


_PERSON: Final = Shape[Person](Person)


class People:
    """The people of one agent. `now`: seconds since 1970."""

    def __init__(self, kv: KV, agent: str, rules: Rules, now: Callable[[], float]) -> None:
        self._kv = kv
        self._agent = agent
        self._rules = rules
        self._now = now

    def role(self, event: Event) -> Role:
        """The sender's role; the store is asked once, and only about those whom the settings do not
        name.
        """
        return self.take_role(event, [self._kv.get(key) for key in self.list_keys(event)])

    def list_keys(self, event: Event) -> list[Key]:
        """Return the key of what the sender's role depends on; none for those whom the settings
        name.
        """
        return [] if self._rules.named(event) else [keys.person(self._agent, event.sender.id)]

    def take_role(self, event: Event, items: Sequence[Item | None]) -> Role:
        """Return what `role` does, from what was just read at `list_keys`."""
        named = self._rules.named(event)
        if named:
            return named
        item = items[0]
        person = _revived(item.value) if item else None
        return person.role if person else "guest"

    def find(self, who: str) -> Person | None:
        """Somebody who was let in; None for everybody else."""
        item = self._kv.get(keys.person(self._agent, who))
        return _revived(item.value) if item else None

    def all(self) -> list[Person]:
        """Everybody who was let in, by id."""
        return sorted(self._all(), key=lambda person: person.id)

    def owned(self) -> bool:
        """Whether anybody on a platform is an owner."""
        return bool(self._rules.owners) or any(person.role == "owner" for person in self._all())

    def demand_room(self) -> None:
        """`Refused` when nobody else may be let in."""
        if sum(1 for _ in self._all()) >= MOST:
            raise Refused(
                "ELIMIT",
                f"{MOST:,} people were let in, and no more may be",
                suggestion="take somebody out first",
            )

    def let_in(self, who: str, role: Role, name: str, by: str) -> None:
        """Let somebody in. Who is in already stays what they are, unless it makes them an owner."""
        person = Person(
            who,
            role,
            one_line(clean(name), NAME_CHARACTERS),
            self._now(),
            one_line(by, NAME_CHARACTERS),
        )

        def decide(value: bytes | None) -> tuple[bytes | None, None]:
            known = _revived(value) if value is not None else None
            if known and (known.role == "owner" or role == "member"):
                return None, None
            return dumps(replace(person, _rest=known._rest if known else None)), None

        update(self._kv, keys.person(self._agent, who), decide)

    def remove(self, who: str) -> Person:
        """Take somebody out again: from their next message on they are a guest. `UsageError` when
        they were never let in.
        """
        if not PERSON.fullmatch(who):
            raise UsageError(
                "EINVAL", "that is nobody's id", suggestion="PLATFORM:ID, such as telegram:123"
            )
        if who in self._rules.owners:
            raise UsageError(
                "EINVAL",
                f"the settings make {who} an owner",
                suggestion="take the id out of UNCAGED_OWNERS",
            )
        person = self.find(who)
        if person is None:
            raise UsageError(
                "ENOENT", f"the id {who} was not let in", suggestion="see who is in, without an id"
            )
        self._kv.delete(keys.person(self._agent, who))
        return person

    def _all(self) -> Iterator[Person]:
        after, partition = "", keys.person(self._agent, "").partition
        while page := self._kv.scan(partition, after=after, limit=PAGE):
            yield from filter(None, (_revived(item.value) for _, item in page))
            after = page[-1][0]


def _revived(value: bytes) -> Person | None:
    """The person whose fields were stored; None for what cannot be believed, which lets nobody
    in.
    """
    try:
        person = _PERSON.read(value)
    except ValueError:
        return None
    return person if person.role != "guest" else None
