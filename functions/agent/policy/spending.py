"""Spending is bounded by caps: of one payment, of a day, and of a piece of work.

No way of paying is connected: an approved payment is booked, and a person pays. What was booked
stands in one item a day, which is changed by compare-and-set, so payments that are asked for at
once never exceed a cap together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

import orjson
from msgspec import Meta

from functions.agent.policy.gate import SOURCE, PolicyRefusal
from functions.agent.policy.rules import Policy, Spending, format_amount
from functions.time.time_zone import DAY_SECONDS, to_local
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, damaged, dumps

PAYMENTS_MOST: Final = 500
"""So many payments are booked in a day at most."""
TASK_DAYS: Final = 8
"""The payments of a piece of work are counted over so many days."""
KEPT_SECONDS: Final = 400 * DAY_SECONDS
Amount = Annotated[int, Meta(ge=0, lt=10**12)]


@dataclass(frozen=True, slots=True)
class Payment(Stored):
    """A payment that was booked. `id` is that of the call which asked for it, `amount` in
    hundredths of the currency, `task` the piece of work, `at` in seconds since 1970.
    """

    id: str
    amount: Amount
    currency: str
    payee: str
    task: str
    at: Annotated[float, Meta(ge=0, lt=1e12)]


_PAYMENTS: Final = Shape[tuple[Payment, ...]](tuple[Payment, ...])


def combine_caps(policies: Sequence[Policy]) -> Spending:
    """Return the caps that hold where several policies do: the smallest of each."""
    caps = [policy.spending for policy in policies]
    if any(each.currency != caps[0].currency for each in caps):
        return Spending(caps[0].currency)
    return replace(
        caps[0],
        payment=min(each.payment for each in caps),
        day=min(each.day for each in caps),
        task=min(each.task for each in caps),
    )


class SpendingBook:
    """What a root and the agents below it have spent; days are those of `zone`."""

    def __init__(self, kv: KV, root: str, zone: str) -> None:
        self._kv = kv
        self._root = root
        self._zone = zone

    def book(self, payment: Payment, caps: Spending) -> Spending:
        """Book a payment, and return what is left below the caps; the same one again is booked
        once.

        `PolicyRefusal` EPERM for one that exceeds a cap.
        """
        earlier = self._sum_earlier(payment)

        def decide(value: bytes | None) -> tuple[bytes | None, Spending]:
            booked = _read(value)
            left = _count_left(booked, payment, caps, earlier)
            if any(each.id == payment.id for each in booked):
                return None, left
            _require_room(booked, payment, left, caps)
            after = (*booked, payment)
            written = dumps(after)
            return written, _count_left(after, payment, caps, earlier)

        return update(
            self._kv, keys.spending(self._root, self._day(payment.at)), decide, KEPT_SECONDS
        )

    def check(self, payment: Payment, caps: Spending) -> None:
        """Raise `PolicyRefusal` as `book` does, and change nothing."""
        item = self._kv.get(keys.spending(self._root, self._day(payment.at)))
        booked = _read(item.value if item else None)
        if any(each.id == payment.id for each in booked):
            return
        left = _count_left(booked, payment, caps, self._sum_earlier(payment))
        _require_room(booked, payment, left, caps)

    def _sum_earlier(self, payment: Payment) -> int:
        """Return what the piece of work spent on the days before."""
        today = self._day(payment.at)
        days = [self._day(payment.at - back * DAY_SECONDS) for back in range(1, TASK_DAYS)]
        total = 0
        for day in dict.fromkeys(days):
            item = self._kv.get(keys.spending(self._root, day)) if day != today else None
            booked = _read(item.value if item else None)
            total += sum(each.amount for each in booked if each.task == payment.task)
        return total

    def _day(self, at: float) -> str:
        return f"{to_local(at, self._zone):%Y-%m-%d}"


def _count_left(
    booked: Sequence[Payment], payment: Payment, caps: Spending, earlier: int
) -> Spending:
    """Return how much may still be spent in one payment, in the day and for the piece of work."""
    today = sum(each.amount for each in booked)
    task = earlier + sum(each.amount for each in booked if each.task == payment.task)
    day = max(caps.day - today, 0)
    for_task = max(caps.task - task, 0)
    return replace(caps, payment=min(caps.payment, day, for_task), day=day, task=for_task)


def _require_room(
    booked: Sequence[Payment], payment: Payment, left: Spending, caps: Spending
) -> None:
    caps_names = {"payment": "a payment", "day": "a day", "task": "a task"}
    for name, words in caps_names.items():
        cap = getattr(caps, name)
        room = caps.payment if name == "payment" else getattr(left, name)
        if payment.amount > room:
            shown = format_amount(cap, caps.currency)
            rest = (
                "" if name == "payment" else f", of which {format_amount(room, '').strip()} is left"
            )
            raise refuse_payment(payment.payee, f"the cap of {words} is {shown}{rest}")
    if len(booked) >= PAYMENTS_MOST:
        raise refuse_payment(payment.payee, f"there were {PAYMENTS_MOST} payments today")


def refuse_payment(payee: str, rule: str) -> PolicyRefusal:
    """Return the error for a payment that the policy does not allow."""
    refusal = PolicyRefusal(
        "EPERM",
        f"the policy does not allow `spend {payee}`: {rule}",
        source=SOURCE,
        suggestion="do without it, or tell the person what it would cost and why",
        reason="policy",
    )
    refusal.act = f"spend {payee}"
    refusal.rule = rule
    return refusal


def _read(value: bytes | None) -> tuple[Payment, ...]:
    """Return the payments of a day. What cannot be read lets nothing be spent."""
    try:
        return _PAYMENTS.convert(orjson.loads(value)) if value else ()
    except ValueError:
        raise damaged("the payments of a day cannot be read", source=SOURCE) from None
