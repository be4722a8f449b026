"""Shares of the places that everybody uses: whatever somebody takes, others find room.

Of many things there is a most: schedules of an agent, tasks of a board, agents below a root. One
rule divides all of them. A quarter is a reserve that owners alone use. A member has a quarter at
most, with all of their ids; all guests together have a quarter, and one guest half of that. What an
agent makes counts for the person on whose behalf it does. What nobody in particular has made takes
a place, and is in nobody's share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from functions.events import Event
from functions.texts.en import Texts
from sigil.errors import Refused

PARTS: Final = 4
"""A share is one of so many parts of the places."""
Bound = Literal["all", "reserve", "person", "guest", "guests"]
"""What keeps somebody from a place: there is none, the rest are owners', or a share is used up."""


@dataclass(frozen=True, slots=True)
class Shares:
    """How many places there are at most, of one person, of one guest and of all guests together,
    and how many are kept for owners.
    """

    most: int
    person: int
    guest: int
    guests: int
    reserve: int


@dataclass(frozen=True, slots=True)
class Places:
    """The places for one kind of thing: its name in the plural, and how many there are; 0 is no
    limit.

    `freed` says who frees one, and how. `encode` is how the ids of people are stored beside what
    they have made.
    """

    name: str
    most: int
    freed: str
    code: str = "EQUOTA"
    encode: Callable[[str], str] = str


Role = Literal["owner", "member", "guest"]


class KnownIds(Protocol):
    """Knows which ids are those of one person, and who is an owner."""

    def is_owner(self, who: str) -> bool:
        """Return whether somebody is an owner, whatever is done on their behalf."""
        ...

    def list_firsts(self) -> Mapping[str, str]:
        """Return the first id of each person who is no guest, by every id that they have."""
        ...


@dataclass(frozen=True, slots=True)
class Holder:
    """Whoever wants a place, by their id, with their role; `people` knows their other ids."""

    who: str
    role: Role
    people: KnownIds


class PlacesTaken(Refused):
    """There is no place for somebody. `own` are those that count for the `bound`, which has
    `share` of all.
    """

    def __init__(self, places: Places, bound: Bound, own: int, share: int, wanted: int) -> None:
        more = f", and {wanted:,} more do not fit" if wanted > 1 else ""
        of_all = f"of {places.most:,} {places.name}"
        message = {
            "all": f"{own:,} {of_all} are taken{more}",
            "reserve": f"{own:,} {of_all} are taken{more}: the last {share:,} are for owners alone",
            "person": f"one person has at most {share:,} {of_all}, and this one has {own:,}{more}",
            "guest": f"one guest has at most {share:,} {of_all}, and this one has {own:,}{more}",
            "guests": f"guests have at most {share:,} {of_all}, and have {own:,}{more}",
        }[bound]
        super().__init__(places.code, message, suggestion=places.freed)
        self.bound = bound
        self.own = own
        self.share = share
        self.most = places.most


def find_holder(event: Event, role: Role, people: KnownIds) -> Holder:
    """Return for whom the turn of an event takes places.

    What an owner has done by the agent itself has a member's rights, but is the owner's. What comes
    over a hook is not, for others send it.
    """
    if event.has_principal and not event.hook and people.is_owner(event.behalf):
        role = "owner"
    return Holder(event.behalf, role, people)


def divide_places(most: int) -> Shares:
    """Return the shares of so many places; each is one place at least."""
    part = max(most // PARTS, 1)
    return Shares(most, person=part, guest=max(part // 2, 1), guests=part, reserve=part)


def may_exceed(places: Places, total: int, holder: Holder | None) -> bool:
    """Return whether a share may be used up where so many places are taken by whomever, so that it
    has to be counted who took them.
    """
    if not places.most or holder is None or holder.role == "owner":
        return False
    return total > divide_places(places.most).guest


def require_place(
    places: Places, taken: Mapping[str, int], holder: Holder | None, wanted: int = 1
) -> None:
    """Raise `PlacesTaken` unless there is room for what somebody wants.

    `taken` has how much each id has made, the empty one for nobody in particular. Without a
    `holder` an owner wants it, on the machine.
    """
    if not places.most:
        return
    shares = divide_places(places.most)
    total = sum(taken.values())
    if holder is None or holder.role == "owner":
        if total + wanted > shares.most:
            raise PlacesTaken(places, "all", total, shares.most, wanted)
        return
    is_guest = holder.role == "guest"
    share = shares.guest if is_guest else shares.person
    open_to_all = shares.most - shares.reserve
    if total + wanted <= min(share, open_to_all):
        return  # nobody has more than that, so that nobody has to be looked up
    encode = places.encode
    firsts = {encode(id): encode(first) for id, first in holder.people.list_firsts().items()}
    me = firsts.get(encode(holder.who), encode(holder.who))
    own = sum(count for by, count in taken.items() if by and firsts.get(by, by) == me)
    if own + wanted > share:
        raise PlacesTaken(places, "guest" if is_guest else "person", own, share, wanted)
    of_guests = sum(count for by, count in taken.items() if by and by not in firsts)
    if is_guest and of_guests + wanted > shares.guests:
        raise PlacesTaken(places, "guests", of_guests, shares.guests, wanted)
    if total + wanted > open_to_all:
        raise PlacesTaken(places, "reserve", total, shares.reserve, wanted)


def tell_taken(refusal: Refused, full: str, texts: Texts) -> str:
    """Return the sentences that say whose places are taken, with `full`: who makes room, and how.

    Another refusal is raised again.
    """
    if not isinstance(refusal, PlacesTaken):
        raise refusal
    pattern = texts.places_taken[refusal.bound]
    said = pattern.format(own=refusal.own, share=refusal.share, most=refusal.most)
    return f"{said} {full}"
