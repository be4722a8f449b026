"""Breakers say whether a turn may go on, before every request to the model and every tool call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from functions.agent.agents.record import find_absence
from functions.agent.conversation.messages import Usage
from functions.agent.safety.budget import (
    CHECKED_SECONDS,
    SUMMED_SECONDS,
    TOLD_SHARE,
    PeriodTokens,
    RunningTotal,
    SafetyLimits,
    TokenBudget,
    name_period,
    read_forgiven,
    read_total,
)
from functions.agent.safety.locks import Lock, parse_lock
from functions.agent.safety.session_usage import (
    NO_ACTIVITY,
    SessionActivity,
    SessionUsage,
    read_tokens,
    read_usage,
)
from functions.agent.safety.status import MOST, SafetyStatus
from functions.agent.safety.stop_mark import StopMark, read_mark
from functions.time.clock import Clock
from sigil.storage.evolve import evolve
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.base import get_many

NEVER = -1.0
"""No total is as recent as this."""
PASSING = ("budget", "agent-budget", "session-budget", "halted")
"""Reasons that are over as soon as nothing trips any more: a new period began, a halt of the whole
agent ended.
"""


@dataclass(frozen=True, slots=True)
class BudgetRecords:
    """The records of one budget: what was forgiven of its period, and the running total."""

    forgiven: Item | None
    total: Item | None


@dataclass(frozen=True, slots=True)
class SafetyRecords:
    """The records that decide whether a session may go on, read with one request.

    `locks` are those of the root, of the agent below it and of the session. `mark` says which turn
    is told to stop, and `away` that all turns are, as the agent is not enabled any more. `own` is
    what the session wrote down for the `period`, `other` what it wrote down for work beside its
    turns; `budgets` are the records of each budget. `read` is when that was, a time of the
    monotonic clock. `watched` names a process whose page looks at the chat.
    """

    locks: tuple[Lock, ...]
    mark: StopMark | None
    period: str
    own: Item | None
    other: Item | None
    budgets: tuple[BudgetRecords, ...]
    read: float
    away: str = ""
    watched: Item | None = None

    def find_stop(self, event: str) -> StopMark | None:
        """Return the mark that tells the turn of this event to stop; None where none does."""
        if self.away:
            return StopMark(event, self.away)
        return self.mark if self.mark and self.mark.stops_turn(event) else None


@dataclass(slots=True)
class Breakers:
    """The breakers of one session, for one turn or one request.

    `session` is the S of the keys, `agent` the full name of its agent. What holds for the root
    holds for it as well. `budgets` are that of the root, and the agent's own if it has one. What
    was read of the store less than `fresh_seconds` ago is not read again. With `defers` a turn
    writes down what it spends when it is over (`settle`), or at once when more than half of a
    budget is used up.

    With `beside` they are those of work beside the session's turns, which has a sum of its own:
    each sum has one writer.
    """

    kv: KV
    agent: str
    session: str
    budgets: tuple[TokenBudget, ...]
    clock: Clock
    fresh_seconds: float = 0.0
    defers: bool = False
    beside: bool = False
    _unwritten: bool = field(default=False, init=False)
    _unwritten_usage: Usage = field(default=Usage(), init=False)
    _unwritten_requests: int = field(default=0, init=False)
    _records: SafetyRecords | None = field(default=None, init=False)
    _listed_period: str = field(default="", init=False)

    @property
    def limits(self) -> SafetyLimits:
        """Return the limits of the agent."""
        return self.budget.limits

    @property
    def budget(self) -> TokenBudget:
        """Return the budget of the root, into which every session writes its sum."""
        return self.budgets[0]

    def list_keys(self) -> list[Key]:
        """Return the keys of the records that `use_items` takes, in order."""
        self._listed_period = self.current_period()
        return self._list_keys(self._listed_period)

    def use_items(self, items: Sequence[Item | None]) -> None:
        """Take over what was just read at `list_keys`."""
        # another period may have begun since
        self._records = self._make_records(self._listed_period, items)

    def reload(self) -> SafetyRecords:
        """Read the records again, however fresh they are."""
        period = self.current_period()
        records = self._make_records(period, get_many(self.kv, self._list_keys(period)))
        known = self._records
        if (
            known
            and known.period == period
            and self._read_own(records, MOST) < self._read_own(known, 0)
        ):
            # another thread may have read before this one wrote: a session's sum never falls
            records = evolve(records, own=known.own)
        self._records = records
        return records

    def is_halted(self) -> bool:
        """Return whether an owner halted the root, the agent or this session."""
        return _is_halted(self._load_records())

    def is_told_to_stop(self, event: str) -> bool:
        """Return whether a mark names the turn of this event."""
        return self._load_records().find_stop(event) is not None

    def must_end(self, event: str) -> bool:
        """Return whether the turn of this event was told to stop, or is halted, by one reading."""
        records = self._load_records()
        return records.find_stop(event) is not None or _is_halted(records)

    def must_give_up(self, event: str, request: int) -> bool:
        """Return whether this request of the turn of this event was told to stop, or the whole turn
        must end, by one reading.
        """
        records = self._load_records()
        mark = records.mark
        is_told = bool(records.away) or (mark is not None and mark.stops_request(event, request))
        return is_told or _is_halted(records)

    def find_watcher(self) -> str:
        """Return the name of a process whose page looks at the chat, empty for none, as far as the
        records say that were read last.
        """
        watched = self._records.watched if self._records else None
        return watched.value.decode(errors="replace") if watched else ""

    def sum_unlocks(self) -> float:
        """Return a number that grows with every unlock of the session, its agent or the root."""
        records = self._load_records()
        return sum(lock.forgave for lock in records.locks)

    def stop(self, status: SafetyStatus, reason: str) -> SafetyStatus:
        """Return the status of a session that goes on only after an unlock that comes later.

        The unlocks are counted, so the clock cannot make an old one look new.
        """
        return status.stop(reason, self.clock.now(), self.sum_unlocks())

    def current_period(self) -> str:
        """Return the name of the budget's period at this moment."""
        return name_period(self.clock.now(), self.limits)

    def load_current(self, status: SafetyStatus) -> SafetyStatus:
        """Return the status in this period, with all that the session has spent in it.

        That is what it knows of, or what it wrote down before a crash or under another clock,
        whichever is more.
        """
        records = self._load_known()
        here = status.in_period(records.period)
        return evolve(here, spent=max(here.spent, self._read_own(records, 0)))

    def find_stop_reason(self, status: SafetyStatus) -> str:
        """Return why the next request must not be sent, a key of `REASONS`; empty when it may."""
        return self._find_reason(self._load_records(), status)

    def check(self, status: SafetyStatus, event: str) -> tuple[str, StopMark | None]:
        """Return what `find_stop_reason` does, and the mark that tells the turn of this event to
        stop, by one reading.
        """
        records = self._load_records()
        return self._find_reason(records, status), records.find_stop(event)

    def find_spent_budget(self, status: SafetyStatus) -> str:
        """Return the name of the budget that is used up, empty when none is."""
        return self._find_spent_budget(self._load_records(), status)

    def find_nearly_spent(self, status: SafetyStatus) -> tuple[str, float]:
        """Return the budget of which the largest part is used, a key of `REASONS`, and that part.

        The part is 0 while nothing is nearly used, or as far as this turn knows. Nothing is read
        for it.
        """
        limits = self.limits
        records = self._records
        if records is None or records.period != self.current_period():
            return "", 0.0
        parts = []
        for budget, known in zip(self.budgets, records.budgets, strict=True):
            total = read_total(known.total)
            if budget.most > 0 and total:
                counted = total.tokens - read_forgiven(known.forgiven)
                parts.append((counted / budget.most, budget.reason))
        if limits.session_tokens > 0:
            here = status.in_period(records.period)
            parts.append(((here.spent - here.free) / limits.session_tokens, "session-budget"))
        share, name = max(parts, default=(0.0, ""))
        return (name, share) if share >= TOLD_SHARE else ("", 0.0)

    def count_period(self) -> PeriodTokens:
        """Return the tokens of this period, of all sessions of the root and of the agents below it
        together, by the running total.

        Where this session's own sum cannot be read, all sums are read again.
        """
        records = self._load_records()
        believed = SUMMED_SECONDS if self._is_own_readable(records) else NEVER
        total = self._load_total(records, 0, believed)
        counted = total.tokens - read_forgiven(records.budgets[0].forgiven)
        return PeriodTokens(total.tokens, counted, total.cost)

    def _find_reason(self, records: SafetyRecords, status: SafetyStatus) -> str:
        if _is_halted(records):
            return "halted"
        if 0 < self.limits.ticks <= status.ticks:
            return "loop"
        return self._find_spent_budget(records, status)

    def _find_spent_budget(self, records: SafetyRecords, status: SafetyStatus) -> str:
        limits = self.limits
        if limits.session_tokens <= 0 and all(budget.most <= 0 for budget in self.budgets):
            return ""
        own = self._read_own(records, limits.tokens)
        here = status.in_period(records.period)
        pending = max(here.spent - own, 0) if self.defers else 0
        other = read_tokens(records.other, 0) if records.other else 0
        if 0 < limits.session_tokens <= own + other + pending - here.free:
            return "session-budget"
        for place, budget in enumerate(self.budgets):
            if budget.most > 0 and self._is_used_up(records, place, pending):
                return budget.reason
        return ""

    def _is_used_up(self, records: SafetyRecords, place: int, pending: int) -> bool:
        """Return whether a budget is used up, with what its session has not written down yet."""
        most = self.budgets[place].most
        forgiven = read_forgiven(records.budgets[place].forgiven)
        readable = self._is_own_readable(records)
        if readable:
            total = self._load_total(records, place, SUMMED_SECONDS).tokens
            if total - forgiven + pending < most:
                return False
        total = self._load_total(records, place, CHECKED_SECONDS if readable else NEVER).tokens
        return total - forgiven + pending >= most

    def record_request(self, status: SafetyStatus, task: str | None, usage: Usage) -> SafetyStatus:
        """Write down the session's sum and return the status after a request.

        Without a `task` the request was no step of any piece of work.
        """
        tokens = usage.counted
        if task is None and not tokens:
            return status
        if status.period != self.current_period():
            self.settle(status)
        self._unwritten_usage += usage
        self._unwritten_requests += 1
        later = self.load_current(status).add_tokens(tokens)
        if task is not None:
            later = later.count_request(task, tokens)
        self._unwritten = True
        if not self.defers or self._is_scarce(later):
            self.settle(later)
        return later

    def settle(self, status: SafetyStatus, activity: SessionActivity = NO_ACTIVITY) -> None:
        """Write down all that the session has spent, with what it did, and add what is new to the
        agent's total.
        """
        if not self._unwritten:
            return
        is_over = status.period != self.current_period()
        if not is_over:
            records = self._load_known()
            before = read_usage(records.own)
        else:  # its total stops nobody any more
            before = read_usage(self.budget.read_spent(self._spender, status.period))
        usage = self._unwritten_usage
        written = (before or SessionUsage(0)).add(
            status.spent, usage, self._unwritten_requests, activity, self.clock.now()
        )
        own = self.budget.write_spent(self._spender, status.period, written)
        self._unwritten = False
        self._unwritten_usage = Usage()
        self._unwritten_requests = 0
        if is_over:
            return
        more = status.spent - self._read_own(records, 0)
        if not (more or usage.cost):
            self._records = evolve(records, own=own)
            return
        changed = tuple(
            evolve(known, total=budget.add_to_total(status.period, more, usage.cost, known.total))
            for budget, known in zip(self.budgets, records.budgets, strict=True)
        )
        self._records = evolve(records, own=own, budgets=changed)

    def _is_scarce(self, status: SafetyStatus) -> bool:
        """Return whether more than half of a budget is used up, or nobody knows."""
        limits = self.limits
        if limits.session_tokens > 0 and 2 * (status.spent - status.free) > limits.session_tokens:
            return True
        if all(budget.most <= 0 for budget in self.budgets):
            return False
        records = self._load_known()
        if records.own and self._read_own(records, MOST) == MOST:
            return True
        new = status.spent - self._read_own(records, 0)
        for budget, known in zip(self.budgets, records.budgets, strict=True):
            total = read_total(known.total)
            if budget.most > 0 and (total is None or 2 * (total.tokens + new) > budget.most):
                return True
        return False

    def mark_damage_noticed(self, status: SafetyStatus) -> SafetyStatus:
        """Return the status, stopped from now on if it is damaged and nobody had noticed.

        An unlock that comes later opens it.
        """
        if not status.is_new_damage:
            return status
        return evolve(self.stop(status, status.reason), told=status.told)

    def reopen(self, status: SafetyStatus, person: bool) -> SafetyStatus:
        """Return the status when somebody writes to the session.

        A reason is over when an owner unlocked it, a new period began or a person answered.
        `person` says that an owner or a member wrote.
        """
        if status.is_new_damage:
            return self.mark_damage_noticed(status)
        unlocks = self.sum_unlocks() if status.reason else 0.0
        if status.reason and unlocks > status.heard:
            status = self.load_current(status).unlock()
        elif status.reason and unlocks < status.heard:
            # A record was lost since, or damaged: the next unlock must count all the same.
            status = evolve(status, heard=unlocks)
        if status.reason in PASSING and not self.find_stop_reason(evolve(status, ticks=0)):
            status = status.reopen()
        if status.reason in ("frustration", "loop") and person:
            status = status.resume()
        return status

    def _load_records(self) -> SafetyRecords:
        """Return the records that are known, or read them when they are no longer fresh."""
        known = self._load_known()
        age = self.clock.monotonic() - known.read
        return known if 0.0 <= age < self.fresh_seconds else self.reload()

    def _load_known(self) -> SafetyRecords:
        """Return the records of this period, however old: nobody else writes the session's own."""
        known = self._records
        return known if known and known.period == self.current_period() else self.reload()

    def _list_keys(self, period: str) -> list[Key]:
        other = self.session if self.beside else keys.memory_of(self.session)
        root, _, name = self.agent.partition(".")
        listed = [keys.owner_lock(keys.escape(root))]
        if name:
            listed += [keys.owner_lock(keys.escape(self.agent)), keys.agent_record(root, name)]
        listed += [
            keys.owner_lock(self.session),
            keys.control_mark(self.session),
            self.budget.key(period, self._spender),
            self.budget.key(period, other),
        ]
        for budget in self.budgets:
            listed += [budget.forgiven_key(period), budget.total_key(period)]
        if not self.beside:
            listed.append(keys.watched_chat(self.session))
        return listed

    def _make_records(self, period: str, items: Sequence[Item | None]) -> SafetyRecords:
        read = self.clock.monotonic()
        away = ""
        locks = [items[0]]
        if keys.root_of(self.agent) != self.agent:
            locks.append(items[1])
            away = find_absence(items[2])
            items = items[2:]
        session_lock, mark, own, other, *rest = items[1:]
        locks.append(session_lock)
        parsed = tuple(map(parse_lock, locks))
        watched = None if self.beside else rest.pop()
        budgets = tuple(BudgetRecords(*rest[at : at + 2]) for at in range(0, len(rest), 2))
        known = read_mark(mark)
        return SafetyRecords(parsed, known, period, own, other, budgets, read, away, watched)

    @property
    def _spender(self) -> str:
        """Return the name under which what is spent here is written down."""
        return keys.memory_of(self.session) if self.beside else self.session

    def _read_own(self, records: SafetyRecords, unreadable: int) -> int:
        """Return what the session wrote down, or `unreadable` for bytes that are no sum."""
        return read_tokens(records.own, unreadable) if records.own else 0

    def _is_own_readable(self, records: SafetyRecords) -> bool:
        return self._read_own(records, 0) == self._read_own(records, MOST)

    def _load_total(self, records: SafetyRecords, place: int, believed: float) -> RunningTotal:
        """Return a budget's total, summed up again when it is older than `believed` seconds."""
        total = read_total(records.budgets[place].total)
        budget = self.budgets[place]
        if total is None or not budget.is_recent(total, believed):
            item = budget.sum_again(records.period)
            total = read_total(item)
            assert total is not None, "a total can be read that was just written"
            # what another call read meanwhile is as new
            known = list((self._records or records).budgets)
            known[place] = evolve(known[place], total=item)
            self._records = evolve(records, budgets=tuple(known))
        return total


def make_breakers(
    session: str,
    kv: KV,
    agent: str,
    limits: SafetyLimits,
    clock: Clock,
    *,
    fresh_seconds: float = 0.0,
    defers: bool = False,
    beside: bool = False,
) -> Breakers:
    """Return the breakers of a session (S of the keys) of the agent with this name."""
    budgets = [TokenBudget(kv, keys.root_of(agent), limits, clock.now)]
    own = TokenBudget(kv, agent, limits, clock.now)
    if own.most > 0 and not own.is_roots:
        budgets.append(own)
    return Breakers(kv, agent, session, tuple(budgets), clock, fresh_seconds, defers, beside=beside)


def _is_halted(records: SafetyRecords) -> bool:
    return any(lock.closed for lock in records.locks)
