"""HP bound what an agent does by itself: its wakeups, tasks and mail, and never a person's message.

A turn of the agent's own costs HP when it closes; the time until the next one brings them back,
which is computed when the record is read. Only that work writes the record, one turn after the
other, and whoever enables the agent; both by compare-and-set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Final

from msgspec import Meta

from functions.texts.en import Texts
from functions.time.time_zone import format_clock
from sigil.json_fields import as_number
from sigil.protocol import Json
from sigil.storage.evolve import evolve
from sigil.storage.kv import ABSENT, KV, Item, keys
from sigil.storage.kv.base import get_many
from sigil.storage.kv.update import update_item
from sigil.storage.stored import NewerFormat, Shape, Stored, dumps

ENABLED_SHARE: Final = 0.1
ENABLED_TOKENS: Final = 10_000
"""An agent that is enabled has this share of all HP above the floor, and at least HP for so many
tokens: it does a few requests before it ends again. With the numbers of BuckyOS the share alone
would pay for none.
"""
AWAKE_SHARE: Final = 0.5
"""People are told again that it sleeps when so many HP had come back meanwhile."""
IO_CHARACTERS: Final = 65_536
"""What an action brings costs as much as the action for each so many characters."""
ANSWER_TOKENS: Final = 500
"""A request is expected to cost so many tokens beside its prompt."""
START_TOKENS: Final = 2_500
"""People are told that an agent begins again when it has HP for so many tokens: about as many as
the first request of an agent takes whose memory is empty.
"""
DIGITS: Final = 3
LIMIT: Final = "hp"
"""The limit in a turn's trace, and why a run was left out."""
DISABLED: Final = "disabled (hp)"
NO_HP_LEFT: Final = "HP 0"
NO_HP: Final = f"disabled ({NO_HP_LEFT})"
"""The state of an agent that has no HP left, for people and programs."""
SETTING: Final = "UNCAGED_HP"
DAMAGED: Final = "damaged hp"
Amount = Annotated[float, Meta(ge=0, lt=1e15)]
Time = Annotated[float, Meta(ge=0, lt=1e12)]
Steps = Sequence[Mapping[str, Json]]


@dataclass(frozen=True, slots=True)
class HpLimits:
    """How many HP an agent has at `most` (0: its own work is not bounded), and what takes them.

    At the `floor` it sleeps. They come back at `per_second` while it does nothing by itself.
    """

    most: float = 100_000.0
    floor: float = 1_000.0
    per_token: float = 0.1
    per_action: float = 10.0
    per_second: float = 1.0

    @property
    def after_enabling(self) -> float:
        """Return how many HP an agent has at least after it was enabled."""
        work = max(ENABLED_SHARE * self.most, ENABLED_TOKENS * self.per_token)
        return min(self.floor + work, self.most)

    def count_cost(self, tokens: int, steps: Steps) -> float:
        """Return what a turn with these steps costs: `tokens` for the model, its actions, which are
        all calls of tools, and the characters that they brought.
        """
        calls = [step for step in steps if step.get("kind") == "call"]
        parts = sum(int(as_number(step.get("size")) // IO_CHARACTERS) for step in calls)
        return round(tokens * self.per_token + (len(calls) + parts) * self.per_action, DIGITS)


@dataclass(frozen=True, slots=True)
class HpRecord(Stored):
    """The HP that an agent had `at` a time (seconds since 1970).

    `turn` is a hash of the event that was paid for last, and `paid` what it cost: a turn that
    closes once more after a crash pays the rest alone. `disabled` says that there were none left.
    `told` is a hash of the event in whose turn people were told that the agent sleeps.
    """

    hp: Amount
    at: Time
    turn: str = ""
    paid: Amount = 0.0
    disabled: bool = False
    told: str = ""

    def count_at(self, now: float, limits: HpLimits) -> float:
        """Return the HP at a time. While it is disabled, nothing comes back."""
        if self.disabled:
            return 0.0
        gained = max(0.0, now - self.at) * limits.per_second
        return min(round(self.hp + gained, DIGITS), limits.most)

    def count_before(self, event: str, began: float, limits: HpLimits) -> float:
        """Return the HP with which the turn of an event began, paid for or not."""
        if self.turn == _name_turn(event):
            return min(self.hp + self.paid, limits.most)
        return self.count_at(began, limits)

    def pay(self, event: str, cost: float, began: float, now: float, limits: HpLimits) -> HpRecord:
        """Return the record after the turn of an event, which began at a time."""
        before = self.count_before(event, began, limits)
        left = round(max(before - cost, 0.0), DIGITS)
        paid = min(cost, before)
        return evolve(self, hp=left, at=now, turn=_name_turn(event), paid=paid, disabled=left <= 0)

    def pay_beside(self, cost: float, now: float, limits: HpLimits) -> HpRecord:
        """Return the record after work beside the turns, which takes no HP below the floor: nobody
        would hear that the agent is disabled by it.
        """
        before = self.count_at(now, limits)
        left = max(before - cost, min(before, limits.floor))
        return evolve(self, hp=round(left, DIGITS), at=now)

    def tell_asleep(self, event: str, before: float, limits: HpLimits) -> HpRecord:
        """Return the record of an agent that falls asleep in the turn of an event, with so many HP
        before it. It names that turn as the one which tells people, unless another has told them.
        """
        is_told = self.told and before < AWAKE_SHARE * limits.most
        return self if is_told else evolve(self, told=_name_turn(event))

    def is_told_by(self, event: str) -> bool:
        """Return whether it is the turn of this event which tells people that the agent sleeps."""
        return self.told == _name_turn(event)


@dataclass(frozen=True, slots=True)
class HpReport:
    """The HP of an agent at a moment, for people and programs.

    `state` is `ok`, `asleep` near the floor, `disabled`, or `damaged` where the record cannot be
    read, which counts as at the floor. `works_at` is about when it can work by itself again, and
    `full_at` when they are all back (seconds since 1970), each None where no time does that.
    """

    hp: float
    most: float
    floor: float
    state: str
    works_at: float | None = None
    full_at: float | None = None


RECORD: Final = Shape[HpRecord](HpRecord, required=("hp", "at"))


@dataclass(frozen=True, slots=True)
class HpAccount:
    """The HP of an agent, as its `record` was read; `item` is what is stored of it.

    `is_damaged` says that what is stored cannot be read: it counts as at the floor from now on.
    """

    limits: HpLimits
    record: HpRecord
    item: Item | None = None
    is_damaged: bool = False

    def find_stop(self, now: float, cost: float = 0.0) -> str:
        """Return why work of the agent's own does not begin, or does not go on for so much `cost`;
        empty when it does.

        One with all of its HP begins, whatever it will cost: no sleep would bring it more.
        """
        if self.is_damaged:
            return DAMAGED
        if self.record.disabled:
            return DISABLED
        left = self.record.count_at(now, self.limits)
        if left >= self.limits.most:
            return ""
        return LIMIT if left <= self.limits.floor or left - cost < self.limits.floor else ""

    def is_near_floor(self, event: str, began: float, spent: float, cost: float) -> bool:
        """Return whether a turn that has `spent` so much would cross the floor by `cost` more."""
        before = self.record.count_before(event, began, self.limits)
        return before - spent - cost < self.limits.floor

    def report(self, now: float) -> HpReport:
        """Return what people are told of it."""
        limits = self.limits
        hp = self.record.count_at(now, limits)
        if self.record.disabled:
            return HpReport(hp, limits.most, limits.floor, "disabled")
        enough = min(limits.floor + START_TOKENS * limits.per_token + 1.0, limits.most)
        state = "asleep" if hp < enough else "ok"
        if self.is_damaged:
            state = "damaged"
        works = now + (enough - hp) / limits.per_second if hp < enough else None
        full = now + (limits.most - hp) / limits.per_second if hp < limits.most else None
        return HpReport(hp, limits.most, limits.floor, state, works, full)


def read_account(item: Item | None, limits: HpLimits, now: float) -> HpAccount:
    """Return the account in an item; without one the agent has all of its HP."""
    if item is None:
        return HpAccount(limits, HpRecord(limits.most, now))
    try:
        return HpAccount(limits, RECORD.read(item.value), item)
    except (ValueError, NewerFormat):
        return HpAccount(limits, HpRecord(limits.floor, now), item, is_damaged=True)


def load_account(kv: KV, agent: str, limits: HpLimits, now: float) -> HpAccount:
    """Return the account of an agent, as it is stored now."""
    return read_account(kv.get(keys.hp(agent)), limits, now)


def list_drained(
    kv: KV, root: str, names: Iterable[str], limits: HpLimits, now: float
) -> frozenset[str]:
    """Return which of the agents below a root, by their short names, have no HP left."""
    if limits.most <= 0:
        return frozenset()
    listed = list(names)
    items = get_many(kv, [keys.hp(f"{root}.{name}") for name in listed])
    return frozenset(
        name
        for name, item in zip(listed, items, strict=True)
        if read_account(item, limits, now).record.disabled
    )


def pay_turn(
    kv: KV,
    agent: str,
    limits: HpLimits,
    *,
    event: str,
    cost: float,
    began: float,
    now: float,
    falls_asleep: bool = False,
    known: HpAccount | None = None,
) -> HpRecord:
    """Take off what the turn of an event costs, once however often it closes; the new record.

    `falls_asleep` says that the turn ended at the floor. `known` is the account as the turn has
    read it.
    """

    def decide(item: Item | None) -> tuple[bytes | None, HpRecord]:
        record = read_account(item, limits, now).record
        paid = record.pay(event, cost, began, now, limits)
        if falls_asleep:
            paid = paid.tell_asleep(event, record.count_before(event, began, limits), limits)
        return dumps(paid), paid

    read = (known.item or ABSENT) if known else None
    return update_item(kv, keys.hp(agent), decide, known=read).answer


def pay_beside(kv: KV, agent: str, limits: HpLimits, cost: float, now: float) -> None:
    """Take off what work beside the turns costs: memory's, in sessions of the agent's own."""

    def decide(item: Item | None) -> tuple[bytes | None, None]:
        record = read_account(item, limits, now).record
        return dumps(record.pay_beside(cost, now, limits)), None

    update_item(kv, keys.hp(agent), decide)


def note_asleep(kv: KV, agent: str, limits: HpLimits, event: str, now: float) -> bool:
    """Note that work of an event does not begin for want of HP, and return whether people are to be
    told: once, until half of them have come back.
    """

    def decide(item: Item | None) -> tuple[bytes | None, bool]:
        record = read_account(item, limits, now).record
        noted = record.tell_asleep(event, record.count_at(now, limits), limits)
        return dumps(noted) if noted != record else None, noted.is_told_by(event)

    return update_item(kv, keys.hp(agent), decide).answer


def settle_clock(kv: KV, agent: str, limits: HpLimits, now: float) -> None:
    """Write a record anew that cannot be read, or that a clock has written which was ahead: without
    that, nothing would come back until then.
    """

    def decide(item: Item | None) -> tuple[bytes | None, None]:
        account = read_account(item, limits, now)
        if account.is_damaged:  # which people were told
            return dumps(evolve(account.record, at=now, told=DAMAGED)), None
        if account.record.at > now:
            return dumps(evolve(account.record, at=now)), None
        return None, None

    update_item(kv, keys.hp(agent), decide)


def enable_work(kv: KV, agent: str, limits: HpLimits, now: float) -> float:
    """Let an agent work by itself again that had too few HP, and return how many it has."""

    def decide(item: Item | None) -> tuple[bytes | None, float]:
        account = read_account(item, limits, now)
        if not account.find_stop(now):
            return None, account.record.count_at(now, limits)
        hp = limits.after_enabling
        return dumps(evolve(account.record, hp=hp, at=now, turn="", paid=0.0, disabled=False)), hp

    return update_item(kv, keys.hp(agent), decide).answer


def describe(report: HpReport, zone: str, now: float, texts: Texts) -> str:
    """Return the HP of an agent as a line for people."""
    parts = [texts.hp_now.format(hp=report.hp, most=report.most)]
    if report.state == "disabled":
        parts.append(texts.hp_disabled)
    elif report.works_at is not None:
        told = texts.hp_damaged if report.state == "damaged" else texts.hp_asleep
        parts.append(told.format(time=format_clock(report.works_at, zone, now)))
    elif report.full_at is not None:
        parts.append(texts.hp_full.format(time=format_clock(report.full_at, zone, now)))
    return " ".join(parts)


def _name_turn(event: str) -> str:
    """Return a hash of an event's id, which may name a chat."""
    return sha256(event.encode(errors="replace")).hexdigest()[:16]
