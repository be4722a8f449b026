"""Tenants share one machine: they take fair turns at what is scarce, and each has a bound on what
it may have under way.

A tenant is a token within a namespace. A chat has a namespace of its own, so that what one chat
does keeps no other one waiting.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import TypeVar

from sigil.protocol import OWN_WORK, Caller

OVERDUE_SECONDS = 1.0
"""Whoever has waited so long for a first slot may have one of those that are kept for that."""
REMEMBERED = 4_096
"""So many namespaces and tokens are remembered with the turn that they had last, to be served in
rotation.
"""

_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class Tenant:
    """The account that a piece of work counts for. `token`: the id of the access token that it came
    with, empty for work of this process.
    """

    namespace: str = ""
    token: str = ""


SOLE_TENANT = Tenant()
"""The tenant of work that shares the machine with no other."""


def tenant_of(caller: Caller) -> Tenant:
    """Return the tenant that a request counts for: its caller, not the capability's owner.

    What agents do by themselves is one tenant, so that it never has the last slot: a chat's call
    does not wait for it.
    """
    if caller.session.startswith(OWN_WORK):
        return Tenant(OWN_WORK, caller.token)
    return Tenant(caller.own if caller.session else caller.namespace, caller.token)


@dataclass(eq=False, slots=True)
class _Waiter:
    tenant: Tenant
    resumes: bool
    turn: threading.Condition
    granted: bool = False
    is_overdue: bool = False


class FairQueue:
    """Hands out `slots`, at most `most` of them to one namespace at a time.

    A free slot goes to the namespace that holds the fewest, of those to the one whose last turn is
    the longest ago; within it to the token of which the same is true, and of that token to the
    request that came first. So a namespace that asks a hundred times at once delays only itself,
    and where `most` is less than `slots` it never has the last one.

    `extra` slots are kept for namespaces that hold none and have waited for a while: all others may
    be held by calls that go on for as long as their limits let them. Thread-safe.
    """

    def __init__(self, slots: int, most: int, *, extra: int = 0) -> None:
        self._slots = slots
        self._most = most
        self._extra = extra
        self._lock = threading.Lock()
        self._waiting: list[_Waiter] = []
        self._held: Counter[str] = Counter()
        self._held_by: Counter[Tenant] = Counter()
        self._turns = 0
        self._last_turn: OrderedDict[str | Tenant, int] = OrderedDict()
        self._closed = False

    @property
    def slots(self) -> int:
        """The number of slots."""
        return self._slots

    @property
    def waiting(self) -> int:
        """The number of callers that wait for a slot."""
        return len(self._waiting)

    def acquire(self, tenant: Tenant, patience: float, *, resumes: bool = False) -> bool:
        """Take a slot within `patience` seconds; return whether there was one. False at once when
        the queue is closed.

        `resumes`: for work that left its slot for a while and whose time goes on. It goes before
        the rest of its namespace and waits for no other one; where no other one waits, it need not
        even wait for its own, up to twice of what a namespace may hold.
        """
        with self._lock:
            if self._closed:
                return False
            if not self._waiting and self._may_take(tenant.namespace, resumes):
                self._take(tenant)
                return True
            waiter = _Waiter(tenant, resumes, threading.Condition(self._lock))
            self._waiting.append(waiter)
            self._hand_out()
            try:
                self._wait(waiter, patience)
            except BaseException:  # Ctrl-C
                if waiter.granted:
                    self._give_back(tenant)
                raise
            finally:
                if not waiter.granted:
                    self._waiting.remove(waiter)
                    self._hand_out()
            return waiter.granted

    def acquire_anyway(self, tenant: Tenant) -> None:
        """Take a slot whether there is one or not."""
        with self._lock:
            self._take(tenant)

    def release(self, tenant: Tenant) -> None:
        """Give a slot back; it goes to the next in turn."""
        with self._lock:
            self._give_back(tenant)

    def close(self) -> None:
        """Refuse all that wait for a slot, and all that come from now on."""
        with self._lock:
            self._closed = True
            for waiter in self._waiting:
                waiter.turn.notify()

    def _wait(self, waiter: _Waiter, patience: float) -> None:
        """Wait until the waiter has a slot, the queue is closed, or its patience is over."""

        def is_answered() -> bool:
            return waiter.granted or self._closed

        at_first = min(patience, OVERDUE_SECONDS)
        if not waiter.turn.wait_for(is_answered, at_first) and at_first < patience:
            waiter.is_overdue = True
            self._hand_out()
            waiter.turn.wait_for(is_answered, patience - at_first)

    def _may_take(self, namespace: str, resumes: bool, *, is_overdue: bool = False) -> bool:
        held = self._held[namespace]
        if resumes:
            alone = all(other.tenant.namespace == namespace for other in self._waiting)
            return held < self._most * (2 if alone else 1)
        # Resumed work beyond a namespace's share takes no slot from the others.
        used = sum(min(each, self._most) for each in self._held.values())
        extra = self._extra if is_overdue and not held else 0
        return held < self._most and used < self._slots + extra

    def _hand_out(self) -> None:
        while ready := [
            each
            for each in self._waiting
            if self._may_take(each.tenant.namespace, each.resumes, is_overdue=each.is_overdue)
        ]:
            first = min(
                ready, key=self._turn_order
            )  # of equals `min` takes the one that came first
            self._waiting.remove(first)
            self._take(first.tenant)
            first.granted = True
            first.turn.notify()

    def _turn_order(self, waiter: _Waiter) -> tuple[int, int, bool, int, int]:
        tenant = waiter.tenant
        namespace = tenant.namespace
        return (
            self._held[namespace],
            self._last_turn.get(namespace, 0),
            not waiter.resumes,
            self._held_by[tenant],
            self._last_turn.get(tenant, 0),
        )

    def _take(self, tenant: Tenant) -> None:
        self._held[tenant.namespace] += 1
        self._held_by[tenant] += 1
        self._turns += 1
        for holder in (tenant.namespace, tenant):
            self._last_turn[holder] = self._turns
            self._last_turn.move_to_end(holder)
        while len(self._last_turn) > REMEMBERED:
            self._last_turn.popitem(last=False)

    def _give_back(self, tenant: Tenant) -> None:
        _decrease(self._held, tenant.namespace)
        _decrease(self._held_by, tenant)
        if self._waiting:
            self._hand_out()


class AdmissionControl:
    """Bounds what is under way at once: `slots` in all, and never the last ones for one namespace.

    A namespace may have as many as are still free: half of the slots when it is alone, a third
    each when there are two, and so on; a token may have as many as it leaves to the other tokens of
    its namespace. Work that is not admitted is refused at once: nothing waits here. Thread-safe.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._lock = threading.Lock()
        self._used = 0
        self._held: Counter[str] = Counter()
        self._held_by: Counter[Tenant] = Counter()

    def enter(self, tenant: Tenant) -> bool:
        """Take a slot for `tenant`; return whether there was one, which it then has to `leave`."""
        with self._lock:
            held = self._held[tenant.namespace]
            most = (self._slots - self._used - held + 1) // 2
            if self._held_by[tenant] >= most:
                return False
            self._used += 1
            self._held[tenant.namespace] += 1
            self._held_by[tenant] += 1
            return True

    def leave(self, tenant: Tenant) -> None:
        """Give a slot back."""
        with self._lock:
            self._used -= 1
            _decrease(self._held, tenant.namespace)
            _decrease(self._held_by, tenant)


def _decrease(counts: Counter[_Key], key: _Key) -> None:
    """Count one less; drop the key at zero, so that the counter does not grow with every caller."""
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
