"""The values that the steps of one turn share, and the worker that runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf

from functions.agent import approvals
from functions.agent.access.roles import Role
from functions.agent.agents.bindings import Bound
from functions.agent.app import App, Watch
from functions.agent.calls import background_calls
from functions.agent.calls.background_calls import BackgroundTask
from functions.agent.language import choose_texts_for
from functions.agent.policy.gate import Gate
from functions.agent.policy.proposals import Proposal
from functions.agent.policy.rules import Policy
from functions.agent.runs.event_chain import ChainBudget
from functions.agent.safety.breakers import Breakers
from functions.agent.safety.hp import HpAccount
from functions.agent.safety.status import NoticeReader, SafetyStatus
from functions.agent.session.document import (
    Document,
)
from functions.agent.session.store import SessionHandle
from functions.agent.team.member import Member
from functions.events import BACKGROUND_KINDS, Event
from sigil.storage.evolve import evolve
from sigil.storage.kv import Item
from sigil.storage.kv.base import Read


@dataclass(frozen=True, slots=True)
class WorkerBudget:
    """The time and the conditions that a worker can give a turn.

    `until` is when its own time is up, a time of the monotonic clock. `patient` says that it can
    have the event again later, `shared` that other turns may run in the same process. `behind` are
    the events that wait in the chat's queue behind this one; None when nobody can tell. `put` puts
    an event that the turn posts into the queue; without it, all posts wait until the event is
    handled.
    """

    until: float = inf
    patient: bool = False
    shared: bool = False
    behind: Sequence[Event] | None = ()
    put: Callable[[Event], None] | None = None


UNBOUNDED_WORKER = WorkerBudget()


class NeedsIsolation(Exception):
    """The turn may be what crashed its process twice, so its last try must not hit other turns.

    Nothing was changed so far.
    """


@dataclass(frozen=True, slots=True)
class TurnContext:
    """The values that the steps of one turn share; `role` is that of the event's sender.

    `listens_since` says from which event's order on the agent reads along in the group; empty where
    it does not. `asks_zone` says that a time matters here, and that the chat was never told how to
    set its time zone. `bound` is what the binding of the event's chat says. `policies` are as they
    were when the turn began, and `approval` is what an owner has approved for it. `hp` bound it
    where nobody typed or approved what it does. `chain` is the budget of the chain of events that
    it belongs to. `workspaces` are the records of the agent's files and of the chat's, as they were
    read. `member` is what changes of a teammate. `task` is the call that the turn makes alone.
    `payer` is as in `Standing`.
    """

    app: App
    watch: Watch
    worker: WorkerBudget
    role: Role
    breakers: Breakers
    policies: tuple[Policy, ...]
    chain: ChainBudget
    listens_since: str = ""
    asks_zone: bool = False
    bound: Bound | None = None
    approval: Proposal | None = None
    hp: HpAccount | None = None
    workspaces: Sequence[Item | None] = ()
    member: Member | None = None
    task: BackgroundTask | None = None
    payer: str = ""

    def make_gate(self, event: Event) -> Gate:
        """Return the gate for what is done for the turn's event."""
        task = self.task
        if task:
            gate = self.app.make_gate(
                self.policies, self.role, private=task.call.private, own_work=task.call.own_work
            )
            # the call was allowed when it was made: nobody is asked a second time
            return evolve(gate, approved=task.approved)
        approval = self.approval
        own_work = approval.own_work if approval else event.kind in BACKGROUND_KINDS
        gate = self.app.make_gate(
            self.policies, self.role, private=event.private, own_work=own_work
        )
        ask = partial(approvals.ask_owners, self.app, event, self.role)
        return evolve(gate, ask=ask, approved=approval)


def open_chain(event: Event, app: App, known: Read | None = None) -> ChainBudget:
    """Return the budget of the chain of an event; `known` is its record as it was just read."""
    return ChainBudget(app.kv, app.name, event, app.limits.chain_tokens, known)


def is_bounded(event: Event, app: App) -> bool:
    """Return whether HP bound what an event sets off: what nobody typed, and nobody approved."""
    # the turn that made the call of a task has paid for it
    is_paid = "proposal" in event.data or background_calls.find_call(event) is not None
    return app.hp.most > 0 and event.is_own_work and not is_paid


def make_reader(event: Event, role: Role, document: Document, app: App) -> NoticeReader:
    return NoticeReader(
        owner=role == "owner",
        guest=role == "guest",
        alone=event.private,
        texts=choose_texts_for(event, document),
        resets=app.describe_reset(document),
        own=event.is_own_work,
    )


def with_safety(opened: SessionHandle, safety: SafetyStatus) -> SessionHandle:
    return opened.with_document(evolve(opened.document, safety=safety))
