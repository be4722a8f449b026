"""A turn takes one event from the opening of its session to its close.

The session is opened, the rounds run, and the session is closed with its replies in one write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import inf

from functions import overheard
from functions.agent import (
    approvals,
    background_calls,
    compaction,
    gathering,
    pictures,
    tokens,
    unopened,
)
from functions.agent.access.roles import Role
from functions.agent.agents import bindings
from functions.agent.agents.bindings import Bound, BoundElsewhere, parse_binding
from functions.agent.agents.bundle import shorten_names
from functions.agent.agents.lifecycle import end_task
from functions.agent.agents.record import AgentRecord, TaskLimits
from functions.agent.app import App, TurnStep, Watch, ignore_step
from functions.agent.background_calls import BackgroundTask, CallStarter
from functions.agent.behaviours import chain
from functions.agent.behaviours.behaviour import parse_behaviour
from functions.agent.behaviours.briefing import make_briefing
from functions.agent.behaviours.built_in import ON_TASK, ON_WAKEUP
from functions.agent.behaviours.pins import find_pins
from functions.agent.commands import groups, pairing, table
from functions.agent.commands.command import CommandCall
from functions.agent.commands.control import handle_control
from functions.agent.commands.snooze import answer_reminder
from functions.agent.commands.snooze import make_buttons as make_reminder_buttons
from functions.agent.commands.time_zone import suggest_city
from functions.agent.context import Preamble
from functions.agent.eviction import archive_messages, evict, note_enough_unheard
from functions.agent.language import choose_texts_for, mentions_time
from functions.agent.ledger.entry import UNKNOWN, Entry
from functions.agent.ledger.journal import adopt_journal
from functions.agent.ledger.ledger import Ledger
from functions.agent.loop import (
    MAIL_SHARE,
    SAVE_SECONDS,
    RoundContext,
    estimate_cost,
    run_rounds,
)
from functions.agent.mailbox import Mail, Mailbox, format_mails, scope_of, take_fitting
from functions.agent.messages import (
    RESULT_NOTE,
    RUNTIME_ORIGIN,
    SAID_NOTE,
    SCHEDULED_KINDS,
    SCHEDULED_NOTE,
    SILENT,
    Message,
    ToolCall,
    clean_name,
    find_last_said,
    find_unanswered,
    is_from_person,
    remove_silence,
    user_message,
)
from functions.agent.model import outage
from functions.agent.offline_signature import NAME as OFFLINE
from functions.agent.offline_signature import sign_text
from functions.agent.policy.document import list_policy_keys, read_policies
from functions.agent.policy.gate import Gate
from functions.agent.policy.proposals import Proposal, find_work
from functions.agent.policy.rules import Policy
from functions.agent.posts import (
    NOTES_MOST,
    POSTS_MOST,
    NoteAllowance,
    PostAllowance,
    report_home,
    stamp_posts,
)
from functions.agent.runs import event_chain
from functions.agent.runs.call_progress import ProgressReporter
from functions.agent.runs.event_chain import ChainBudget
from functions.agent.runs.run import make_run, save_run
from functions.agent.safety import hp
from functions.agent.safety.breakers import Breakers
from functions.agent.safety.hp import HpAccount
from functions.agent.safety.retry import Retry
from functions.agent.safety.session_usage import (
    NO_ACTIVITY,
    TITLE_CHARACTERS,
    SessionActivity,
)
from functions.agent.safety.status import NoticeReader, SafetyStatus, write_notice
from functions.agent.safety.task_limits import STEPS, TOKENS, WALLTIME
from functions.agent.sanitize import clean_text, escape_delimiters
from functions.agent.schedules.outcome import note_run
from functions.agent.schedules.quiet_hours import hold_back, is_quiet, make_collection
from functions.agent.schedules.schedule import NOBODY
from functions.agent.services.call_context import CallContext, OwnWork
from functions.agent.services.table import call_service, list_acts
from functions.agent.services.things import find_remembered
from functions.agent.session import missed_messages
from functions.agent.session.document import (
    HELD_STEP,
    LOST,
    NEXT_LEG,
    NOTE_STEP,
    OUTBOX_MOST,
    RUNS_MOST,
    SEEN_MOST,
    Document,
    GatheredMessage,
    Outgoing,
    Turn,
    name_run,
)
from functions.agent.session.memory_progress import adopt_progress
from functions.agent.session.store import SessionHandle
from functions.agent.side_request import SECONDS, SideRequests
from functions.agent.skills.search import FindSkills, find_no_skills
from functions.agent.team import briefing as team_briefing
from functions.agent.team import leg as legs
from functions.agent.team import work
from functions.agent.team.board import Board
from functions.agent.team.member import Member, list_member_keys, read_member
from functions.agent.team.work import end_leg
from functions.agent.tool_calls import (
    FindRemembered,
    ToolCallContext,
    describe_call,
    find_nothing,
    interrupt_call,
)
from functions.agent.workspace.edit_notice import EditsReader, list_record_keys, tell_edits
from functions.events import BACKGROUND_KINDS, Button, Event, order_of
from functions.queues.dead_letters import give_up, note_sender_told
from functions.texts.en import Texts
from functions.time.time_zone import DEFAULT
from sigil.errors import Conflict, one_line
from sigil.json_fields import as_string
from sigil.protocol import Json, KeptFile
from sigil.running_call import CallProgress, format_progress
from sigil.storage.kv import ABSENT, Item, Key, keys
from sigil.storage.kv.base import Read, get_many

ATTEMPTS = 3
"""A turn that was opened so often without getting on is given up; the last time, no other turn runs
in its process.
"""
WAITS = 6
"""A turn is handed on from one worker to the next, or waits for its model, at most so often."""
WAIT_SECONDS = 15.0
"""The first wait for a model that is away; the next one is four times as long: with the client's
own pauses, a minute and a half in all.
"""
KEPT_SHARE = 0.75
"""The part of the window's room that the history before a turn may take. The rest is for the turn,
which is never compacted while it runs.
"""
LIGHT_TOKENS = 2_000
"""A run of a schedule begins with so many tokens of the runs before it at most, so that one of
every half an hour costs no more with every day.
"""
PINS_SHARE = 0.25
"""The part of the window's room that a behaviour's pins may take."""
"""The runtime's line above what the agent said in a chat by itself."""
INTERRUPTED = (
    '{"error":{"source":"runtime","code":"EINTERRUPTED","message":"the turn was'
    ' stopped","suggestion":""}}'
)
"""The model reads this as the result of a call that nothing answered."""


def keep_replies(opened: SessionHandle) -> SessionHandle:
    """Return the session as it is: its replies wait until the event is handled."""
    return opened


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

    def make_gate(self, event: Event) -> Gate:
        """Return the gate for what is done for the turn's event."""
        task = self.task
        if task:
            gate = self.app.make_gate(
                self.policies, self.role, private=task.call.private, own_work=task.call.own_work
            )
            # the call was allowed when it was made: nobody is asked a second time
            return replace(gate, approved=task.approved)
        approval = self.approval
        own_work = approval.own_work if approval else event.kind in BACKGROUND_KINDS
        gate = self.app.make_gate(
            self.policies, self.role, private=event.private, own_work=own_work
        )
        ask = partial(approvals.ask_owners, self.app, event, self.role)
        return replace(gate, ask=ask, approved=approval)


@dataclass(frozen=True, slots=True)
class TurnRecords:
    """The stored records that a turn begins with, read by one request.

    `seen` says that the event was handled before, or that nothing of it may be left. `role` is the
    sender's, `breakers` know of halts and the budget, `prompt` are the items that the system
    message is made from. `policies`, `listens_since`, `asks_zone`, `hp`, `chain` and `workspaces`
    are as in `TurnContext`.
    """

    opened: SessionHandle
    seen: bool
    role: Role
    breakers: Breakers
    prompt: Sequence[Item | None]
    policies: tuple[Policy, ...]
    listens_since: str
    asks_zone: bool
    hp: HpAccount | None
    chain: ChainBudget
    workspaces: Sequence[Item | None]
    member: Member | None = None


def read_turn_records(
    event: Event, app: App, opened: SessionHandle | None = None, bound: Bound | None = None
) -> TurnRecords:
    """Read all that a turn of `event` has to know before its first request to the model.

    Raises `BoundElsewhere` when the event's chat is not `bound` as it says; None for work that no
    chat's binding decides.

    A session that is `opened` already is not read again. Its document adopts what consolidations
    came to beside its turns. One of the agent's own has the time zone and the language of the chat
    that the work is for.
    """
    session = keys.session_of(app.name, event.session)
    chat = app.name_chat(event.session)
    home = _find_home(event, app)
    breakers = app.make_breakers(session)
    people = app.people
    memory = opened.memory if opened else app.sessions.guess_memory(session)
    groups: tuple[Sequence[Key], ...] = (
        [] if opened else [keys.session_head(session)],
        [keys.memory_progress(session)],
        [keys.begun_requests(session), keys.begun_requests(keys.memory_of(session))],
        [keys.seen_event(session, event.id)],
        breakers.list_keys(),
        people.list_keys(event),
        app.list_preamble_keys(memory),
        [keys.listening(chat)] if event.kind == "message" and not event.private else [],
        [keys.zone_asked(session)] if _needs_zone(event, app) else [],
        [keys.chat_binding(app.root, event.session)] if bound else [],
        list_policy_keys(app.name),
        [keys.session_head(home)] if home else [],
        [keys.hp(app.name)] if _is_bounded(event, app) else [],
        event_chain.list_keys(event, app.root),
        list_record_keys(event, app.name) if event.kind != "say" else [],
        list_member_keys(app.name, own_work=event.is_own_work) if app.is_teammate else [],
    )
    items = iter(get_many(app.kv, [key for group in groups for key in group]))
    (
        head,
        progress,
        begun,
        seen,
        safety,
        person,
        prompt,
        listening,
        asked,
        binding,
        policies,
        homes,
        account,
        chained,
        workspaces,
        members,
    ) = ([next(items) for _ in group] for group in groups)
    if bound:
        known = parse_binding(binding[0])
        agent = known.find_agent(event.order)
        if agent != bound.agent:
            raise BoundElsewhere(agent)
    breakers.use_items(safety)
    if opened is None:
        opened = app.sessions.decode_head(session, head[0])
    if opened.document.turn is None:
        # whoever closed the last turn may have crashed before it wrote down what it did
        opened = flush_ledger(opened, app)
    document = adopt_progress(session, opened.document, progress[0])
    ledger = adopt_journal(document.ledger, begun[0], is_over=True)
    document = replace(document, ledger=adopt_journal(ledger, begun[1], is_over=False))
    if event.is_own_work and event.kind != "continue":
        # its days, hours and words are those of whoever it is for, as they are now
        zone = language = ""
        if home:
            asker = app.sessions.decode_head(home, homes[0]).document
            zone = asker.zone
            language = choose_texts_for(event, asker).code
        document = replace(document, zone=zone, language=language)
    opened = opened.with_document(document)
    if bound:
        opened = replace(opened, agents=known.known_agents)
    if opened.memory != memory:
        prompt = get_many(app.kv, app.list_preamble_keys(opened.memory))
    return TurnRecords(
        opened,
        seen[0] is not None
        or event.id in opened.document.seen
        or opened.document.was_erased(event),
        people.take_role(event, person),
        breakers,
        prompt,
        read_policies(policies),
        overheard.find_start(listening[0]) if listening else "",
        asks_zone=asked == [None] and not opened.document.zone,
        hp=hp.read_account(account[0], app.hp, app.clock.now()) if account else None,
        chain=_open_chain(event, app, (chained[0] or ABSENT) if chained else None),
        workspaces=workspaces,
        member=read_member(members[0], app.short_name) if members and members[0] else None,
    )


def _open_chain(event: Event, app: App, known: Read | None = None) -> ChainBudget:
    """Return the budget of the chain of an event; `known` is its record as it was just read."""
    return ChainBudget(app.kv, app.name, event, app.limits.chain_tokens, known)


def _is_bounded(event: Event, app: App) -> bool:
    """Return whether HP bound what an event sets off: what nobody typed, and nobody approved."""
    # the turn that made the call of a task has paid for it
    is_paid = "proposal" in event.data or background_calls.find_call(event) is not None
    return app.hp.most > 0 and event.is_own_work and not is_paid


def _find_home(event: Event, app: App) -> str:
    """Return the session (S of the keys) of the chat that work of the agent's own is for; empty
    where there is none.
    """
    home = event.data.get("home")
    if not (event.is_own_work and isinstance(home, str) and home):
        return ""
    return keys.session_of(str(event.data.get("home_agent") or app.root), home)


def _needs_zone(event: Event, app: App) -> bool:
    """Return whether an event speaks of a time, and no setting says where its writer is."""
    return event.kind == "message" and app.zone == DEFAULT and mentions_time(event.text)


def run_turn(
    event: Event,
    app: App,
    watch: Watch = ignore_step,
    worker: WorkerBudget = UNBOUNDED_WORKER,
    between: Callable[[SessionHandle], SessionHandle] = keep_replies,
    *,
    bound: Bound | None = None,
) -> SessionHandle:
    """Take `event` to its end and return the closed session, its outbox still full.

    An event whose turn is closed changes nothing. A turn that somebody left in progress is finished
    first; `between` may send its replies before this event's own turn begins.

    A worker whose own time is up hands the turn on: the session comes back with the turn in
    progress and the event that continues it, or, while the model does not answer, with the seconds
    after which to try again. Raises `NeedsIsolation` when the turn must run alone and the worker is
    shared, and `BoundElsewhere` when another agent answers in the event's chat than the one of
    `bound`.
    """
    records = read_turn_records(event, app, bound=bound)
    opened = records.opened
    if records.seen or _is_late(event, opened):
        return replace(take_over_replies(opened, app), repeated=True)
    while opened.document.turn:
        unfinished = opened.document.turn.event
        opened = _resume_turn(opened, app, watch, worker, records.policies)
        if opened.next or opened.wait or event.kind == "continue" or unfinished.id == event.id:
            return opened
        answered = {other.id for other in opened.gathered}
        opened = between(opened)
        if event.id in answered:
            return opened
        if not opened.document.turn:
            # the other turn took its time, so everything else that was read is old
            records = read_turn_records(event, app, opened)
    approval = approvals.find_approval(app, event)
    role = records.role
    if approval:
        role = approvals.find_asker_role(app, approval, role)
    task = background_calls.find_task(app, event)
    if task:
        role = background_calls.find_asker_role(app, event, task, role)
    context = TurnContext(
        app,
        watch,
        worker,
        role,
        records.breakers,
        records.policies,
        records.chain,
        records.listens_since,
        records.asks_zone,
        bound,
        approval,
        records.hp,
        records.workspaces,
        records.member,
        task,
    )
    return _begin_turn(opened, event, records.prompt, context)


def abandon_turn(event: Event, app: App) -> SessionHandle:
    """Give an event up for good without running anything, and return the closed session.

    Its turn, begun or not, is closed with an apology. A turn in progress that it only found, or was
    to continue, is given up with it: nothing else would ever get past.
    """
    opened = app.sessions.open(keys.session_of(app.name, event.session))
    if app.sessions.was_seen(opened, event) or _is_late(event, opened):
        return replace(take_over_replies(opened, app), repeated=True)
    turn = opened.document.turn
    if turn:
        opened = _give_up_turn(opened, app, turn)
    if event.kind == "continue" or (turn and turn.event.id == event.id):
        return opened
    return _give_up_turn(opened, app, Turn(event, began=app.clock.now()), begun=False)


def stop_turn(session: str, app: App) -> SessionHandle:
    """Close the turn in progress as stopped: its open calls are answered as interrupted."""
    opened = app.sessions.open(keys.session_of(app.name, session))
    turn = opened.document.turn
    if turn is None:
        return opened
    opened = note_lost_request(opened, app)
    turn = opened.document.turn or turn
    text = choose_texts_for(turn.event, opened.document).stopped
    turn = turn.add_step("stop", at=turn.count_ms(app.clock.now()))
    return close_turn(opened, app, turn, text)


def _give_up_turn(
    opened: SessionHandle, app: App, turn: Turn, *, begun: bool = True
) -> SessionHandle:
    """Make the turn's event a dead letter and close the turn, which tells the sender."""
    give_up(app.kv, turn.event, "it came to nothing, again and again", app.clock.now())
    text = choose_texts_for(turn.event, opened.document).gave_up
    if begun:
        opened = note_lost_request(opened, app)
        turn = opened.document.turn or turn
    turn = turn.add_step("given-up", at=turn.count_ms(app.clock.now()))
    # what it had gathered may not be the reason, and has its own turns
    opened = opened.with_document(opened.document.without_gathered())
    closed = close_turn(opened, app, replace(turn, gathered=()), text, in_history=begun)
    note_sender_told(app.kv, turn.event)
    return closed


def _begin_turn(
    opened: SessionHandle, event: Event, prompt: Sequence[Item | None], context: TurnContext
) -> SessionHandle:
    """Run the event's own turn, or answer the event where that takes no request to the model.

    `prompt` are the items that the system message is made from, as they were just read.
    """
    app = context.app
    breakers = context.breakers
    stored = opened.document.safety
    opened = _with_safety(opened, breakers.mark_damage_noticed(stored))
    turn = Turn(event, began=app.clock.now())
    if context.bound and bindings.must_tell_absence(context.bound, event, app.root, app.kv):
        turn = turn.add_step(bindings.AWAY, name=context.bound.agent, why=context.bound.away)
    closed = _answer_without_turn(opened, turn, context)
    if closed:
        return closed
    if work.is_quiet_mail(event):
        opened = opened.with_document(replace(opened.document, reads_mail=True))
        return close_turn(opened, app, turn, "", in_history=False)
    settled = work.settle_order(event, app, context.member, turn, opened.document)
    if settled:
        return _close_settled(opened, turn, settled, app)

    # may the session go on? A pause of the agent's own work belongs to the work that it ended
    by_person = event.kind == "message" and context.role != "guest"
    by_person |= event.is_own_work and turn.task != opened.document.safety.task
    safety = breakers.reopen(opened.document.safety, person=by_person)
    begun = safety.begin_task(turn.task)
    if app.record and app.record.task and event.is_own_work:
        begun = begun.bound_task(turn.began)
    reason = safety.reason or breakers.find_stop_reason(begun)
    if reason:
        if not safety.reason:
            safety = breakers.stop(safety, reason)
        was_known = bool(stored.since and begun.reason)
        return _close_stopped(_with_safety(opened, safety), turn, context, was_known=was_known)
    if stored.reason and event.kind == "message":
        texts = choose_texts_for(event, opened.document)
        count = missed_messages.claim_missed_count(app.kv, opened.key, event.id, texts)
        if count:
            turn = turn.add_step(missed_messages.KIND, count=count)

    if context.task:
        return _begin_call(_with_safety(opened, begun), turn, prompt, context.task, context)
    mailbox = None
    if "proposal" not in event.data:
        mailbox = _open_mailbox(event, app, opened.document)
    if "proposal" in event.data and context.approval is None:
        # it was approved and done already, or somebody has decided anew
        return close_turn(opened, app, turn, "", in_history=False)
    mails: Sequence[tuple[str, Mail]] = ()
    if mailbox and event.kind == "mail":
        mails, left = mailbox.read(opened.document.taken)
        if not mails:
            # another turn has read it
            mailbox.remove(left)
            opened = opened.with_document(replace(opened.document, taken=()))
            return close_turn(opened, app, turn, "", in_history=False)

    if context.hp:
        stopped = context.hp.find_stop(turn.began, _estimate_first_cost(opened, prompt, context))
        if stopped:
            return _sleep(opened, turn, context, stopped)
    settled = work.settle_look(event, app, context.member, turn)
    if settled:
        return _close_settled(opened, turn, settled, app)

    if unopened.is_all(event):
        return _answer_unopened(_with_safety(opened, begun), turn, context)

    # may its sender?
    texts = choose_texts_for(event, opened.document)
    allowances = app.make_allowances(app.find_zone(opened.document))
    refusal = allowances.begin_turn(event, context.role, texts)
    if refusal is not None:
        turn = turn.add_step("skip", reason="allowance")
        return close_turn(opened, app, turn, refusal, in_history=False, role=context.role)

    # make room for the turn in the window: memory hears of what leaves after the reply
    opened = _with_safety(opened, begun)
    preamble = app.build_preamble(opened.memory, prompt, own=event.is_own_work)
    room = app.count_room(preamble, opened.document.ratio)
    until = min(app.clock.monotonic() + SECONDS, context.worker.until - SAVE_SECONDS)
    spent = context.chain.find_excess(turn) is not None
    side = SideRequests(
        opened.key, app, opened.document, breakers, until, tries=1, event=event, chain_spent=spent
    )
    kept = room * KEPT_SHARE
    leg = legs.read_leg(event)
    is_new = event.is_posted or (event.kind == "wakeup" and not chain.count_hops(event))
    is_new |= leg.number == 1
    if is_new and not opened.document.handed_on:  # the behaviour that goes on needs what it found
        kept = min(kept, LIGHT_TOKENS)
    document = note_enough_unheard(evict(side, kept, context.watch))
    now = app.clock.now()
    trace = [{**row, "at": turn.count_ms(now)} for row in side.trace]
    document, turn = _charge_turn(opened, document, turn, trace)
    allowances.record_tokens(event, context.role, turn.usage.counted, turn.began)
    # of what came over a hook, the model reads as much as has room
    length = 0 if event.is_posted else tokens.of_text(event.text)
    if length > room:
        breakers.settle(document.safety, _describe_activity(turn, document, context))
        notice = texts.too_long.format(window=app.model.window)
        opened = opened.with_document(document)
        return close_turn(opened, app, turn, notice, in_history=False, role=context.role)

    events = [event, *_find_gathered_events(opened, event, context)]
    heard = _read_overheard(document, events, context)
    if mailbox or event.is_posted or context.approval:
        turn = replace(turn, first=document.next_seq)
    if event.is_own_work:
        if leg.number == 1 and leg.task:
            claimed = team_briefing.CLAIMED.format(number=leg.task)
            opening = replace(user_message(event, context.role), content=event.text)
            document = document.add(opening, Message("assistant", claimed, at=turn.began))
        turn, briefing = _brief(turn, document, room, context)
        document = document.add(briefing)
        work.begin_work(event, app, context.member)
    reader = EditsReader(app.name, event, context.role, turn.began, app.people)
    document = tell_edits(document, context.workspaces, reader)
    gathered: tuple[GatheredMessage, ...] = ()
    most = int(room * tokens.CHARACTERS_A_TOKEN * MAIL_SHARE)
    if event.is_posted:
        document, gathered = gathering.add_posts(document, events, turn.began, most)
    elif mails:
        mails = take_fitting(mails, most)
        message = format_mails([mail for _, mail in mails], turn.began, most)
        is_result = background_calls.is_result(event)
        below = RESULT_NOTE if is_result else SCHEDULED_NOTE
        message = replace(message, content=f"{message.content}\n{below}")
        if is_result:
            message = replace(message, files=background_calls.read_files(event))
        document = document.add(message)
        document = replace(document, taken=(*document.taken, *(name for name, _ in mails)))
    elif context.approval:
        approval = context.approval
        document = document.add(approvals.make_approved_message(approval, turn.began))
        acts = ", ".join(approval.acts)
        turn = turn.add_step(approvals.STEP, id=approval.id, acts=acts)
    elif not (app.is_teammate and leg.number):
        document, gathered = gathering.add_messages(
            document, events, context.role, heard, room, zone=app.find_zone(document)
        )
    if gathered:
        turn = replace(turn, gathered=gathered).add_step("gather", count=len(gathered))
        context.watch(TurnStep("note", "gather", f"{len(gathered)} more messages are answered"))
    opened = _save_open_turn(opened, replace(document, turn=turn), context)
    if work.stop_if_told(event, app):
        breakers.reload()
    return _run_and_close(opened, preamble, context)


def _begin_call(
    opened: SessionHandle,
    turn: Turn,
    prompt: Sequence[Item | None],
    task: BackgroundTask,
    context: TurnContext,
) -> SessionHandle:
    """Run the call of a task, which takes no request to the model."""
    app = context.app
    call = task.call
    caller = app.make_caller(call.session)
    message = background_calls.open_call(app, call, caller, turn.began)
    if message is None:
        why = f"{call.name} is not what was offered any more"
        return close_turn(opened, app, turn, why, in_history=False)
    document = opened.document.add(message)
    opened = _save_open_turn(opened, replace(document, turn=turn), context)
    preamble = app.build_preamble(opened.memory, prompt, own=True)
    return _run_and_close(opened, preamble, context)


def _close_settled(
    opened: SessionHandle, turn: Turn, settled: work.Settled, app: App
) -> SessionHandle:
    """Close the turn of an event of a team that takes no request to the model."""
    turn = turn.add_step(work.STEP, why=settled.why)
    document = opened.document
    document = document.note(settled.entries, turn.event, app.clock.now())
    opened = opened.with_document(replace(document, posts=document.posts + settled.posts))
    return close_turn(opened, app, turn, "", in_history=False)


def _estimate_first_cost(
    opened: SessionHandle, prompt: Sequence[Item | None], context: TurnContext
) -> float:
    """Return the HP that the first request of the agent's own work is expected to cost."""
    app = context.app
    preamble = app.build_preamble(opened.memory, prompt, own=True)
    document = opened.document
    estimate = min(compaction.estimate_size(document.messages), LIGHT_TOKENS)
    return estimate_cost(app, preamble, estimate, document.ratio)


def _sleep(opened: SessionHandle, turn: Turn, context: TurnContext, why: str) -> SessionHandle:
    """Close the turn of work of the agent's own that does not begin, for want of HP.

    A schedule comes again, and mail waits in its mailbox; of all else there is a dead letter.
    """
    app = context.app
    event = turn.event
    now = app.clock.now()
    is_lost = event.kind not in ("wakeup", "mail") or event.is_posted
    if is_lost and not legs.is_look(event):
        reason = f"the agent has too few HP for work of its own: {why}"
        give_up(app.kv, event, reason, now, notify_sender=False)
    account = context.hp
    is_told = why == hp.LIMIT and hp.note_asleep(app.kv, app.name, app.hp, event.id, now)
    if account and (account.is_damaged or is_told):
        texts = choose_texts_for(event, opened.document)
        line = hp.describe(account.report(now), app.find_zone(opened.document), now, texts)
        posts = report_home(event, line, now, place="hp")
        document = opened.document
        opened = opened.with_document(replace(document, posts=document.posts + posts))
    closed = close_turn(opened, app, turn.add_step("skip", reason=why), "", in_history=False)
    # after a crash in between it is told twice rather than never
    hp.settle_clock(app.kv, app.name, app.hp, now)
    return closed


def _brief(
    turn: Turn, document: Document, room: float, context: TurnContext
) -> tuple[Turn, Message]:
    """Return the turn, whose trace says which behaviour it runs, and the briefing that opens it.

    The behaviour is the one that the event names; `on_wakeup` stands in for one that is gone.
    """
    app = context.app
    event = turn.event
    usual = ON_TASK if app.is_teammate else ON_WAKEUP
    wanted = str(event.data.get(chain.NAME) or usual)
    behaviour = app.find_behaviour(wanted) or parse_behaviour(usual, "")
    caller = app.make_caller(event.session)
    record = app.record
    own = shorten_names(record.bundle) if record and app.is_teammate else ()
    pins = tuple(dict.fromkeys((*behaviour.pins, *own)))
    offers, left_out = find_pins(pins, app.registry, caller, room * PINS_SHARE)
    facts: dict[str, Json] = {"name": behaviour.name, "pins": len(offers)}
    hop = chain.count_hops(event)
    if hop:
        facts["hop"] = hop
    if left_out:
        facts["left_out"] = list(left_out)
    if wanted != behaviour.name:
        facts["missing"] = wanted
    model = str(event.data.get(chain.MODEL) or behaviour.model)
    turn = replace(turn, behaviour=behaviour.name, model=model).add_step("behaviour", **facts)
    stamp = app.make_stamp(document)
    briefing = make_briefing(behaviour, offers, stamp, event.kind, turn.began)
    leg = legs.read_leg(event)
    if record and app.is_teammate:
        task = Board(app.kv, app.root, app.clock.now).find(leg.task) if leg.task else None
        more = team_briefing.describe_assignment(leg, record.prompt, record.gist, task)
        briefing = replace(briefing, content="\n".join(filter(None, (briefing.content, more))))
    return turn, briefing


def _open_mailbox(event: Event, app: App, document: Document) -> Mailbox | None:
    """Return the mailbox that a turn reads: work of the agent's own does, one set off by mail, and
    the next one of a chat that was told of mail for it.

    None for all others, and for work of a hook, which reads what came over it.
    """
    if event.hook:
        return None
    if event.is_own_work or event.kind == "mail" or document.reads_mail:
        return Mailbox(app.kv, scope_of(event))
    return None


def _find_gathered_events(
    opened: SessionHandle, event: Event, context: TurnContext
) -> Sequence[Event]:
    """Return the events behind this one that its turn answers as well, none that was handled."""
    app = context.app
    if app.model.name == OFFLINE:  # it reads one request at a time
        return ()
    row = gathering.list_row(event, context.worker.behind or ())
    row = [other for other in row if other.id not in opened.document.seen]
    if not row:
        return ()
    seen = get_many(app.kv, [keys.seen_event(opened.key, other.id) for other in row])
    return [other for other, item in zip(row, seen, strict=True) if item is None]


def _read_overheard(
    document: Document, events: Sequence[Event], context: TurnContext
) -> Sequence[overheard.OverheardMessage]:
    """Return what people said to each other between the last message that the model got and the
    last of these events.
    """
    if not context.listens_since:
        return ()
    chat = context.app.name_chat(events[0].session)
    got = find_last_said(document.messages)
    # messages of the same second may come twice rather than never
    since = max(context.listens_since, order_of(got.at, 0) if got else "")
    return overheard.read_messages(context.app.kv, chat, since, events[-1].order)


def _answer_unopened(opened: SessionHandle, turn: Turn, context: TurnContext) -> SessionHandle:
    """Answer a message of which nothing can be opened, without a request to the model.

    The history has it. Of several that come together, such as an album, one is answered.
    """
    event = turn.event
    before = find_last_said(opened.document.messages)
    message = user_message(event, context.role)
    text = unopened.write_answer(event, choose_texts_for(event, opened.document))
    if before and before.origin == message.origin and unopened.NOTE in before.content:
        text = "" if abs(event.at - before.at) < unopened.SAME_SECONDS else text
    document = opened.document.add(message)
    if text:
        document = document.add(Message("assistant", text, at=context.app.clock.now()))
    opened = opened.with_document(document)
    return close_turn(opened, context.app, turn, text, in_history=False, role=context.role)


def _answer_without_turn(
    opened: SessionHandle, turn: Turn, context: TurnContext
) -> SessionHandle | None:
    """Answer a stranger, a control event or a command, and close the session; None for the rest.

    What a command took out of the history is archived.
    """
    app = context.app
    role = context.role
    event = turn.event
    if event.joined:
        # whoever it was: one sentence, and nothing that a stranger could not see anyway
        turn = turn.add_step("joined")
        return close_turn(
            opened, app, turn, groups.write_greeting(event, app), in_history=False, role=role
        )
    if event.kind in BACKGROUND_KINDS:
        if not _may_work(app, role, context.task):
            return _skip_unwanted(opened, turn, app)
    elif not app.rules.may_talk(role):
        turn = turn.add_step("refused")
        return close_turn(
            opened, app, turn, pairing.answer_stranger(event, app), in_history=False, role=role
        )
    if event.kind == "say":
        return _say(opened, turn, context)
    if event.is_control:
        answer = handle_control(event, app, role).text
        turn = turn.add_step("control")
        return close_turn(opened, app, turn, answer, in_history=False, role=role)
    if event.kind != "message":
        return None
    call = CommandCall(app, opened, role, event)
    result = table.run_command(call) or answer_reminder(call)
    if result is None:
        return None
    stays = {message.seq for message in result.document.messages}
    gone = [message for message in opened.document.messages if message.seq not in stays]
    document = note_enough_unheard(archive_messages(opened.key, result.document, gone, app))
    document = document.note(result.entries, event, app.clock.now())
    document, turn = _charge_turn(opened, document, turn, result.trace)
    allowances = app.make_allowances(app.find_zone(opened.document))
    allowances.record_tokens(event, role, turn.usage.counted, turn.began)
    saved = (result.saved or opened).with_document(document)
    turn = turn.add_step("command", name=result.name)
    return close_turn(saved, app, turn, result.text, in_history=False, role=role)


def _may_work(app: App, role: Role, task: BackgroundTask | None) -> bool:
    """Return whether background work is done with this role; the call of a person is their own."""
    if task and not task.call.own_work:
        return app.rules.may_talk(role)
    return app.rules.may_work(role)


def _skip_event(
    opened: SessionHandle, turn: Turn, app: App, reason: str, *, begun: bool = False
) -> SessionHandle:
    """Close the turn of an event that is not handled, or not to its end; a dead letter says why."""
    give_up(app.kv, turn.event, reason, app.clock.now(), notify_sender=False)
    return close_turn(opened, app, turn, SILENT if begun else "", in_history=begun)


def _skip_unwanted(
    opened: SessionHandle, turn: Turn, app: App, *, begun: bool = False
) -> SessionHandle:
    """Close the turn of work on behalf of somebody who may not talk to the agent any more."""
    who = turn.event.behalf or "nobody"
    reason = f"{who}, on whose behalf it is, may not talk to the agent"
    turn = turn.add_step("skip", reason=NOBODY)
    return _skip_event(opened, turn, app, reason, begun=begun)


def _say(opened: SessionHandle, turn: Turn, context: TurnContext) -> SessionHandle:
    """Say in a chat what the event has to say, without a request to the model.

    The history has it as the agent's own words, below a line that says where they came from.
    """
    app = context.app
    event = turn.event
    safety = opened.document.safety
    if context.breakers.find_stop_reason(safety) == "halted":
        return _skip_event(
            opened, turn.add_step("skip", reason="halted"), app, "the agent was halted"
        )
    denied = context.make_gate(event).decide("say", event.session)
    if denied.effect == "deny":
        turn = turn.add_step("skip", reason="policy")
        why = f"the policy does not allow to say something here: {denied.rule}"
        return _skip_event(opened, turn, app, why)
    now = app.clock.now()
    text = clean_text(event.text)
    document = opened.document
    is_collection = bool(event.data.get("collects"))
    if is_collection and not document.held:
        return close_turn(opened, app, turn, "", in_history=False)
    zone = app.find_zone(document)
    if is_quiet(document.quiet, now, zone):
        # the record of their end comes first: after a crash it finds nothing to say
        texts = choose_texts_for(event, document)
        app.schedules.add(make_collection(document, event, now, texts, zone))
        if not is_collection:
            document = hold_back(document, app.redact(text))
        turn = turn.add_step(HELD_STEP, until=document.quiet.partition("-")[2])
        return close_turn(opened.with_document(document), app, turn, "", in_history=False)
    is_alone = not document.held
    if document.held:
        text = "\n\n".join((text, *document.held) if is_collection else (*document.held, text))
        opened = opened.with_document(replace(document, held=()))
    origin = clean_name(str(event.data.get("from") or "")) or "work of your own"
    note = Message("user", SAID_NOTE.format(origin=origin), at=now, origin=RUNTIME_ORIGIN)
    # it may be the words of another agent
    known = escape_delimiters(app.redact(text))
    document = opened.document.add(note, Message("assistant", known, at=now))
    asked = event.data.get(approvals.ASKS)
    buttons: tuple[Button, ...] = ()
    if isinstance(asked, str):
        buttons = approvals.make_buttons([asked], choose_texts_for(event, document))
    reminder = event.data.get("wakeup")
    if isinstance(reminder, str) and is_alone:
        texts = choose_texts_for(event, document)
        buttons = make_reminder_buttons(reminder, event.session, texts)
    opened = opened.with_document(document)
    return close_turn(
        opened, app, turn, text, in_history=False, buttons=buttons, chain=context.chain
    )


def _charge_turn(
    opened: SessionHandle, document: Document, turn: Turn, trace: Sequence[Mapping[str, Json]]
) -> tuple[Document, Turn]:
    """Return the document and the turn, which pays for the requests since the session was opened.

    They are counted for the document when the turn is closed. `trace` has their failures.
    """
    before = opened.document.usage
    turn = replace(turn, usage=document.usage - before, trace=(*turn.trace, *trace))
    return replace(document, usage=before), turn


def _close_stopped(
    opened: SessionHandle, turn: Turn, context: TurnContext, *, was_known: bool
) -> SessionHandle:
    """Close the event's turn with a notice, for the session is paused, locked or halted.

    Scheduled work gets no notice about a stop that was known before. Messages are counted, and
    those with another one behind them get none either.
    """
    app = context.app
    event = turn.event
    behind = context.worker.behind
    notice = ""
    if event.kind in BACKGROUND_KINDS:
        turn = turn.add_step("skip", reason=opened.document.safety.reason)
    if event.is_posted:
        # nobody else has it
        reason = f"the session does not go on: {opened.document.safety.reason}"
        give_up(app.kv, event, reason, app.clock.now(), notify_sender=False)
    reader = _make_reader(event, context.role, opened.document, app)
    if not was_known or event.kind not in SCHEDULED_KINDS:
        notice = write_notice(opened.document.safety, reader)
    if event.kind == "message":
        told_later = None
        if behind is not None:
            told_later = any(_gets_notice(other, event, app) for other in behind)
        notice = missed_messages.count_missed_message(
            app.kv,
            opened.key,
            event.id,
            notice,
            app.clock.now(),
            told_later=told_later,
            texts=reader.texts,
        )
    return close_turn(opened, app, turn, notice, in_history=False, role=context.role)


def _gets_notice(other: Event, event: Event, app: App) -> bool:
    """Return whether the event behind this one is answered with a notice as well.

    It is when it is a message to us, no command, of somebody who may talk.
    """
    if other.kind != "message" or other.joined or other.looks_like_command:
        return False
    if other.addressed not in ((), event.addressed):
        return False
    return app.rules.may_talk(app.people.find_role(other))


def _with_safety(opened: SessionHandle, safety: SafetyStatus) -> SessionHandle:
    return opened.with_document(replace(opened.document, safety=safety))


def _make_reader(event: Event, role: Role, document: Document, app: App) -> NoticeReader:
    return NoticeReader(
        owner=role == "owner",
        guest=role == "guest",
        alone=event.private,
        texts=choose_texts_for(event, document),
        resets=app.describe_reset(document),
        own=event.is_own_work,
    )


def _resume_turn(
    opened: SessionHandle,
    app: App,
    watch: Watch,
    worker: WorkerBudget,
    policies: tuple[Policy, ...],
) -> SessionHandle:
    """Go on with a turn that was left in progress.

    When its third try, alone, came to nothing, it is given up and the chat goes on.
    """
    turn = opened.document.turn
    assert turn is not None, "only a turn in progress is resumed"
    early = outage.seconds_still_to_wait(turn.trace, app.clock.now())
    breakers = app.make_breakers(opened.key)
    role = app.people.find_role(turn.event)
    task = background_calls.find_task(app, turn.event)
    if task:
        role = background_calls.find_asker_role(app, turn.event, task, role)
    if turn.event.kind in BACKGROUND_KINDS and not _may_work(app, role, task):
        opened = note_lost_request(opened, app)
        return _skip_unwanted(opened, opened.document.turn or turn, app, begun=True)
    if early and worker.patient and not breakers.is_told_to_stop(turn.event.id):
        return replace(take_over_replies(opened, app), wait=early)
    if turn.attempts >= ATTEMPTS:
        return _give_up_turn(opened, app, turn)
    if turn.attempts + 1 == ATTEMPTS and worker.shared:
        raise NeedsIsolation
    watch(TurnStep("note", text="going on with a turn that was interrupted"))
    opened = note_lost_request(opened, app)
    turn = opened.document.turn or turn
    turn = replace(turn, attempts=turn.attempts + 1)
    turn = turn.add_step("resume", at=turn.count_ms(app.clock.now()))
    approval = approvals.find_approval(app, turn.event)
    if approval:
        role = approvals.find_asker_role(app, approval, role)
    account = app.load_hp() if _is_bounded(turn.event, app) else None
    context = TurnContext(
        app,
        watch,
        worker,
        role,
        breakers,
        policies,
        _open_chain(turn.event, app),
        approval=approval,
        hp=account,
        task=task,
    )
    opened = _save_open_turn(opened, replace(opened.document, turn=turn), context)
    preamble = app.build_preamble(opened.memory, own=turn.event.is_own_work)
    return _run_and_close(opened, preamble, context)


def _save_open_turn(
    opened: SessionHandle, document: Document, context: TurnContext
) -> SessionHandle:
    saved = context.app.sessions.save(opened, document)
    context.watch(TurnStep("open", facts={"messages": len(document.messages), "bytes": saved.size}))
    return saved


def _make_round_context(
    turn: Turn, document: Document, preamble: Preamble, context: TurnContext
) -> RoundContext:
    app = context.app
    role = context.role
    worker = context.worker
    breakers = context.breakers
    event = turn.event
    session = keys.session_of(app.name, event.session)
    behaviour = app.find_behaviour(turn.behaviour)
    seconds = app.turn_seconds
    if behaviour and behaviour.limits.seconds:
        seconds = min(seconds, behaviour.limits.seconds)
    seconds -= turn.used
    if app.record and app.record.task and document.safety.task_since:
        left = document.safety.task_since + app.record.task.seconds - app.clock.now()
        seconds = min(seconds, max(left, 0.0))
    call_seconds = app.limits.call_seconds
    is_owner = role == "owner" and event.private
    caller = app.make_caller(event.session, owner=is_owner)
    task = context.task
    if task:
        # what a worker's own end cuts off would not be known to have ended
        left = worker.until - SAVE_SECONDS - app.clock.monotonic()
        call_seconds = max(min(app.limits.task_call_seconds, left), 0.0)
        seconds = call_seconds + SAVE_SECONDS
        is_owner = role == "owner" and task.call.private
        caller = app.make_caller(task.call.session, owner=is_owner)
    deadline = app.clock.monotonic() + seconds
    gate = context.make_gate(event)
    chained = context.chain
    posts = PostAllowance(
        POSTS_MOST - turn.posted, app.name, event.hops, chained.require_room, chained.count_mail
    )
    reader = _make_reader(event, role, document, app)
    services = CallContext(
        app,
        session,
        is_owner,
        event.behalf,
        event.id,
        document.memory,
        app.find_zone(document),
        posts,
        role=role,
        private=event.private,
        home=as_string(event.data.get("home")) if event.is_own_work else event.session,
        asked_at=event.at,
        gate=gate,
        work=OwnWork(event, turn.task, behaviour) if behaviour else None,
        task=find_work(event),
        notes=NoteAllowance(NOTES_MOST - turn.count_steps(NOTE_STEP)),
        texts=reader.texts,
    )
    find_in_memory: FindRemembered = find_nothing
    if preamble.has_outline:
        find_in_memory = partial(find_remembered, services)
    find_skills: FindSkills = find_no_skills
    if preamble.skills.count:
        find_skills = partial(app.skill_search.find, app.skills, preamble.skills)

    def show_progress(call: ToolCall, progress: CallProgress) -> None:
        context.watch(TurnStep("progress", call.name, format_progress(progress)))

    starter = CallStarter(app, event, context.approval, posts)
    calls = ToolCallContext(
        registry=app.registry,
        caller=caller,
        may_deploy=app.rules.may_deploy(role) and gate.reaches_deploy,
        gate=gate,
        never_deploys=app.rules.never_deploys(role, private=event.private),
        pool=app.background_pool if event.is_own_work else app.pool,
        stopped=partial(breakers.must_end, event.id),
        retry=Retry(app.clock, min(deadline, worker.until), call_seconds),
        serve=partial(call_service, services),
        list_acts=partial(list_acts, services),
        find_remembered=find_in_memory,
        find_skills=find_skills,
        report=ProgressReporter(app.kv, session, event.id, app.clock, show_progress).report,
        start=starter.start if background_calls.makes_tasks(app, event) else None,
        is_patient=task is not None,
    )

    allowances = app.make_allowances(app.find_zone(document))

    def check_allowance(turn: Turn) -> str:
        return allowances.record_tokens(
            turn.event, role, turn.usage.counted, turn.began, reader.texts
        )

    return RoundContext(
        app,
        preamble,
        calls,
        breakers,
        context.watch,
        deadline,
        worker.until,
        patient=worker.patient and turn.waits < WAITS,
        check_allowance=check_allowance,
        # the person whom a paused session asks first may be one of several
        reader=replace(reader, guest=False),
        put=worker.put,
        behaviour=behaviour,
        mailbox=None if context.approval or task else _open_mailbox(event, app, document),
        ready_call=_find_ready_call(context),
        is_call_alone=task is not None,
        goes_in_legs=event.is_own_work and legs.read_leg(event).number > 0,
        hp=context.hp,
        chain=context.chain,
        posts=posts,
    )


def _find_ready_call(context: TurnContext) -> ToolCall | None:
    """Return the call that is made before the first request, if there is one."""
    if context.task:
        return context.task.call.call
    return approvals.make_approved_call(context.approval) if context.approval else None


def _run_and_close(
    opened: SessionHandle, preamble: Preamble, context: TurnContext
) -> SessionHandle:
    """Run the rounds of the turn in progress, and close it, hand it on, or let it wait."""
    app = context.app
    watch = context.watch
    turn = opened.document.turn
    assert turn is not None, "rounds belong to a turn"
    began = app.clock.monotonic()
    rounds = _make_round_context(turn, opened.document, preamble, context)
    opened, text = run_rounds(opened, rounds)
    turn = opened.document.turn or turn
    activity = NO_ACTIVITY
    if text is not None:
        activity = _describe_activity(turn, opened.document, context)
    context.breakers.settle(opened.document.safety, activity)
    if text is None and turn.waits >= WAITS:
        text = rounds.texts.out_of_time
    if text and turn.event.is_own_work and not app.is_root:
        # the chat that hears of it is another agent's
        text = rounds.calls.gate.redact(text)
    if text is not None:
        allowances = app.make_allowances(app.find_zone(opened.document))
        allowances.record_tokens(turn.event, context.role, turn.usage.counted, turn.began)
        said = bool(remove_silence(turn.event, text))
        opened = _let_next_go_on(opened, turn, rounds, said=said)
        turn = opened.document.turn or turn
        opened, note = _warn_of_budget(opened, turn, context)
        zone = app.find_zone(opened.document)
        waiting = approvals.list_waiting(app, turn)
        pattern = rounds.texts.proposal_waits
        asked = [
            approvals.describe_proposal(each, pattern, app, zone, texts=rounds.texts)
            for each in waiting
        ]
        buttons: tuple[Button, ...] = ()
        if context.role == "owner":
            buttons = approvals.make_buttons([each.id for each in waiting], rounds.texts)
        notes = (*asked, note, _warn_of_policy(turn.event, rounds))
        note = "\n\n".join(filter(None, notes))
        if text and not note:
            # the history has the question, so that the model knows what an answer to it means
            question = _ask_for_zone(opened, turn, context)
            text = "\n\n".join(filter(None, (text, question)))
        return close_turn(
            opened,
            app,
            turn,
            text,
            note=note,
            buttons=buttons,
            role=context.role,
            chain=context.chain,
        )
    used = turn.used + app.clock.monotonic() - began
    turn = replace(turn, attempts=0, waits=turn.waits + 1, used=used)
    if turn.failed:
        return _wait_for_model(opened, turn, app, watch)
    turn = turn.add_step("hand-on", at=turn.count_ms(app.clock.now()))
    watch(TurnStep("note", text="this worker's time is up; another goes on"))
    document = replace(opened.document, turn=turn)
    # the id is of this checkpoint alone, so that no continuation is queued twice
    name = f"{_continuation_prefix(turn)}{document.next_seq}.{turn.waits}"
    continuation = replace(
        turn.event,
        id=name,
        kind="continue",
        agent=app.name,
        text="",
        attachments=(),
        addressed=(),
        quotes=(),
    )
    return replace(app.sessions.save(opened, document), next=continuation)


def _describe_activity(turn: Turn, document: Document, context: TurnContext) -> SessionActivity:
    """Return what a turn that ends did, for the list of sessions.

    Only an owner's private chat has a title there: nobody else's words are shown outside of their
    chat.
    """
    event = turn.event
    is_private = event.kind == "message" and event.private
    title = ""
    if is_private and context.role == "owner":
        said = next((each for each in document.messages if is_from_person(each)), None)
        text = clean_text(said.content if said else event.text)
        title = one_line(context.app.redact(text), TITLE_CHARACTERS)
    return SessionActivity(
        turns=1,
        calls=len(turn.tools),
        failed=turn.count_failed_calls(),
        by=event.sender.id if is_private else "",
        title=title,
    )


def _let_next_go_on(
    opened: SessionHandle, turn: Turn, context: RoundContext, *, said: bool
) -> SessionHandle:
    """Return the session with the event of the behaviour that follows the turn's own, if one does.

    It follows an answer, and no turn that ended otherwise or failed.
    """
    app = context.app
    behaviour = context.behaviour
    document = opened.document
    if not behaviour or not behaviour.next or turn.ended or document.safety.reason:
        return opened
    event = turn.event
    too_many = chain.count_hops(event) >= behaviour.limits.hops
    if not turn.answered or too_many or not app.find_behaviour(behaviour.next):
        if too_many:
            turn = turn.add_step("limit", limit="hops", end="sleep")
        return opened.with_document(replace(document, turn=turn))
    post = chain.make_next(event, turn.task, behaviour.next)
    post = chain.carry_on(event, turn.trace, turn.usage.counted, post, said=said)
    posts = stamp_posts([post], event, "next", app.clock.now(), turn.posted)
    turn = replace(turn, ended=behaviour.next).add_step("end", behaviour=behaviour.next)
    return opened.with_document(replace(document, turn=turn, posts=document.posts + posts))


def _warn_of_budget(
    opened: SessionHandle, turn: Turn, context: TurnContext
) -> tuple[SessionHandle, str]:
    """Return the sentence that a budget is nearly used, once a period for each chat, and the
    session that knows of it; else an empty text.

    Guests do not hear what everybody used, and nobody reads what scheduled work says.
    """
    safety = opened.document.safety
    event = turn.event
    if safety.reason or safety.warned or event.kind != "message" or context.role == "guest":
        return opened, ""
    name, share = context.breakers.find_nearly_spent(safety)
    if not name:
        return opened, ""
    texts = choose_texts_for(event, opened.document)
    note = texts.nearly_used[name].format(
        share=f"{min(share, 1.0):.0%}", time=context.app.describe_reset(opened.document)
    )
    return _with_safety(opened, replace(safety, warned=True)), note


def _warn_of_policy(event: Event, rounds: RoundContext) -> str:
    """Return the sentence for an owner whose agent may only talk, as its policy cannot be read;
    else an empty text.
    """
    closed = rounds.calls.gate.closed
    if not closed or not (event.kind == "message" and event.private and rounds.reader.owner):
        return ""
    return rounds.texts.policy_closed.format(why=closed)


def _ask_for_zone(opened: SessionHandle, turn: Turn, context: TurnContext) -> str:
    """Return the sentence that tells how to set the time zone, once for each chat and only where
    it matters; else an empty text.

    The mark of it is written first: after a crash the sentence is missing rather than told twice.
    """
    event = turn.event
    may_set = event.private or context.role == "owner"
    if not (context.asks_zone and may_set) or turn.failed or opened.document.safety.reason:
        return ""
    with suppress(Conflict):
        context.app.kv.put(keys.zone_asked(opened.key), b"true", expect=ABSENT)
        texts = choose_texts_for(event, opened.document)
        return texts.zone_question.format(city=suggest_city(event, texts))
    return ""


def _continuation_prefix(turn: Turn) -> str:
    """Return the beginning of the ids of all continuations of a turn."""
    return f"continue:{turn.event.session}:{turn.event.id}:"


def _is_late(event: Event, opened: SessionHandle) -> bool:
    """Return whether a continuation comes when its turn is over.

    One whose turn has come further since goes on all the same: the worker that took it so far may
    have crashed, with nothing else in the queue.
    """
    if event.kind != "continue":
        return False
    turn = opened.document.turn
    return turn is None or not event.id.startswith(_continuation_prefix(turn))


def _wait_for_model(opened: SessionHandle, turn: Turn, app: App, watch: Watch) -> SessionHandle:
    """Save the turn, to go on with it later: the model does not answer.

    The wait is no part of the turn's time. The chat is told by a reply like any other, in the write
    that notes the wait; the history has nothing of it.
    """
    event = turn.event
    now = app.clock.now()
    seconds = outage.seconds_to_wait(turn.trace, WAIT_SECONDS)
    watch(TurnStep("note", "wait", f"the model does not answer; trying again in {seconds:.0f} s"))
    outbox = opened.document.outbox
    facts: dict[str, Json] = {"seconds": round(seconds, 1), "at": now}
    # nobody waits for the answer to scheduled work
    if event.kind not in SCHEDULED_KINDS and outage.is_worth_telling(turn.trace, seconds):
        name = f"{event.id}{outage.EVENT_SUFFIX}"
        text = outage.describe_wait(turn.trace, seconds, choose_texts_for(event, opened.document))
        reply = Outgoing(name, event.session, text, event.reply_to, at=now)
        outbox = (*outbox, reply)[-OUTBOX_MOST:]
        facts["told"] = True
    turn = replace(turn, rounds=turn.rounds - 1).add_step("wait", **facts)
    document = replace(opened.document, turn=turn, outbox=outbox)
    return replace(app.sessions.save(opened, document), wait=seconds)


def close_turn(
    opened: SessionHandle,
    app: App,
    turn: Turn,
    text: str,
    *,
    in_history: bool = True,
    note: str = "",
    buttons: tuple[Button, ...] = (),
    role: str = "",
    chain: ChainBudget | None = None,
) -> SessionHandle:
    """Close a turn that ends with this text: history, handled ids and outbox in one write.

    `in_history` makes the text a message of the history. The `note` is sent below it and is no
    part of the history; `buttons` stand below it. `role` is that of the person on whose behalf it
    was, where it is known, and `chain` the budget of its chain of events, where it was read.
    """
    event = turn.event
    now = app.clock.now()
    document = opened.document
    text = app.redact(text)
    if in_history:
        for call in find_unanswered(document.messages):
            document = document.add(Message("tool", INTERRUPTED, at=now, call_id=call.id))
            document = document.note([describe_call(interrupt_call(call))], event, now)
        document = document.add(Message("assistant", text, at=now))
    text = remove_silence(event, text)
    texts = choose_texts_for(event, document)
    if app.record and app.record.kind == "subagent" and event.is_own_work:
        text = write_report(turn, app, app.record, text, texts)
    files: tuple[KeptFile, ...] = ()
    if in_history and turn.rounds:
        text = unopened.mention(turn.events, text, texts)
    if in_history and turn.answered:
        text = sign_text(text, app.model.name, event.platform, texts)
        own = document.messages[document.find_turn_start() :]
        text = app.redact(pictures.add_picture(text, own))
        files = pictures.collect_files(own)
    text = missed_messages.mention_missed(turn.trace, text, texts)
    text = bindings.mention_absence(turn.trace, text, texts)
    text = approvals.mention_approval(turn.trace, text, texts)
    approvals.end_approval(app, turn)
    text = "\n\n".join(filter(None, (text, note)))
    outbox = document.outbox
    posts = document.posts
    # before the document says that the event was handled: whoever crashes in between does it again
    posts += note_run(app.kv, turn, document.safety.reason, said=bool(text), now=now)
    notice = _pay_hp(turn, app, texts, now, zone=app.find_zone(document))
    if event.is_own_work:
        ended = end_leg(turn, app, document, text, now)
        posts += ended.posts
        document = document.note(ended.entries, event, now)
    elif text:
        reply = Outgoing(
            event.id,
            event.session,
            text,
            turn.events[-1].reply_to,
            turn.rounds,
            turn.tools,
            turn.usage,
            now,
            failed=turn.failed,
            files=files,
            buttons=buttons,
        )
        outbox = (*outbox, reply)[-OUTBOX_MOST:]
    posts += notice
    posts += background_calls.end_call(turn, app, document, text, now)
    (chain or _open_chain(event, app)).close(turn, posts)
    seen = (*document.seen, *(each.id for each in turn.events))
    if len(seen) > SEEN_MOST:
        # the oldest ids leave the document, once they have records of their own
        for old in seen[: -SEEN_MOST // 2]:
            app.sessions.mark_seen(opened.key, old)
        seen = seen[-SEEN_MOST // 2 :]
    document = replace(
        document,
        turn=None,
        handed_on=turn.is_handed_on,
        outbox=outbox,
        posts=posts,
        seen=seen,
        # what did not count is counted by now
        usage=replace(document.usage + turn.usage, saved=0),
        last=replace(turn.usage, saved=0) if turn.rounds else document.last,
        runs=(*document.runs, name_run(event.id, turn.began))[-RUNS_MOST:],
        erased={who: at for who, at in document.erased.items() if now - at < keys.SEEN_TTL},
    )
    closed = app.sessions.save(opened, document)
    save_run(app.kv, make_run(turn, closed, now, role, app.model.name), app.run_days)
    goes_on = any(post.session == event.session for post in posts)
    if app.record and app.record.working and event.is_own_work and not goes_on:
        end_task(app.kv, app.root, app.short_name, app.record.generation, now)
    return replace(flush_ledger(closed, app), answered=event, gathered=turn.events[1:])


def write_report(turn: Turn, app: App, record: AgentRecord, text: str, texts: Texts) -> str:
    """Return what a subagent's chat is told at the end of its task: its own last words, below the
    limit that ended it where one did.
    """
    if turn.ended == NEXT_LEG:
        if not legs.read_leg(turn.event).is_last:
            return ""
        text = text or texts.own_reasons["loop"]
    name = app.short_name
    limits = record.task or TaskLimits()
    most = {STEPS: limits.steps, TOKENS: limits.tokens, WALLTIME: limits.seconds}
    for limit, value in most.items():
        if turn.has_reached(limit):
            head = texts.subagent_stuck.format(
                name=name,
                limit=limit,
                most=value,
            )
            return f"{head}\n{text}" if text else head
    return texts.subagent_report.format(name=name, text=text or texts.nothing_reported)


def _pay_hp(turn: Turn, app: App, texts: Texts, now: float, *, zone: str) -> tuple[Event, ...]:
    """Take off the HP that work of the agent's own costs, and return what is said when none are
    left, or when it ended at the floor. A turn of a person costs none.
    """
    event = turn.event
    cost = app.hp.count_cost(turn.usage.counted, turn.trace)
    if not (cost and _is_bounded(event, app)):
        return ()
    record = hp.pay_turn(
        app.kv,
        app.name,
        app.hp,
        event=event.id,
        cost=cost,
        began=turn.began,
        now=now,
        falls_asleep=turn.has_reached(hp.LIMIT),
    )
    if record.disabled:
        text = texts.hp_gone.format(name=app.short_name)
    elif turn.has_reached(hp.LIMIT) and record.is_told_by(event.id):
        report = HpAccount(app.hp, record).report(now)
        text = f"{texts.hp_ended} {hp.describe(report, zone, now, texts)}"
    else:
        return ()
    return report_home(event, text, now, place="hp", first=1)


def flush_ledger(saved: SessionHandle, app: App) -> SessionHandle:
    """Write the entries that a saved session has for the ledger, and return it without them.

    The session's next write takes them out of the store; until then, whoever opens it writes them
    again, which changes nothing.
    """
    if not saved.document.ledger.pending:
        return saved
    ledger = Ledger(app.kv, app.name).flush(saved.document.ledger)
    return saved.with_document(replace(saved.document, ledger=ledger))


def note_lost_request(opened: SessionHandle, app: App) -> SessionHandle:
    """Return a session whose turn was left in progress, with an entry and a step for the request
    whose answer nobody saved: each save of a turn is followed by a request, but for calls or a
    wait.

    Nobody knows what it cost, or whether it was sent at all.
    """
    document = opened.document
    turn = document.turn
    if turn is None or turn.is_between_requests or find_unanswered(document.messages):
        return opened
    model = document.chosen_model or app.model.name
    lost = Entry("request", {"model": model, UNKNOWN: True})
    turn = turn.add_step("request", n=turn.next_request, at=turn.since, finish=LOST, model=model)
    document = replace(document, turn=turn)
    return opened.with_document(document.note([lost], turn.event, app.clock.now()))


def take_over_replies(opened: SessionHandle, app: App) -> SessionHandle:
    """Return a session that is closed already, its replies taken over by this worker.

    Replies that somebody left in its outbox become ours by a save, so that two workers never both
    send them. A reply from the future was stamped by a clock that has been set back since: its age
    counts from now.
    """
    if not opened.document.outbox:
        return opened
    now = app.clock.now()
    outbox = tuple(
        replace(reply, at=min(reply.at, now), tries=reply.tries + 1)
        for reply in opened.document.outbox
    )
    return app.sessions.save(opened, replace(opened.document, outbox=outbox))
