"""Breakers say whether a turn may go on, before every request to the model and every tool call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from functions.agent.safety import locks
from functions.agent.safety.budget import Budget, SafetyLimits, name_period
from functions.agent.safety.status import SafetyStatus
from sigil.storage.kv import KV, keys

PASSING = ("budget", "session-budget", "halted")
"""Reasons that are over as soon as nothing trips any more: a new period began, a halt of the whole
agent ended.
"""


@dataclass(frozen=True, slots=True)
class Breakers:
    """The breakers of one session.

    `session` is the S of the keys, `agent` its first part; `now` returns seconds since 1970.
    """

    kv: KV
    agent: str
    session: str
    budget: Budget
    now: Callable[[], float]

    def is_halted(self) -> bool:
        """Return whether an owner halted the agent or this session."""
        return any(locks.read_lock(self.kv, whom).closed for whom in (self.agent, self.session))

    def sum_unlocks(self) -> float:
        """Return a number that grows with every unlock of this session or of the whole agent."""
        return sum(locks.read_lock(self.kv, whom).forgave for whom in (self.agent, self.session))

    def stop(self, status: SafetyStatus, reason: str) -> SafetyStatus:
        """Return the status of a session that goes on only after an unlock that comes later.

        The unlocks are counted, so the clock cannot make an old one look new.
        """
        return status.stop(reason, self.now(), self.sum_unlocks())

    def current_period(self) -> str:
        """Return the name of the budget's period at this moment."""
        return name_period(self.now(), self.budget.limits.seconds)

    def load_current(self, status: SafetyStatus) -> SafetyStatus:
        """Return the status in this period, with all that the session has spent in it."""
        here = status.in_period(self.current_period())
        return replace(here, spent=self.budget.read_spent(self.session, here.period, here.spent))

    def find_stop_reason(self, status: SafetyStatus) -> str:
        """Return why the next request must not be sent, a key of `REASONS`; empty when it may."""
        if self.is_halted():
            return "halted"
        if 0 < self.budget.limits.ticks <= status.ticks:
            return "loop"
        return self.find_spent_budget(status)

    def find_spent_budget(self, status: SafetyStatus) -> str:
        """Return the name of the budget that is used up, empty when none is."""
        name = self.current_period()
        return self.budget.find_exceeded(name, self.session, status.in_period(name).free)

    def record_request(self, status: SafetyStatus, task: str | None, tokens: int) -> SafetyStatus:
        """Write down the session's sum and return the status after a request of `tokens` tokens.

        Without a `task` the request was no step of any piece of work.
        """
        if task is None and not tokens:
            return status
        later = self.load_current(status).add_tokens(tokens)
        if task is not None:
            later = later.count_request(task)
        self.budget.write_spent(self.session, later.period, later.spent)
        return later

    def mark_damage_noticed(self, status: SafetyStatus) -> SafetyStatus:
        """Return the status, stopped from now on if it is damaged and nobody had noticed.

        An unlock that comes later opens it.
        """
        if not status.is_new_damage:
            return status
        return replace(self.stop(status, status.reason), told=status.told)

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
            status = replace(status, heard=unlocks)
        if status.reason in PASSING and not self.find_stop_reason(replace(status, ticks=0)):
            status = status.reopen()
        if status.reason in ("frustration", "loop") and person:
            status = status.resume()
        return status


def make_breakers(
    session: str, kv: KV, agent: str, limits: SafetyLimits, now: Callable[[], float]
) -> Breakers:
    """Return the breakers of a session (S of the keys) of the agent with this name."""
    return Breakers(kv, keys.escape(agent), session, Budget(kv, agent, limits), now)
