"""Strangers may invite the agent only so often: each of them, those of one server, and all."""

from __future__ import annotations

from functions.agent.access.invitations import (
    ALL_MOST,
    PERSON_MOST,
    SECONDS,
    SERVER_MOST,
    take_invitation,
)
from functions.events import Event, Sender
from sigil.storage.kv import KV
from sigil.storage.kv.memory import MemoryKV

PEOPLE = 7
"""So many people of a server come to its bound, each below their own."""


def invite(kv: KV, who: str, number: int, at: float = 0.0) -> bool:
    event = Event(
        id=f"matrix:{who}:{number}:{at}",
        kind="message",
        agent="main",
        session=f"matrix:!room{number}:example.org",
        sender=Sender(f"matrix:{who}"),
        text="",
        at=at,
        order="1",
    )
    return take_invitation(kv, "main", event, lambda: at)


def invite_from(kv: KV, server: str, at: float = 0.0) -> int:
    """Return how many invitations of the people of a server are taken."""
    taken = [
        invite(kv, f"@p{person}:{server}", number, at)
        for person in range(PEOPLE)
        for number in range(PERSON_MOST - 1)
    ]
    return sum(taken)


def test_a_server_and_all_of_them_together_come_to_a_bound() -> None:
    kv = MemoryKV()
    taken = [invite_from(kv, f"s{number}.example.org") for number in range(5)]
    assert taken == [SERVER_MOST] * (ALL_MOST // SERVER_MOST) + [0, 0]
    assert not invite(kv, "@new:elsewhere.org", 1)
    # one that was taken may come again, and counts no more
    assert invite(kv, "@p0:s0.example.org", 0)


def test_the_next_hour_has_its_own_invitations() -> None:
    kv = MemoryKV()
    assert invite_from(kv, "example.org") == SERVER_MOST
    assert invite_from(kv, "example.org", SECONDS / 2) == 0
    assert invite_from(kv, "example.org", SECONDS * 2) == SERVER_MOST
