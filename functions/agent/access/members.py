"""Members are the people whom an owner let in, and the owner who paired.

They are kept in the store; owners that `UNCAGED_OWNERS` names are not among them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal

from msgspec import Meta

from functions.agent.access.private_chats import PrivateChats
from functions.agent.access.roles import LOCAL_OWNERS, PERSON, Role, Rules
from functions.agent.sanitize import clean_text
from functions.channels.platforms import find_about, find_id_scope
from functions.events import ID_CHARACTERS, Event
from sigil.errors import Refused, UsageError, one_line
from sigil.storage.kv import ABSENT, KV, Item, Key, keys
from sigil.storage.kv.update import scan_all, update
from sigil.storage.stored import Shape, Stored, dumps, later

LinkedRole = Literal["owner", "member"]
MOST = 1_000
"""An agent lets in so many people."""
NAME_CHARACTERS = 60
LINKS_MOST = 4
"""So many further ids may one person have."""
TOLD_MOST = 3
"""So many owners are told in their private chats of what waits for one."""
LATEST = 1e11
"""A time later than any that a clock shows."""


@dataclass(frozen=True, slots=True)
class Person(Stored):
    """Somebody who was let in.

    `name` is what they call themselves, `at` since when they are in (seconds since 1970), `by` who
    let them in.

    `same` is the id that the same person has on another platform. The role is that of this first
    id, wherever a person is looked up. The record itself has the role of a guest, which lets nobody
    in: so it counts for nothing without the first one's. `allowed` is the most that the id was
    linked for, whatever the first one becomes; it is empty in records of older versions.
    """

    id: str
    role: Role
    name: str
    at: Annotated[float, Meta(ge=0, lt=LATEST)]
    by: str
    same: str = later("")
    allowed: LinkedRole | Literal[""] = later("")


_PERSON: Final = Shape[Person](Person)


@dataclass(frozen=True, slots=True)
class Standing:
    """What somebody may do: their role, and the `payer`, the first of a person's ids, whose daily
    allowance they use. It is empty where the id is a person's only one.
    """

    role: Role
    payer: str = ""


class People:
    """The people of one agent. `now` returns seconds since 1970."""

    def __init__(self, kv: KV, agent: str, rules: Rules, now: Callable[[], float]) -> None:
        self._kv = kv
        self._agent = agent
        self._rules = rules
        self._now = now

    def find_role(self, event: Event) -> Role:
        """Return the sender's role; the store is read only for those whom no setting names."""
        return self.find_standing(event).role

    def find_standing(self, event: Event) -> Standing:
        """Return the sender's role and whose allowance they use; reads as `find_role`."""
        return self.take_standing(event, [self._kv.get(key) for key in self.list_keys(event)])

    def list_keys(self, event: Event) -> list[Key]:
        """Return the key of the sender's record; none for those whom the settings name."""
        if self._rules.find_named_role(event):
            return []
        return [keys.person(self._agent, event.behalf)]

    def take_standing(self, event: Event, items: Sequence[Item | None]) -> Standing:
        """Return the sender's standing from what was just read at `list_keys`."""
        named = self._rules.find_named_role(event)
        if named:
            return Standing(named)
        item = items[0]
        person = self._resolve(_read_person(item.value)) if item else None
        if person is None:
            return Standing("guest")
        role = self._rules.limit_role(person.role) if event.has_principal else person.role
        return Standing(role, person.same)

    def find_member(self, who: str) -> Person | None:
        """Return somebody who was let in; None for everybody else."""
        return self._resolve(self._read(who))

    def is_owner(self, who: str) -> bool:
        """Return whether somebody is an owner, whatever is done on their behalf."""
        if who in LOCAL_OWNERS or who in self._rules.owners:
            return True
        person = self.find_member(who) if PERSON.fullmatch(who) else None
        return person is not None and person.role == "owner"

    def is_same_person(self, one: str, other: str) -> bool:
        """Return whether two ids are one person's, or both owners', who may read everything."""
        if self.is_owner(one) and self.is_owner(other):
            return True
        known = [self.find_member(one), self.find_member(other)]
        firsts = [person.same if person else "" for person in known]
        return (firsts[0] or one) == (firsts[1] or other)

    def list_owner_chats(self, chats: PrivateChats) -> list[str]:
        """Return the private chats of the first owners of whom one is known, one for each of
        them.
        """
        members = [each for each in self.list_members() if each.role == "owner"]
        firsts = {each.id: each.same for each in members if each.same}
        owners = dict.fromkeys((*self._rules.owners, *(each.id for each in members)))
        known = chats.find_all({*owners, *firsts.values()})
        # whoever is asked by their first id is not asked again by a further one
        asked = [who for who in owners if who in known and firsts.get(who) not in known]
        return [known[who] for who in asked][:TOLD_MOST]

    def list_members(self) -> list[Person]:
        """Return everybody who was let in, by id."""
        known = {person.id: person for person in self._scan_members()}
        resolved = [self._take_role_of_first(person, known.get) for person in known.values()]
        return sorted((person for person in resolved if person), key=lambda person: person.id)

    def list_firsts(self) -> dict[str, str]:
        """Return the first id of each person who is no guest, by every id that they have."""
        named = {who: who for who in (*LOCAL_OWNERS, *self._rules.owners)}
        return named | {each.id: each.same or each.id for each in self.list_members()}

    def has_owner(self) -> bool:
        """Return whether anybody on a platform is an owner."""
        return bool(self._rules.owners) or any(
            person.role == "owner" for person in self.list_members()
        )

    def require_room(self) -> None:
        """Raise `Refused` ELIMIT when nobody else may be let in."""
        if sum(1 for _ in self._scan_members()) >= MOST:
            raise Refused(
                "ELIMIT",
                f"{MOST:,} people were let in, and no more may be",
                suggestion="take somebody out first",
            )

    def let_in(self, who: str, role: Role, name: str, by: str) -> None:
        """Let somebody in. Whoever is in already keeps their role, unless they become an owner."""
        person = Person(
            who,
            role,
            one_line(clean_text(name), NAME_CHARACTERS),
            self._now(),
            one_line(by, ID_CHARACTERS),
        )

        def decide(value: bytes | None) -> tuple[bytes | None, None]:
            known = _read_person(value) if value is not None else None
            if known is None or known.same:
                return dumps(person), None
            if known.role == "owner" or role == "member":
                return None, None
            return dumps(replace(person, _rest=known._rest)), None

        update(self._kv, keys.person(self._agent, who), decide)

    def change_role(self, who: str, role: LinkedRole) -> Role:
        """Give somebody who was let in another role, with all their ids, and return the one before.

        Raises `UsageError` for an id that has no role of its own, and `Refused` ELAST where nobody
        would own the agent.
        """
        self.require_unnamed(who)

        def decide(value: bytes | None) -> tuple[bytes | None, Role]:
            known = _read_person(value) if value is not None else None
            if known is None:
                raise _unknown_member(who)
            if known.same:
                raise UsageError(
                    "EINVAL",
                    f"{who} has the role of {known.same}, which it is linked to",
                    suggestion=f"change the role of {known.same}",
                )
            if known.role == role:
                return None, known.role
            return dumps(replace(known, role=role)), known.role

        key = keys.person(self._agent, who)
        if role != "owner":
            self.require_other_owner(who)
        before = update(self._kv, key, decide)
        if before == "owner" != role and not self.has_owner():
            # two owners made each other members at the same moment: neither of them stays one
            update(self._kv, key, lambda value: (_give_role(value, "owner"), None))
            raise _last_owner(who)
        return before

    def let_in_by_id(self, who: str, by: str) -> None:
        """Let in somebody by their id, who can be given no code; `UsageError` when it is none."""
        name, _, id = who.partition(":")
        about = find_about(name)
        if about is None or not PERSON.fullmatch(who):
            raise UsageError(
                "EINVAL", "that is nobody's id", suggestion="PLATFORM:ID, such as telegram:123"
            )
        if about.own_chat and not re.fullmatch(about.own_chat, id, re.ASCII):
            raise UsageError(
                "EINVAL",
                f"{one_line(who, NAME_CHARACTERS)} is nobody's id",
                suggestion=f"in {about.title} it is {name}:{about.id_form}",
            )
        self.require_room()
        self.let_in(who, "member", "", by)

    def find_first(self, who: str) -> str:
        """Return the first id of a person, which has their role: `who`, or the id that it is linked
        to. `Refused` for a guest.
        """
        person = self.find_member(who)
        first = person.same or who if person else who
        if person is None and who not in LOCAL_OWNERS and who not in self._rules.owners:
            raise Refused(
                "EPERM", f"{who} is a guest", suggestion="let them in first, with a code of theirs"
            )
        return first

    def require_linkable(self, who: str, first: str, asked: Collection[str] = ()) -> None:
        """Raise `Refused` where an id cannot be another one of the person with this first id.

        That is so for whoever is in already, for a second account where the person has one, and
        beyond the number of ids that one person may have. `asked` are those that wait to be linked.
        """
        known = self.find_member(who)
        if who in self._rules.owners or (known and known.same != first):
            raise Refused(
                "EEXIST",
                f"{who} is somebody whom I know already",
                suggestion="take that id out first: `/pair remove ID`",
            )
        linked = {each.id for each in self._scan_members() if each.same == first}
        further = {*linked, *asked} - {who}
        for each in (first, *sorted(further)):
            if find_id_scope(each) == find_id_scope(who) and _account(each) != _account(who):
                raise Refused(
                    "ESAME",
                    f"{who} and {each} are two people to me: their platform is the same",
                    suggestion="an owner lets them in as a person of their own with `/pair CODE`",
                )
        if len(further) >= LINKS_MOST:
            raise Refused(
                "ELIMIT",
                f"{first} has {LINKS_MOST} further ids, with those asked for within the day, and no"
                " more may be",
                suggestion="take one of them out first",
            )

    def link(self, who: str, name: str, first: str, by: str, allowed: LinkedRole) -> None:
        """Let in an id that the same person has as `first`, with what that may, but no more than
        what is `allowed`. Whoever is in by themselves stays so.
        """
        if who == first:
            return
        person = Person(
            who,
            "guest",
            one_line(clean_text(name), NAME_CHARACTERS),
            self._now(),
            one_line(by, ID_CHARACTERS),
            first,
            allowed,
        )

        def decide(value: bytes | None) -> tuple[bytes | None, None]:
            known = _read_person(value) if value is not None else None
            return (None if known and not known.same else dumps(person)), None

        update(self._kv, keys.person(self._agent, who), decide)

    def remove_member(self, who: str) -> Person:
        """Take somebody out again, with the further ids that are linked to this one: from their
        next message on they are guests.

        Raises `UsageError` when they were never let in or the settings name them, and `Refused`
        ELAST where nobody would own the agent.
        """
        self.require_unnamed(who)
        person = self._read(who)
        if person is None:
            raise _unknown_member(who)
        self.require_other_owner(who)
        had_owner = self.has_owner()
        # the first id goes last: what is interrupted can be done again
        gone = [*(each for each in self._scan_members() if each.same == who), person]
        for each in gone:
            self._kv.delete(keys.person(self._agent, each.id))
        if had_owner and not self.has_owner():
            # two owners took each other out at the same moment: neither of them goes
            for each in reversed(gone):
                self._kv.put(keys.person(self._agent, each.id), dumps(each), expect=ABSENT)
            raise _last_owner(who)
        return person

    def require_unnamed(self, who: str) -> None:
        """Raise `UsageError` for nobody's id, and for an owner of the settings."""
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

    def require_other_owner(self, who: str) -> None:
        """Raise `Refused` ELAST where nobody but `who`, by whatever id, owns the agent."""
        if self._rules.owners:
            return
        owners = [each for each in self.list_members() if each.role == "owner"]
        if owners and all(who in (each.id, each.same) for each in owners):
            raise _last_owner(who)

    def _read(self, who: str) -> Person | None:
        item = self._kv.get(keys.person(self._agent, who))
        return _read_person(item.value) if item else None

    def _resolve(self, person: Person | None) -> Person | None:
        """Return a person with their role, from the first id's record for a further id."""
        return person and self._take_role_of_first(person, self._read)

    def _take_role_of_first(
        self, person: Person, read: Callable[[str], Person | None]
    ) -> Person | None:
        if not person.same:
            return person
        role: Role = "owner"
        if person.same not in LOCAL_OWNERS and person.same not in self._rules.owners:
            first = read(person.same)
            # a link leads to no other link, so that there are no chains
            if first is None or first.same:
                return None
            role = first.role
        return replace(person, role=person.allowed if person.allowed == "member" else role)

    def _scan_members(self) -> Iterator[Person]:
        for _, item in scan_all(self._kv, keys.person(self._agent, "").partition):
            person = _read_person(item.value)
            if person:
                yield person


def format_person(id: str, name: str) -> str:
    """Return a person as they are named in a chat: by their id, and as they call themselves."""
    return f"`{quote(id)}` (`{quote(name)}`)" if name else f"`{quote(id)}`"


def quote(text: str) -> str:
    """Return somebody else's words so that they end no code span."""
    return text.replace("`", "'")


def _give_role(value: bytes | None, role: Role) -> bytes | None:
    """Return the record of somebody with another role; None where there is none."""
    known = _read_person(value) if value is not None else None
    return dumps(replace(known, role=role)) if known else None


def _unknown_member(who: str) -> UsageError:
    return UsageError(
        "ENOENT",
        f"the id {who} was not let in",
        suggestion="`/pair` and `uncaged channel pair --list` show who is in",
    )


def _last_owner(who: str) -> Refused:
    return Refused(
        "ELAST",
        f"{who} is the last owner",
        suggestion="make somebody else an owner first, with `uncaged people role ID owner`",
    )


def _account(who: str) -> str:
    """Return what stands behind the channel's name in an id; other bots know it by the same."""
    return who.partition(":")[2]


def _read_person(value: bytes) -> Person | None:
    """Return the stored person; None for a damaged record, which lets nobody in."""
    try:
        person = _PERSON.read(value)
    except ValueError:
        return None
    return person if person.role != "guest" or person.same else None
