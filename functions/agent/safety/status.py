"""The safety status says whether a session may go on, and if not, why.

It is kept in the session's document, so a cold start forgets nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta

from functions.agent.safety.failure_codes import describe_failure
from functions.agent.safety.ladder import Counters
from functions.texts.en import TEXTS as ENGLISH
from functions.texts.en import Texts
from sigil.builtin_tools import DEPLOY, QUERY
from sigil.json_fields import as_mapping
from sigil.protocol import capability_of
from sigil.storage.evolve import evolve
from sigil.storage.stored import Shape, Stored, later


class SessionState(StrEnum):
    """The state of a whole session."""

    WAITING_FOR_EVENT = "WAITING_FOR_EVENT"
    EXECUTING = "EXECUTING"
    """A turn is in progress. Never stored: the turn itself says so."""
    PAUSED = "PAUSED"
    """It asked for help; the next message of an owner or a member lets it go on."""
    STOPPED = "STOPPED"
    """The budget is used up, until the next period or until an owner unlocks it."""
    ERROR_PAUSED = "ERROR_PAUSED"
    """Errors cascaded: EMERGENCY_HALT. An owner unlocks it."""
    SAFETY_LOCKOUT = "SAFETY_LOCKOUT"
    """Somebody halted it: SYSTEM_HALT. An owner unlocks it."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason why a session does not go on.

    `event` is the name that goes to alerts. What people read is in the texts by its `name`:
    what happened, and what follows. Where a failure is the reason (`failed`), it comes between
    the two.
    """

    name: str
    state: SessionState
    event: str
    failed: bool = False

    @property
    def why(self) -> str:
        """Return what happened, in English."""
        return ENGLISH.reasons[self.name]

    @property
    def unlocks(self) -> bool:
        """Return whether an owner's unlock opens it, rather than an answer."""
        return self.state is not SessionState.PAUSED

    @property
    def text(self) -> str:
        """Return what people who are not owners read, without the failure itself."""
        return write_notice(SafetyStatus(reason=self.name), NoticeReader())


_REASONS: Final = (
    Reason("frustration", SessionState.PAUSED, "FRUSTRATION", failed=True),
    Reason("loop", SessionState.PAUSED, "INFINITE_LOOP"),
    Reason("cascade", SessionState.ERROR_PAUSED, "EMERGENCY_HALT", failed=True),
    Reason("fatal", SessionState.ERROR_PAUSED, "EMERGENCY_HALT", failed=True),
    Reason("budget", SessionState.STOPPED, "BUDGET"),
    Reason("agent-budget", SessionState.STOPPED, "BUDGET"),
    Reason("session-budget", SessionState.STOPPED, "BUDGET"),
    Reason("halted", SessionState.SAFETY_LOCKOUT, "SYSTEM_HALT"),
    Reason("damaged", SessionState.SAFETY_LOCKOUT, "DAMAGED"),
)
REASONS: Final = {reason.name: reason for reason in _REASONS}


LATEST: Final = 1e11
"""A time later than any that a clock shows: no unlock could come after it."""
MOST: Final = 10**15
"""A sum larger than any real one; larger numbers would not fit into a document."""
Time = Annotated[float, Meta(ge=0, lt=LATEST)]
Sum = Annotated[int, Meta(ge=0, lt=MOST)]


@dataclass(frozen=True, slots=True)
class SafetyStatus(Stored):
    """The safety status of one session.

    `reason` is a key of `REASONS`, empty while all is well; `since` is seconds since 1970; `told`
    says that the alert went out. `heard` is `Breakers.sum_unlocks()` at that time: only a larger
    sum opens the session again.

    `spent` are the tokens that the session used in the budget's period named `period`; `free` of
    them do not count for its own cap, since an owner unlocked it. `ticks` are the requests that
    went into the piece of work `task` since a person last wrote. Where an agent has limits for each
    of its tasks, `task_tokens` are those that it used for this one, and `task_since` is when it
    began. `warned` says that the chat was
    told in this period that its budget is nearly used.
    """

    reason: str = ""
    since: Time = 0.0
    heard: Time = 0.0
    counters: Counters = field(default_factory=Counters)
    period: str = ""
    spent: Sum = 0
    free: Sum = 0
    task: str = ""
    ticks: Sum = 0
    told: bool = True
    warned: bool = later(False)
    task_tokens: Sum = later(0)
    task_since: Time = later(0.0)

    @property
    def state(self) -> SessionState:
        """Return the state while no turn is in progress."""
        return REASONS[self.reason].state if self.reason else SessionState.WAITING_FOR_EVENT

    @property
    def is_new_damage(self) -> bool:
        """Return whether it is damaged and nobody was told so far.

        An unlock from before the damage was meant for something else.
        """
        return self.reason == "damaged" and not self.since

    def stop(self, reason: str, now: float, heard: float) -> SafetyStatus:
        """Return the status of a session that does not go on, for this reason."""
        return evolve(self, reason=reason, since=now, heard=heard, told=False)

    def reopen(self) -> SafetyStatus:
        """Return the status of a session that goes on and is otherwise as it was."""
        return evolve(self, reason="", since=0.0, told=True)

    def resume(self) -> SafetyStatus:
        """Return the status after a person answered a pause.

        The failures in a row and the requests begin anew; the window stays.
        """
        return evolve(self.reopen(), counters=self.counters.resume(), ticks=0)

    def unlock(self) -> SafetyStatus:
        """Return the status after an owner unlocked the session."""
        return evolve(self.reopen(), counters=self.counters.unlock(), ticks=0, free=self.spent)

    def add_tokens(self, tokens: int) -> SafetyStatus:
        """Return the status with the tokens of one more request."""
        return evolve(self, spent=self.spent + tokens)

    def in_period(self, period: str) -> SafetyStatus:
        """Return the status in this period; what was spent in an earlier one is over."""
        if self.period == period:
            return self
        return evolve(self, period=period, spent=0, free=0, warned=False)

    def begin_task(self, task: str) -> SafetyStatus:
        """Return the status with this piece of work; an empty `task` continues the one before."""
        if not task or task == self.task:
            return self
        return evolve(self, task=task, ticks=0, task_tokens=0, task_since=0.0)

    def bound_task(self, now: float) -> SafetyStatus:
        """Return the status whose piece of work is bounded, and began now if it did not before."""
        return self if self.task_since else evolve(self, task_since=now)

    def count_request(self, task: str, tokens: int = 0) -> SafetyStatus:
        """Return the status with one more request for a piece of work, and its tokens."""
        begun = self.begin_task(task)
        counted = evolve(begun, ticks=begun.ticks + 1)
        if not begun.task_since:
            return counted
        return evolve(counted, task_tokens=begun.task_tokens + tokens)


SAFETY_STATUS: Final = Shape[SafetyStatus](SafetyStatus, required=("reason", "counters"))
COUNTERS: Final = Shape[Counters](Counters, required=("consecutive", "window", "failures"))


def read_safety_status(fields: object) -> SafetyStatus:
    """Return the status whose fields were stored.

    A status that is damaged locks the session instead of being guessed at. Raises `NewerFormat`
    when only a newer version can read it.
    """
    damage = SafetyStatus(reason="damaged", told=False)
    try:
        status = SAFETY_STATUS.convert(fields)
        COUNTERS.convert(as_mapping(fields)["counters"])
    except ValueError:
        return damage
    return status if status.reason in ("", *REASONS) else damage


@dataclass(frozen=True, slots=True)
class NoticeReader:
    """The person who reads a notice.

    An `owner` may unlock the session. A `guest` cannot let it go on by answering. `alone` says
    that nobody else reads the chat. `own` says that the notice is about work of the agent's own,
    which nobody can let go on by answering. `texts` are those in the reader's language. `resets` is
    the time at which the budget starts again, on the reader's clock.
    """

    owner: bool = False
    guest: bool = False
    alone: bool = False
    texts: Texts = ENGLISH
    resets: str = "00:00 UTC"
    own: bool = False


def write_notice(status: SafetyStatus, reader: NoticeReader) -> str:
    """Return the notice for a session that does not go on; empty when it does.

    It says why, what failed, and what can be done about it.
    """
    if not status.reason:
        return ""
    reason = REASONS[status.reason]
    texts = reader.texts
    told = texts.reasons[reason.name]
    if reader.own:
        told = texts.own_reasons.get(reason.name, told)
    parts = [told]
    if reason.failed and status.counters.failures:
        last = status.counters.failures[-1]
        # its own message may name what only an owner should read
        message = last.message if reader.owner and reader.alone else ""
        message = message or describe_failure(last.code, last.reason, texts)
        own = {QUERY: texts.failed_search, DEPLOY: texts.failed_deploy}
        tool = own.get(last.source) or f"`{capability_of(last.source) or last.source}`"
        parts.append(texts.last_failed.format(tool=tool, message=message.rstrip(".")))
    if reason.state is SessionState.STOPPED:
        parts.append(texts.budget_resets.format(time=reader.resets))
    if reason.unlocks:
        parts.append(texts.then.get(reason.name, ""))
        parts.append(texts.your_unlock if reader.owner else texts.unlock)
    elif not reader.own:
        parts.append(texts.then.get(reason.name, ""))
    if reader.guest and not (reason.unlocks or reader.own):
        parts.append(texts.not_a_guests)
    return " ".join(filter(None, parts))
