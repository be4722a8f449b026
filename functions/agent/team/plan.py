"""A teammate that hands in a plan waits for an answer to it, and its task waits with it.

What changes of the teammate names the plan that it waits for, and the plan has the event with which
the work goes on. Whoever answers writes that first and wakes the teammate then; the tick of each
minute wakes it once more, for what a crash has lost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from functions.agent.agents.record import find_absence, join_name
from functions.agent.ledger.entry import Entry
from functions.agent.mailbox import Mail, Mailbox
from functions.agent.posts import Post, stamp_posts
from functions.agent.safety.hp import list_drained
from functions.agent.session.document import Turn
from functions.agent.team.board import Board
from functions.agent.team.leg import (
    GENERATION,
    LEG,
    LEGS_MOST,
    OWN_MAIN,
    PLAN,
    PROGRESS,
    PROGRESS_CHARACTERS,
    make_next_leg,
    read_leg,
)
from functions.agent.team.member import Member, Members
from functions.agent.team.report import LEAD
from functions.agent.team.request import (
    TeamRequest,
    answer_request,
    find_request,
    hold_work,
    keep_request,
)
from functions.agent.team.waking import is_halted
from functions.events import Event, order_of
from functions.texts.en import TEXTS as ENGLISH
from functions.texts.en import Texts
from sigil.errors import Refused, UsageError, one_line
from sigil.protocol import Json
from sigil.storage.evolve import evolve
from sigil.storage.kv import KV, keys

if TYPE_CHECKING:
    from functions.agent.app import App
    from functions.agent.conversation.messages import Message

CODES: Final = {"unknown": "ENOENT", "stranger": "EPERM"}
"""The codes of what keeps somebody from answering a plan; all others are EINVAL."""


class PlanProblem(UsageError):
    """A plan that cannot be answered, and why: `reason` is a name in `Texts.plan_problems`."""

    def __init__(self, reason: str, id: str, name: str = "", newer: str = "") -> None:
        self._reason = reason
        self._facts = {"id": one_line(id, 40).replace("`", ""), "name": name, "newer": newer}
        code = CODES.get(reason, "EINVAL")
        super().__init__(code, self.describe(ENGLISH), source="plan", reason="plan")

    def describe(self, texts: Texts) -> str:
        """Return the sentence that says it to a person."""
        return texts.plan_problems[self._reason].format(**self._facts)


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """An answer to the plan `id`: who gives it and whether that is an owner, with which `words`,
    and in which message or call (`key`), which may be run again after a crash.
    """

    id: str
    approve: bool
    by: str
    owner: bool
    words: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class AnsweredPlan:
    """A plan with its answer, and the post that wakes the teammate."""

    request: TeamRequest
    post: Post
    entry: Entry


def hand_in(app: App, id: str, request: TeamRequest) -> None:
    """Keep a plan for which a teammate waits from now on, in place of the one before.

    The work that the one before holds back goes on with the new one.
    """
    members = Members(app.kv, app.root)
    member = members.read(app.short_name)
    if member is None:
        return
    before = find_request(app.kv, app.root, member.waiting) if member.waiting != id else None
    work = before.next if before else None
    if work:
        work = evolve(work, id=_name_work(app.name, id), data={**work.data, PLAN: id})
    held = replace(request, generation=member.generation, next=work)
    keep_request(app.kv, app.root, id, held)

    def wait(found: Member | None) -> tuple[Member | None, None]:
        if found is None or found.generation != held.generation:
            return None, None
        return replace(found, waiting=id), None

    members.change(app.short_name, wait)
    if before:
        answer_request(app.kv, app.root, member.waiting, lambda _: None, approve=False, replaced=id)


def wait_for_answer(
    turn: Turn, messages: tuple[Message, ...], app: App, now: float
) -> tuple[Event, ...] | None:
    """Keep the event with which the work of a turn goes on that ends with a plan, and return what
    wakes the teammate where the answer has come already; None where it does not wait.
    """
    member = Members(app.kv, app.root).read(app.short_name)
    if member is None or not member.waiting:
        return None
    id = member.waiting
    post = make_next_leg(turn, messages)
    # an approval or a correction by a person is always worth another leg
    number = min(max(read_leg(turn.event).number, 1) + 1, LEGS_MOST)
    data: dict[str, Json] = {**post.data, LEG: number, PLAN: id, GENERATION: member.generation}
    post = replace(post, kind="task", data=data)
    (work,) = stamp_posts([post], turn.event, PLAN, now, turn.posted)
    request = hold_work(app.kv, app.root, id, evolve(work, id=_name_work(app.name, id)))
    if request is None:
        return None
    if request.state == "pending":
        return ()
    return stamp_posts([make_waker(app.root, id, request)], turn.event, PLAN, now, turn.posted)


def _name_work(agent: str, id: str) -> str:
    return f"{PLAN}:{agent}:{id}"


def keeps_waiting(app: App, event: Event, member: Member) -> bool:
    """Return whether a teammate that waits for an answer to a plan does so after the turn of an
    event, which has only read its mail.
    """
    if event.data.get(PLAN) == member.waiting:
        return False
    request = find_request(app.kv, app.root, member.waiting)
    return request is not None and request.next is not None and _has_task(app, member)


def _has_task(app: App, member: Member) -> bool:
    """Return whether the task that waits with a teammate's plan is still its own: somebody may have
    ended it meanwhile, or given it to another one.
    """
    if not member.task:
        return True
    task = Board(app.kv, app.root, app.clock.now).find(member.task)
    return task is not None and task.claim is not None and task.owner == app.short_name


def settle_waiting(event: Event, app: App, member: Member) -> tuple[str, tuple[Event, ...]] | None:
    """Return why an event takes no request to the model while a teammate waits for an answer, and
    what it sets off; None for the mail of its lead, and for what lets its work go on.
    """
    plan = event.data.get(PLAN)
    if isinstance(plan, str):
        if plan != member.waiting:
            # it has begun already where nothing is waited for
            return None if LEG in event.data and not member.waiting else ("it waits no more", ())
        if LEG in event.data:
            return None
        request = find_request(app.kv, app.root, plan)
        if request is None or request.state == "pending" or request.next is None:
            return "nobody has answered its plan", ()
        return "its plan was answered", (_make_work(request.next, plan, request, app.clock.now()),)
    from_teammate = event.sender.id.startswith(f"agent:{app.root}.")
    if event.kind == "mail" and not from_teammate:
        return None
    return "it waits for an answer to its plan", ()


def _make_work(work: Event, id: str, request: TeamRequest, now: float) -> Event:
    """Return the event with which the work goes on, whose briefing says what was answered."""
    line = f"plan {id}: {request.state}. {request.answer}".strip()
    progress = f"{work.data.get(PROGRESS) or ''}\n{line}".strip()[-PROGRESS_CHARACTERS:]
    data: dict[str, Json] = {**work.data, PROGRESS: progress}
    return evolve(work, at=now, order=order_of(now, 0), data=data)


def make_waker(root: str, id: str, request: TeamRequest) -> Post:
    """Return the post that lets a teammate go on whose plan was answered."""
    full = join_name(root, request.sender)
    if not request.generation:
        return Post("mail", full, OWN_MAIN, data={"home": request.home, "from": request.sender})
    return Post("task", full, OWN_MAIN, data={PLAN: id, GENERATION: request.generation})


def answer_plan(app: App, answer: PlanAnswer) -> AnsweredPlan:
    """Answer a plan, and return it with what wakes the teammate, which reads the words.

    `PlanProblem` says why it cannot be answered. The same message again finds its own answer.
    """
    id = answer.id

    def require(request: TeamRequest) -> None:
        _require_answerable(app, answer, request)

    require(find_request(app.kv, app.root, id) or _unknown(id))
    request = answer_request(
        app.kv,
        app.root,
        id,
        require,
        approve=answer.approve,
        answer=answer.words,
        key=answer.key,
        now=app.clock.now(),
    )
    approved = request.state == "approved"
    text = f"request_id={id} approve={str(approved).lower()} {request.answer}".strip()
    sent = request.answered_at
    mail = Mail(f"{id}:answer", LEAD, text, sent, "plan_approval_response", answer.by)
    try:
        Mailbox(app.kv, keys.escape(join_name(app.root, request.sender))).deliver(mail)
    except Refused:
        if not request.generation:  # nothing else tells it
            raise
    state = "approved" if approved else "denied"
    facts: dict[str, Json] = {"proposal": id, "state": state, "acts": [f"plan {request.sender}"]}
    return AnsweredPlan(request, make_waker(app.root, id, request), Entry("proposal", facts))


def _unknown(id: str) -> TeamRequest:
    raise PlanProblem("unknown", id)


def _require_answerable(app: App, answer: PlanAnswer, request: TeamRequest) -> None:
    """Raise `PlanProblem` unless somebody may answer a plan, and something comes of it."""
    id = answer.id
    name = request.sender
    if request.kind != "plan":
        raise PlanProblem("unknown", id)
    if not answer.owner and not (answer.by and answer.by == request.by):
        raise PlanProblem("stranger", id, name)
    if request.state != "pending":
        if answer.key and answer.key == request.answered:
            return
        reason = "replaced" if request.replaced else request.state
        raise PlanProblem(reason, id, name, request.replaced)
    member = Members(app.kv, app.root).read(name)
    if member is None or member.stopping or _has_ended(member, request, app):
        raise PlanProblem("shut_down", id, name)
    absence = find_absence(app.kv.get(keys.agent_record(app.root, name)))
    if absence not in ("", "disabled"):
        raise PlanProblem("shut_down", id, name)
    if absence or list_drained(app.kv, app.root, [name], app.hp, app.clock.now()):
        raise PlanProblem("disabled", id, name)
    is_at_end = not request.next and member.status == "working"
    if request.generation and member.waiting != id and not is_at_end:
        raise PlanProblem("ended", id, name)
    if is_halted(app, name):
        raise PlanProblem("halted", id, name)


def _has_ended(member: Member, request: TeamRequest, app: App) -> bool:
    if request.generation not in (0, member.generation):
        return True
    return member.find_status(app.clock.now(), app.team_idle) == "shutdown"


def list_plans(kv: KV, root: str) -> list[tuple[str, TeamRequest]]:
    """Return the plans for whose answers teammates wait, each with its id, the oldest first."""
    found = []
    for _, member in Members(kv, root).scan():
        request = find_request(kv, root, member.waiting) if member.waiting else None
        if request and request.state == "pending":
            found.append((member.waiting, request))
    return sorted(found, key=lambda pair: (pair[1].at, pair[0]))


def describe_plan(id: str, request: TeamRequest, root: str) -> dict[str, Json]:
    """Return a plan as a row of the API, in the words of proposals."""
    states = {"pending": "open", "rejected": "denied"}
    return {
        "id": id,
        "kind": "plan",
        "state": states.get(request.state, request.state),
        "agent": join_name(root, request.sender),
        "session": request.home,
        "by": request.by,
        "at": request.at,
        "text": request.text,
        "answer": request.answer or None,
    }
