"""Tenants take fair turns and share the places: the many calls of one never keep another one waiting."""

from __future__ import annotations

import threading

import pytest

from sigil.protocol import Caller
from sigil.sandbox import tenants
from sigil.sandbox.tenants import (
    REMEMBERED,
    AdmissionControl,
    FairQueue,
    Tenant,
    tenant_of,
)
from tests.machine import until, within

ALICE, BOB, OWNER = Tenant("alice", "a1"), Tenant("bob", "b1"), Tenant("main", "admin")


class Line:
    """Those that wait at a queue, each in a thread of its own, and the order in which their turn
    came.
    """

    def __init__(self, queue: FairQueue) -> None:
        self._queue = queue
        self._threads: list[threading.Thread] = []
        self.served: list[str] = []

    def join(self, name: str, tenant: Tenant, **how: bool) -> None:
        """One more waits, after all those who joined before."""
        before = self._queue.waiting
        thread = threading.Thread(target=self._wait, args=(name, tenant), kwargs=how)
        thread.start()
        self._threads.append(thread)
        until(lambda: self._queue.waiting == before + 1)

    def _wait(self, name: str, tenant: Tenant, **how: bool) -> None:
        if self._queue.acquire(tenant, 20, **how):
            self.served.append(name)
            self._queue.release(tenant)

    def ended(self) -> list[str]:
        for thread in self._threads:
            thread.join(20)
        return self.served


def test_a_namespace_with_many_calls_waits_behind_itself_alone() -> None:
    queue = FairQueue(1, most=1)
    line = Line(queue)
    assert queue.acquire(ALICE, 0)
    for number in range(5):
        line.join(f"alice {number}", ALICE)
    line.join("owner", OWNER)
    line.join("bob", BOB)
    line.join("owner again", OWNER)
    queue.release(ALICE)
    assert line.ended() == [
        "owner",
        "bob",
        "alice 0",
        "owner again",
        "alice 1",
        "alice 2",
        "alice 3",
        "alice 4",
    ]


def test_within_a_namespace_the_tokens_go_round() -> None:
    queue, other = FairQueue(1, most=1), Tenant("alice", "a2")
    line = Line(queue)
    assert queue.acquire(ALICE, 0)
    for number in range(3):
        line.join(f"first {number}", ALICE)
    line.join("second", other)
    queue.release(ALICE)
    assert line.ended() == ["second", "first 0", "first 1", "first 2"]


def test_no_namespace_ever_has_the_last_slot() -> None:
    queue = FairQueue(3, most=2)
    assert [queue.acquire(ALICE, 0) for _ in range(3)] == [True, True, False]
    assert not queue.acquire(Tenant("alice", "another token"), 0)
    assert queue.acquire(OWNER, 0)
    assert not queue.acquire(BOB, 0)


def test_who_has_none_and_waits_for_long_has_one_that_is_kept_for_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tenants, "OVERDUE_SECONDS", 0.01)
    queue = FairQueue(1, most=1, extra=1)
    assert queue.acquire(ALICE, 0)
    assert not queue.acquire(BOB, 0)
    assert not queue.acquire(ALICE, 0.05)
    assert queue.acquire(BOB, within(20))
    assert not queue.acquire(OWNER, 0.05)
    queue.release(BOB)
    assert queue.acquire(OWNER, within(20))


def test_who_holds_less_is_next() -> None:
    queue = FairQueue(3, most=2)
    line = Line(queue)
    assert all(queue.acquire(who, 0) for who in (ALICE, ALICE, OWNER))
    line.join("owner", OWNER)
    line.join("bob", BOB)
    queue.release(ALICE)
    assert line.ended() == ["bob", "owner"]


def test_work_that_resumes_waits_for_no_other_namespace_but_for_its_own() -> None:
    queue = FairQueue(1, most=1)
    assert queue.acquire(ALICE, 0)
    assert queue.acquire(OWNER, 0, resumes=True)
    assert queue.acquire(ALICE, 0, resumes=True)  # nobody else waits: twice its share
    assert not queue.acquire(ALICE, 0, resumes=True)
    queue.release(ALICE)
    line = Line(queue)
    line.join("owner", OWNER)
    line.join("alice goes on", ALICE, resumes=True)  # she has her share, and somebody waits
    queue.release(OWNER)
    assert queue.waiting == 2
    queue.release(ALICE)
    assert sorted(line.ended()) == ["alice goes on", "owner"]


def test_who_gives_up_waiting_leaves_nothing_behind() -> None:
    queue = FairQueue(1, most=1)
    assert queue.acquire(ALICE, 0)
    assert not queue.acquire(OWNER, 0.01)
    assert queue.waiting == 0
    queue.release(ALICE)
    assert queue.acquire(BOB, 0)
    queue.release(BOB)


def test_closing_sends_away_who_waits_and_who_comes() -> None:
    queue = FairQueue(1, most=1)
    line = Line(queue)
    assert queue.acquire(ALICE, 0)
    line.join("owner", OWNER)
    queue.close()
    assert line.ended() == []
    assert not queue.acquire(BOB, 20)


def test_what_is_remembered_of_namespaces_is_bounded() -> None:
    queue = FairQueue(1, most=1)
    for number in range(REMEMBERED + 10):
        tenant = Tenant(f"n{number}")
        assert queue.acquire(tenant, 0)
        queue.release(tenant)
    assert len(queue._last_turn) == REMEMBERED


def admitted(admission: AdmissionControl, tenant: Tenant, most: int = 1_000) -> int:
    """Return how many more are admitted."""
    return next((number for number in range(most) if not admission.enter(tenant)), most)


def test_a_token_leaves_room_for_others_and_a_namespace_for_other_namespaces() -> None:
    admission = AdmissionControl(64)
    assert admitted(admission, ALICE) == 16
    assert admitted(admission, Tenant("alice", "a2")) == 8
    assert admitted(admission, OWNER) >= 8
    assert admission.enter(BOB)


@pytest.mark.parametrize("others", [0, 1, 10])
def test_however_many_tokens_a_namespace_has_there_is_a_place_for_another(others: int) -> None:
    admission = AdmissionControl(64)
    for number in range(others):
        admitted(admission, Tenant("alice", str(number)))
    assert admission.enter(OWNER)


def test_a_place_that_is_left_can_be_taken_again() -> None:
    admission = AdmissionControl(64)
    count = admitted(admission, ALICE)
    for _ in range(count):
        admission.leave(ALICE)
    assert admitted(admission, ALICE) == count


def test_a_request_counts_for_whoever_asks_and_a_chat_for_itself() -> None:
    assert tenant_of(Caller("alice", token="a1")) == ALICE
    assert tenant_of(Caller("main", session="telegram:7")) == Tenant("main~telegram:7")
    own, another = Caller("main", session="own:main"), Caller("main.alice", session="own:w-7")
    assert tenant_of(own) == tenant_of(another) != tenant_of(Caller("main", session="telegram:7"))
    assert tenant_of(Caller("main", session="telegram:7", owner=True, author="model")) == Tenant(
        "main~telegram:7"
    )
