"""An event chain is everything that came from one cause: the turn of the first event, those of the
events that it posted, those of the events that these posted, whichever agent they are for.

Its record has what all of its turns used, so that agents that set each other off stop at a common
limit, and the ids of their runs, so that nobody has to look for them. A turn writes down its own
absolute sum, by compare-and-set: after a crash it writes the same again, and counts once. A turn
that no other event set off and that posts nothing writes nothing here.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from typing import Final

from functions.agent.conversation.messages import Count
from functions.agent.session.document import Turn, name_run, read_began
from functions.events import Event
from sigil.errors import ToolError
from sigil.storage.kv import ABSENT, KV, Item, Key, keys
from sigil.storage.kv.base import Read
from sigil.storage.kv.update import scan_all, update_item
from sigil.storage.stored import NewerFormat, Shape, Stored, dumps, later

RUNS_MOST: Final = 200
"""A record has so many runs, and those of turns that are not over."""
KEPT_SECONDS: Final = keys.SEEN_TTL
"""A record that nobody writes any more is kept for so long."""
SETTING: Final = "UNCAGED_CHAIN_TOKENS"
MAILS_MOST: Final = 30
"""One agent sends so many mails in a chain at most; a broadcast is one."""


@dataclass(frozen=True, slots=True)
class ChainRun(Stored):
    """A run of a chain: its id, its agent, the tokens that it used and the `mails` that it sent so
    far. `open` says that its turn is not over.
    """

    run: str
    agent: str
    tokens: Count = 0
    open: bool = False
    mails: Count = later(0)

    @property
    def event(self) -> str:
        """Return the event whose turn it is."""
        return self.run.partition("~")[2]


@dataclass(frozen=True, slots=True)
class EventChain(Stored):
    """What came of one cause: how many `events` had a turn, and the `tokens` that these used.

    `by` is the person on whose behalf it is. `runs` are the newest runs, the newest first, and all
    that are open. `gone` is the id of the newest run that has left them. `mails` counts those that
    each agent has sent, by its full name.
    """

    events: Count = 0
    tokens: Count = 0
    by: str = ""
    runs: tuple[ChainRun, ...] = ()
    gone: str = ""
    mails: Mapping[str, Count] = later(default_factory=dict, hash=False)

    @property
    def left_out(self) -> int:
        """Return how many runs are not in the record any more."""
        return self.events - len(self.runs)

    @property
    def began(self) -> float:
        """Return when the oldest run that the record has began, in seconds since 1970."""
        return read_began(self.runs[-1].run) if self.runs else 0.0

    @property
    def is_shared(self) -> bool:
        """Return whether several of its turns used tokens."""
        return sum(run.tokens > 0 for run in self.runs) > 1

    def find(self, event: str) -> ChainRun | None:
        """Return the run of an event, None when it has none here."""
        return next((run for run in self.runs if run.event == event), None)

    def put(self, run: ChainRun) -> EventChain:
        """Return the chain with a run in place of what was known of its event.

        The oldest ones leave, but none that is open: their turns still write down what they use.
        """
        known = self.find(run.event)
        if known is None and self.gone and run.run >= self.gone:
            # it was over and has left; a worker crashed before its session knew, and closes again
            return self
        runs = [each for each in self.runs if each is not known]
        runs = sorted((*runs, run), key=lambda each: each.run)
        gone = self.gone
        ended = [each for each in reversed(runs) if not each.open]
        for each in ended[: max(len(runs) - RUNS_MOST, 0)]:
            runs.remove(each)
            gone = each.run
        mails = dict(self.mails)
        sent = run.mails - (known.mails if known else 0)
        if sent:
            mails[run.agent] = mails.get(run.agent, 0) + sent
        return replace(
            self,
            mails=mails,
            events=self.events + (known is None),
            tokens=self.tokens - (known.tokens if known else 0) + run.tokens,
            runs=tuple(runs),
            gone=gone,
        )


_CHAIN: Final = Shape[EventChain](EventChain, required=("events", "tokens"))


class ChainBudget:
    """The budget of the chain that the turn of `event` belongs to, or begins.

    `most` are the tokens that all of the chain may use; 0 is no limit. `known` is its record as it
    was just read. Calls of services ask at the same time.
    """

    def __init__(
        self, kv: KV, agent: str, event: Event, most: int, known: Read | None = None
    ) -> None:
        self._kv = kv
        self._agent = agent
        self._event = event
        self._key = keys.event_chain(keys.root_of(agent), event.root or event.id)
        # nothing is stored of a chain that begins here, unless a crash comes to light by a conflict
        self._known: Read | None = known or (None if event.root else ABSENT)
        self._turn: Turn | None = None
        self._mails = 0
        self._is_begun = bool(event.root)
        self._lock = threading.Lock()
        self.most = most

    def follow(self, turn: Turn) -> None:
        """Take over how far the turn has come, before its calls ask for room."""
        self._turn = turn
        self._mails = _count_mails(turn)

    def find_excess(self, turn: Turn) -> EventChain | None:
        """Return the chain when it has used up its tokens; None while it may go on, or where there
        is no limit. A turn that has set off nothing and was set off by nothing asks no store.
        """
        if self.most <= 0 or not (self._event.root or turn.posted):
            return None
        chain = self._count(turn)
        return chain if chain.tokens >= self.most else None

    def require_room(self) -> None:
        """Raise `ToolError` ELIMIT when the turn that is followed may set off nothing more.

        What is left has to be enough for two requests like those of the turn: its own answer, and
        the first one of whoever it sets off. So the sender reads of the limit, and no other agent
        begins for nothing.
        """
        turn = self._turn
        if self.most <= 0 or turn is None:
            return
        chain = self._count(turn)
        needed = 2 * turn.usage.counted / max(turn.rounds, 1)
        if self.most - chain.tokens <= needed:
            raise ToolError(
                "ELIMIT",
                f"everything that one cause sets off may use {self.most:,} tokens together"
                f" ({SETTING}), and this has used {chain.tokens:,}: too few are left to set off"
                " another agent",
                suggestion="finish it here, or tell the person what is left to do",
                reason="chain",
            )

    def count_mail(self) -> None:
        """Write down that the turn that is followed sends one more mail.

        `ToolError` ELIMIT when its agent has sent as many in this chain as one may. A turn that
        goes on after a crash counts the same mail again as the same.
        """
        turn = self._turn
        if turn is None:
            return
        with self._lock:
            self._write(turn, mails=self._mails + 1)
            self._mails += 1

    def close(self, turn: Turn, posts: Sequence[Event]) -> None:
        """Write down what the turn used in all, before its session says that it is over.

        `posts` are the events that wait in its session. A turn alone writes nothing.
        """
        sets_off = turn.posted or any(post.cause == self._event.id for post in posts)
        if self._is_begun or sets_off:
            self._count(turn, is_over=True)

    def _count(self, turn: Turn, *, is_over: bool = False) -> EventChain:
        """Write down the turn's sum where it changed, and return the chain as it is by then."""
        with self._lock:
            return self._write(turn, self._mails, is_over=is_over)

    def _write(self, turn: Turn, mails: int, *, is_over: bool = False) -> EventChain:
        """Write down what the turn used and how much mail it has sent, while nobody else does.

        A turn that goes on after a crash may know less than it has written down before: only its
        end says less. `ToolError` ELIMIT for too much mail.
        """

        def decide(item: Item | None) -> tuple[bytes | None, EventChain]:
            chain = read_chain(item)
            if chain is None:
                return None, EventChain(tokens=self.most)
            event = self._event
            before = chain.find(event.id)
            known = before.mails if before else 0
            if mails > known and chain.mails.get(self._agent, 0) - known + mails > MAILS_MOST:
                raise ToolError(
                    "ELIMIT",
                    f"one agent sends at most {MAILS_MOST} mails for the same cause",
                    suggestion="say what is left in your report, or put it on the board",
                    reason="mails",
                )
            tokens = turn.usage.counted
            if before and not is_over:
                tokens = max(tokens, before.tokens)
            run = ChainRun(
                name_run(event.id, turn.began),
                self._agent,
                tokens,
                open=not is_over,
                mails=max(mails, known),
            )
            if run == before or not (before or tokens or mails or is_over):
                return None, chain
            changed = replace(chain, by=chain.by or event.behalf).put(run)
            return dumps(changed), changed

        updated = update_item(self._kv, self._key, decide, KEPT_SECONDS, known=self._known)
        self._is_begun = True
        self._known = updated.item or ABSENT
        return updated.answer


def load_chain(kv: KV, agent: str, event: str) -> EventChain | None:
    """Return the chain that an event began, None when nothing is known of it, or no more."""
    item = kv.get(keys.event_chain(keys.root_of(agent), event))
    return read_chain(item) if item else None


def find_largest(kv: KV, root: str, since: float, count: int) -> list[tuple[str, EventChain]]:
    """Return the chains of a root that used most tokens and began since then, with the events that
    began them: those of which several turns used any.
    """
    partition = keys.event_chain(root, "").partition
    chains = ((keys.unescape(sort), read_chain(item)) for sort, item in scan_all(kv, partition))
    shared = [
        (event, chain)
        for event, chain in chains
        if chain and chain.is_shared and chain.began >= since
    ]
    return nlargest(count, shared, key=lambda found: found[1].tokens)


def _count_mails(turn: Turn) -> int:
    """Return how many calls of a turn have sent mail so far."""
    return sum(
        any(isinstance(post, list) and post[:1] == ["mail"] for post in sent)
        for step in turn.trace
        if isinstance(sent := step.get("sent"), list)
    )


def read_chain(item: Item | None) -> EventChain | None:
    """Return the chain in an item, an empty one without it; None when it cannot be read."""
    if item is None:
        return EventChain()
    try:
        return _CHAIN.read(item.value)
    except (ValueError, NewerFormat):
        return None


def list_keys(event: Event, root: str) -> list[Key]:
    """Return the key of the chain that an event belongs to; none for the first one of a chain."""
    return [keys.event_chain(root, event.root)] if event.root else []
