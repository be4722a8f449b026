"""How a session stands: at work, waiting, paused or locked, and why. Kept in its document, so a
cold start forgets nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any, Final

from msgspec import Meta

from functions.agent.safety.codes import code_of
from functions.agent.safety.facts import Fact
from functions.agent.safety.ladder import Counters
from sigil.builtin_tools import DEPLOY, QUERY
from sigil.protocol import capability_of
from sigil.storage.stored import Shape, Stored


class State(StrEnum):
    """What the whole of a session is doing."""

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


UNLOCK = "My owner can unlock me: `/unlock` here, or `uncaged unlock` on my machine."
YOUR_UNLOCK = "You can unlock me: `/unlock` here, or `uncaged unlock` on my machine."
PERIOD = "It begins anew with the next period."


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a session does not go on: the state, the event that is told to whoever watches, and what
    its people read.

    `why` says what happened and `then` what comes of it; what failed stands between them where that
    is the reason (`failed`).
    """

    state: State
    event: str
    why: str
    then: str = ""
    failed: bool = False

    @property
    def unlocks(self) -> bool:
        """Whether an owner's unlock opens it, rather than an answer."""
        return self.state is not State.PAUSED

    @property
    def text(self) -> str:
        """What it says to whoever is not an owner, but for what failed."""
        return " ".join(filter(None, (self.why, self.then, UNLOCK if self.unlocks else "")))


FRUSTRATION = "I failed five times in a row, so I stopped here."
INSTEAD = "What should I do differently? Your answer lets me go on."
NOT_A_GUESTS = "It has to be the answer of my owner, or of somebody whom they let in."
LOOP = (
    "I worked on this for as many steps as a task may take: it looks like an infinite loop. Shall I"
    " go on, and how?"
)
REASONS: Final = {
    "frustration": Reason(State.PAUSED, "FRUSTRATION", FRUSTRATION, INSTEAD, failed=True),
    "loop": Reason(State.PAUSED, "INFINITE_LOOP", LOOP),
    "cascade": Reason(
        State.ERROR_PAUSED,
        "EMERGENCY_HALT",
        "Eight of my last ten steps failed, so I have halted.",
        failed=True,
    ),
    "fatal": Reason(
        State.ERROR_PAUSED,
        "EMERGENCY_HALT",
        "Something failed in a way that I cannot mend, so I have halted.",
        failed=True,
    ),
    "budget": Reason(
        State.STOPPED, "BUDGET", "My budget of tokens is used up, so I have stopped.", PERIOD
    ),
    "session-budget": Reason(
        State.STOPPED,
        "BUDGET",
        "This chat's budget of tokens is used up, so I have stopped here.",
        PERIOD,
    ),
    "halted": Reason(
        State.SAFETY_LOCKOUT, "SYSTEM_HALT", "I was halted and do nothing until I am unlocked."
    ),
    "damaged": Reason(
        State.SAFETY_LOCKOUT,
        "DAMAGED",
        "Something that I kept of this chat cannot be read, so it is locked.",
    ),
}


LATEST: Final = 1e11
"""Later than any time that a clock shows: nothing could be said after it."""
MOST: Final = 10**15
"""More than is ever counted: a number that does not fit into a document could not be saved."""
Time = Annotated[float, Meta(ge=0, lt=LATEST)]
Sum = Annotated[int, Meta(ge=0, lt=MOST)]


@dataclass(frozen=True, slots=True)
class Standing(Stored):
    """`reason` is a name of `REASONS`, empty while all is well; `since` seconds since 1970; `told`:
    whether whoever watches knows. `heard`: what its owner had said by then of unlocking
    (`Breakers.unlocks`); only more than that opens it.

    `period` and `spent`: the tokens that this session used in the budget's period of that name;
    `free`: how many of them its own cap does not count, since an owner unlocked it. `task` and
    `ticks`: how many requests went into one piece of work since a person last spoke.
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

    @property
    def state(self) -> State:
        """The state while no turn is in progress."""
        return REASONS[self.reason].state if self.reason else State.WAITING_FOR_EVENT

    @property
    def unnoticed(self) -> bool:
        """Whether it is damaged and nobody was told so far: what an owner said before was said of
        something else.
        """
        return self.reason == "damaged" and not self.since

    def ended(self, reason: str, now: float, heard: float) -> Standing:
        """It does not go on, for this reason."""
        return replace(self, reason=reason, since=now, heard=heard, told=False)

    def opened(self) -> Standing:
        """It goes on, and nothing else changed: a new period began."""
        return replace(self, reason="", since=0.0, told=True)

    def resumed(self) -> Standing:
        """A person answered a pause: the row of failures and of steps is over, the window stays."""
        return replace(self.opened(), counters=self.counters.resumed(), ticks=0)

    def unlocked(self) -> Standing:
        """An owner unlocked it."""
        return replace(self.opened(), counters=self.counters.unlocked(), ticks=0, free=self.spent)

    def used(self, tokens: int) -> Standing:
        """With the tokens of one more request."""
        return replace(self, spent=self.spent + tokens)

    def within(self, period: str) -> Standing:
        """The same in this period: what an earlier one cost is over."""
        return self if self.period == period else replace(self, period=period, spent=0, free=0)

    def began(self, task: str) -> Standing:
        """With a piece of work before it; an empty `task` goes on with the one before."""
        return replace(self, task=task, ticks=0) if task and task != self.task else self

    def ticked(self, task: str) -> Standing:
        """With one more request for a piece of work."""
        begun = self.began(task)
        return replace(begun, ticks=begun.ticks + 1)


STANDING: Final = Shape[Standing](Standing, required=("reason", "counters"))
COUNTERS: Final = Shape[Counters](Counters, required=("consecutive", "window", "failures"))


def revive(fields: Any) -> Standing:
    """The standing whose fields were stored. What cannot be believed locks the session instead of
    being guessed at.

    `NewerFormat` when only a newer version can read it.
    """
    damage = Standing(reason="damaged", told=False)
    try:
        made = STANDING.convert(fields)
        COUNTERS.convert(fields["counters"])
    except ValueError:
        return damage
    return made if made.reason in ("", *REASONS) else damage


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads a notice. `owner`: they may unlock it. `guest`: their answer lets nothing go on.
    `alone`: nobody else reads it.
    """

    owner: bool = False
    guest: bool = False
    alone: bool = False


def notice(standing: Standing, reader: Reader) -> str:
    """What somebody in a session that does not go on is told: why, what failed, and what can be
    done about it.
    """
    if not standing.reason:
        return ""
    why = REASONS[standing.reason]
    failures = standing.counters.failures if why.failed else ()
    unlock = YOUR_UNLOCK if reader.owner else UNLOCK
    parts = (
        why.why,
        _what_failed(failures[-1], all_told=reader.owner and reader.alone) if failures else "",
        why.then,
        unlock if why.unlocks else "",
        NOT_A_GUESTS if reader.guest and not why.unlocks else "",
    )
    return " ".join(filter(None, parts))


def _what_failed(fact: Fact, *, all_told: bool) -> str:
    """A failure in a person's words. Its own message may name what only an owner should read:
    `all_told`.
    """
    said = (fact.message if all_told else "") or code_of(fact.code).meaning
    own = {QUERY: "a search for a capability", DEPLOY: "a capability that I tried to make"}
    what = own.get(fact.source) or f"`{capability_of(fact.source) or fact.source}`"
    return f"The last to fail was {what}: {said.rstrip('.')}."
