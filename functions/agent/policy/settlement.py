"""Settlement brings every proposal to its end, whatever crashed in between.

A decision is stored first, and the event that follows from it is put into the queue after that. The
minute's tick looks at the proposals that have not come to their end: it puts the event of a
decision again, under the same id, which every queue and every session knows; and it says in the
chat of a proposal that nobody has decided on it in time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from functions.agent.policy.proposals import (
    MARK,
    Mark,
    Proposal,
    Proposals,
    make_approval,
    make_notice,
)
from functions.events import Event
from functions.texts.languages import load_texts
from sigil.errors import BackendError
from sigil.storage.kv import KV, Item

GRACE_SECONDS: Final = 30.0
"""Whoever has just proposed or decided puts the event themselves within so many seconds. The second
wait is twice as long as the first, and so on.
"""
APPLIED_SECONDS: Final = 86_400.0
"""What was approved and could not be done in so many seconds is not done any more."""


def settle_proposals(kv: KV, put: Callable[[Event], None], root: str, now: float) -> int:
    """Settle the proposals of a root and the agents below it, and return how many events were put
    for them.
    """
    proposals = Proposals(kv, root, lambda: now)
    settler = _Settler(proposals, put, now)
    return sum(settler.settle(id, item) for id, item in list(proposals.scan_unsettled()))


@dataclass(frozen=True, slots=True)
class _Settler:
    """Settles proposals as they stand `now`; `put` puts an event into the queue."""

    proposals: Proposals
    put: Callable[[Event], None]
    now: float

    def settle(self, id: str, item: Item) -> int:
        """Do what the proposal with this mark waits for, and return how many events were put."""
        try:
            mark = MARK.read(item.value)
            proposal = self.proposals.find(id)
        except (ValueError, BackendError):  # damaged: no event can be made of it
            self.proposals.settle(id, item)
            return 0
        if 0 <= self.now - mark.at < GRACE_SECONDS:
            return 0
        if proposal and proposal.state == "open" and proposal.state_at(self.now) == "lapsed":
            proposal = self.proposals.lapse(proposal)
        if proposal and proposal.state == "approved" and self._is_late(proposal):
            self.proposals.end(proposal, "lapsed")
            proposal = self.proposals.find(id)
        if proposal and proposal.state == "open":
            return 0
        if proposal and proposal.state == "approved":
            return self._put_approval(proposal, item, mark)
        queued = self._put_notice(proposal) if proposal else 0
        self.proposals.settle(id, item)
        return queued

    def _is_late(self, proposal: Proposal) -> bool:
        return self.now - proposal.decided_at >= APPLIED_SECONDS

    def _put_approval(self, proposal: Proposal, item: Item, mark: Mark) -> int:
        """Put the event of an approval again when it is time, and return whether it was put."""
        if 0 <= self.now - proposal.decided_at < GRACE_SECONDS * 2**mark.tries:
            return 0
        self.put(make_approval(proposal))
        self.proposals.count_try(proposal.id, item, mark)
        return 1

    def _put_notice(self, proposal: Proposal) -> int:
        """Put the event that says that a proposal is not done, and return whether there is one."""
        if proposal.state == "applied":
            return 0
        notice = make_notice(proposal, load_texts(proposal.language))
        if notice is None:
            return 0
        self.put(notice)
        return 1
