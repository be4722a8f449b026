"""What no turn may pass: asked before every request to the model and before every call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from functions.agent.safety import locks
from functions.agent.safety.budget import Budget, Limits, period
from functions.agent.safety.status import Standing
from sigil.storage.kv import KV, keys

PASSING = ("budget", "session-budget", "halted")
"""What is over as soon as nothing stands in the way any more: a period began, a halt of all ended.
"""


@dataclass(frozen=True, slots=True)
class Breakers:
    """The breakers of one session. `session` is the S of the keys, `agent` its first part; `now`:
    seconds since 1970.
    """

    kv: KV
    agent: str
    session: str
    budget: Budget
    now: Callable[[], float]

    def halted(self) -> bool:
        """Whether an owner halted the agent or this session."""
        return any(locks.read(self.kv, whom).closed for whom in (self.agent, self.session))

    def unlocks(self) -> float:
        """Grows with every unlock of this session or of all, and with nothing else."""
        return sum(locks.read(self.kv, whom).forgave for whom in (self.agent, self.session))

    def ended(self, standing: Standing, reason: str) -> Standing:
        """The standing of a session that does not go on, until an unlock that comes later; the
        clock has no say in it.
        """
        return standing.ended(reason, self.now(), self.unlocks())

    def period(self) -> str:
        """The budget's period at this moment."""
        return period(self.now(), self.budget.limits.seconds)

    def current(self, standing: Standing) -> Standing:
        """The standing in this period, with all that the session has spent in it."""
        here = standing.within(self.period())
        return replace(here, spent=self.budget.own(self.session, here.period, here.spent))

    def trips(self, standing: Standing) -> str:
        """Why the next request is not sent: a name of `standing.REASONS`, empty when it may go."""
        if self.halted():
            return "halted"
        if 0 < self.budget.limits.ticks <= standing.ticks:
            return "loop"
        return self.spent(standing)

    def spent(self, standing: Standing) -> str:
        """The name of the budget that is used up, empty when none is."""
        name = self.period()
        return self.budget.exceeded(name, self.session, standing.within(name).free)

    def used(self, standing: Standing, task: str | None, tokens: int) -> Standing:
        """The standing after a request that cost `tokens`; the session's sum is written down.
        Without a `task` it was no step of any.
        """
        if task is None and not tokens:
            return standing
        later = self.current(standing).used(tokens)
        later = later if task is None else later.ticked(task)
        self.budget.note(self.session, later.period, later.spent)
        return later

    def noticed(self, standing: Standing) -> Standing:
        """The standing, damaged from now on if that is what it is: an unlock that comes later opens
        it.
        """
        return (
            replace(self.ended(standing, standing.reason), told=standing.told)
            if standing.unnoticed
            else standing
        )

    def opened(self, standing: Standing, person: bool) -> Standing:
        """How a session stands when somebody writes: what an owner unlocked, a new period freed, or
        a person answered is over.

        `person`: whether an owner or a member wrote.
        """
        if standing.unnoticed:
            return self.noticed(standing)
        said = self.unlocks() if standing.reason else 0.0
        if standing.reason and said > standing.heard:
            standing = self.current(standing).unlocked()
        elif (
            standing.reason and said < standing.heard
        ):  # a record was lost since, or damaged: the next unlock counts all the same
            standing = replace(standing, heard=said)
        if standing.reason in PASSING and not self.trips(replace(standing, ticks=0)):
            standing = standing.opened()
        if standing.reason in ("frustration", "loop") and person:
            standing = standing.resumed()
        return standing


def breakers_of(
    session: str, kv: KV, agent: str, limits: Limits, now: Callable[[], float]
) -> Breakers:
    """The breakers of a session (S of the keys) of the agent with this name."""
    return Breakers(kv, keys.escape(agent), session, Budget(kv, agent, limits), now)
