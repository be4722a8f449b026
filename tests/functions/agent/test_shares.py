"""Whoever takes all that they can leaves room for others, and always for owners."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from functions.agent.access.members import People
from functions.agent.access.roles import Role, Rules
from functions.agent.shares import Holder, Places, PlacesTaken, require_place
from sigil.storage.kv.memory import MemoryKV
from tests.tables import each_row

OWNER, ANN, BEN = "telegram:1", "telegram:10", "telegram:11"
PLACES = Places("things", 16, "an owner drops one")


@pytest.fixture
def people() -> People:
    made = People(MemoryKV(), "main", Rules(owners=(OWNER,)), lambda: 1.0)
    made.let_in(ANN, "member", "Ann", OWNER)
    made.let_in(BEN, "member", "Ben", OWNER)
    made.link("slack:A", "Ann", ANN, OWNER, "member")
    return made


def why(people: People, who: str, role: Role, taken: Mapping[str, int], wanted: int = 1) -> str:
    """Return the bound that keeps somebody from a place, empty for none."""
    try:
        require_place(PLACES, taken, Holder(who, role, people), wanted)
    except PlacesTaken as refusal:
        return refusal.bound
    return ""


@each_row(
    ("who", "role", "taken", "bound"),
    [
        (ANN, "member", {}, ""),
        (ANN, "member", {ANN: 3, BEN: 4}, ""),
        (ANN, "member", {ANN: 4}, "person"),
        (ANN, "member", {"slack:A": 4}, "person"),
        ("slack:A", "member", {ANN: 2, "slack:A": 2}, "person"),
        (ANN, "member", {BEN: 4, "telegram:99": 4, OWNER: 4}, "reserve"),
        (ANN, "member", {"": 11}, ""),
        (ANN, "member", {"": 12}, "reserve"),
        (OWNER, "owner", {ANN: 4, BEN: 4, "telegram:99": 4}, ""),
        (OWNER, "owner", {OWNER: 15}, ""),
        (OWNER, "owner", {OWNER: 12, ANN: 4}, "all"),
        ("telegram:98", "guest", {"telegram:99": 2}, ""),
        ("telegram:99", "guest", {"telegram:99": 2}, "guest"),
        ("telegram:97", "guest", {"telegram:98": 2, "telegram:99": 2}, "guests"),
        ("telegram:97", "guest", {ANN: 4, BEN: 4, OWNER: 3}, ""),
        ("telegram:97", "guest", {ANN: 4, BEN: 4, OWNER: 4}, "reserve"),
    ],
)
def test_a_person_guests_together_and_the_reserve_bound_what_somebody_takes(
    people: People, who: str, role: Role, taken: Mapping[str, int], bound: str
) -> None:
    assert why(people, who, role, taken) == bound


def test_what_takes_more_room_than_one_place_counts_with_all_of_it(people: People) -> None:
    assert why(people, ANN, "member", {BEN: 4}, wanted=4) == ""
    assert why(people, ANN, "member", {ANN: 1}, wanted=4) == "person"
    assert why(people, OWNER, "owner", {ANN: 10}, wanted=7) == "all"


def test_of_very_few_places_the_last_one_is_an_owners(people: People) -> None:
    for most, free in ((1, 0), (2, 1), (3, 1)):
        places = Places("things", most, "")
        taken: dict[str, int] = {}
        for number in range(free):
            require_place(places, taken, Holder(ANN, "member", people))
            taken[ANN] = number + 1
        with pytest.raises(PlacesTaken):
            require_place(places, taken, Holder(ANN, "member", people))
        require_place(places, taken, Holder(OWNER, "owner", people))


def test_a_refusal_says_how_many_places_there_are_and_who_frees_one(people: People) -> None:
    with pytest.raises(PlacesTaken) as refused:
        require_place(PLACES, {ANN: 4}, Holder(ANN, "member", people))
    message = "one person has at most 4 of 16 things, and this one has 4"
    assert (refused.value.message, refused.value.suggestion) == (message, "an owner drops one")
