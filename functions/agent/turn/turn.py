"""A turn takes one event from the opening of its session to its close.

The session is opened, the rounds run, and the session is closed with its replies in one write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from functions import overheard
from functions.agent import approvals
from functions.agent.agents import bindings
from functions.agent.agents.bindings import Bound
from functions.agent.agents.bundle import shorten_names
from functions.agent.app import App, TurnStep, Watch, ignore_step
from functions.agent.behaviours import chain
from functions.agent.behaviours.behaviour import Behaviour, parse_behaviour
from functions.agent.behaviours.briefing import (
    is_briefing,
    make_briefing,
    name_behaviour,
    name_usual,
)
from functions.agent.behaviours.pins import find_pins
from functions.agent.calls import background_calls
from functions.agent.calls.background_calls import BackgroundTask, CallStarter
from functions.agent.calls.tool_calls import (
    FindRemembered,
    ToolCallContext,
    find_nothing,
)
from functions.agent.context import Preamble
from functions.agent.conversation import compaction, tokens, unopened
from functions.agent.conversation.messages import (
    RESULT_NOTE,
    SCHEDULED_KINDS,
    SCHEDULED_NOTE,
    Message,
    ToolCall,
    find_last_said,
    remove_silence,
    user_message,
)
from functions.agent.eviction import evict, note_enough_unheard
from functions.agent.language import choose_texts_for
from functions.agent.mailbox import Mail, Mailbox, format_mails, scope_of, take_fitting
from functions.agent.model import outage
from functions.agent.offline_signature import NAME as OFFLINE
from functions.agent.policy.proposals import find_work
from functions.agent.policy.rules import Policy
from functions.agent.posts import (
    NOTES_MOST,
    POSTS_MOST,
    NoteAllowance,
    PostAllowance,
)
from functions.agent.runs.call_progress import ProgressReporter
from functions.agent.safety.retry import Retry
from functions.agent.safety.session_usage import (
    NO_ACTIVITY,
)
from functions.agent.services.call_context import CallContext, OwnWork
from functions.agent.services.table import call_service, list_acts
from functions.agent.services.things import find_remembered
from functions.agent.session import missed_messages
from functions.agent.session.document import (
    NOTE_STEP,
    OUTBOX_MOST,
    Document,
    GatheredMessage,
    Outgoing,
    Turn,
)
from functions.agent.session.store import SessionHandle
from functions.agent.side_request import SECONDS, SideRequests
from functions.agent.skills.search import FindSkills, find_no_skills
from functions.agent.team import briefing as team_briefing
from functions.agent.team import leg as legs
from functions.agent.team import work
from functions.agent.team.board import Board
from functions.agent.turn import gathering
from functions.agent.turn.closing import (
    ask_for_zone,
    close_turn,
    describe_activity,
    let_next_go_on,
    warn_of_budget,
    warn_of_policy,
)
from functions.agent.turn.direct_answers import (
    answer_directly,
    answer_unopened,
    charge_turn,
    close_settled,
    close_stopped,
    may_work,
    skip_unwanted,
    sleep_without_hp,
)
from functions.agent.turn.loop import (
    MAIL_SHARE,
    SAVE_SECONDS,
    RoundContext,
    end_handed_on,
    estimate_cost,
    run_rounds,
    waits_long,
)
from functions.agent.turn.records import read_turn_records
from functions.agent.turn.takeover import note_lost_request, take_over_replies
from functions.agent.turn.turn_context import (
    UNBOUNDED_WORKER,
    NeedsIsolation,
    TurnContext,
    WorkerBudget,
    is_bounded,
    make_reader,
    open_chain,
    with_safety,
)
from functions.agent.workspace.edit_notice import EditsReader, tell_edits
from functions.events import BACKGROUND_KINDS, Button, Event, order_of
from functions.queues.dead_letters import give_up, note_sender_told
from sigil.json_fields import as_number, as_string
from sigil.protocol import Json
from sigil.running_call import CallProgress, format_progress
from sigil.storage.evolve import evolve
from sigil.storage.kv import Item, keys
from sigil.storage.kv.base import get_many

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


def keep_replies(opened: SessionHandle) -> SessionHandle:
    """Return the session as it is: its replies wait until the event is handled."""
    return opened


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
        return evolve(take_over_replies(opened, app), repeated=True)
    noted = app.private_chats.note(event, records.private_chat)
    if records.private_chat and not noted.private:
        # the chat may have become a group without any message that was thought to be private
        left = leave_shared_memory(opened, noted, app)
        if left is not opened or event.private:
            records = read_turn_records(noted, app, left)
            opened = records.opened
        event = noted
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
            if records.seen:  # its sender has changed or deleted it meanwhile
                return evolve(take_over_replies(records.opened, app), repeated=True)
    approval = approvals.find_approval(app, event)
    role = records.standing.role
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
        records.standing.payer,
    )
    return _begin_turn(opened, event, records.prompt, context)


def leave_shared_memory(opened: SessionHandle, event: Event, app: App) -> SessionHandle:
    """Return the session of a chat that others have come into: the memory that it shared with the
    private chats of one person is not its own any more.
    """
    scope = opened.memory
    if scope == opened.key:
        return opened
    opened = app.sessions.save(opened, evolve(opened.document, memory=""))
    # only now: who reads a memory is in its record, whatever happens in between
    app.links.leave(scope, event.session)
    return opened


def abandon_turn(event: Event, app: App) -> SessionHandle:
    """Give an event up for good without running anything, and return the closed session.

    Its turn, begun or not, is closed with an apology. A turn in progress that it only found, or was
    to continue, is given up with it: nothing else would ever get past.
    """
    opened = app.sessions.open(keys.session_of(app.name, event.session))
    if app.sessions.was_seen(opened, event) or _is_late(event, opened):
        return evolve(take_over_replies(opened, app), repeated=True)
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
    closed = close_turn(opened, app, evolve(turn, gathered=()), text, in_history=begun)
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
    opened = with_safety(opened, breakers.mark_damage_noticed(stored))
    turn = Turn(event, began=app.clock.now(), payer=context.payer)
    if context.bound and bindings.must_tell_absence(context.bound, event, app.root, app.kv):
        turn = turn.add_step(bindings.AWAY, name=context.bound.agent, why=context.bound.away)
    closed = answer_directly(opened, turn, context)
    if closed:
        return closed
    if work.is_quiet_mail(event):
        opened = opened.with_document(evolve(opened.document, reads_mail=True))
        return close_turn(opened, app, turn, "", in_history=False)
    settled = work.settle_order(event, app, context.member, turn, opened.document)
    if settled:
        return close_settled(opened, turn, settled, context)

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
        return close_stopped(with_safety(opened, safety), turn, context, was_known=was_known)
    if stored.reason and event.kind == "message":
        texts = choose_texts_for(event, opened.document)
        count = missed_messages.claim_missed_count(app.kv, opened.key, event.id, texts)
        if count:
            turn = turn.add_step(missed_messages.KIND, count=count)

    if context.task:
        return _begin_call(with_safety(opened, begun), turn, prompt, context.task, context)
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
            opened = opened.with_document(evolve(opened.document, taken=()))
            return close_turn(opened, app, turn, "", in_history=False)

    if context.hp:
        stopped = context.hp.find_stop(turn.began, _estimate_first_cost(opened, prompt, context))
        if stopped:
            return sleep_without_hp(opened, turn, context, stopped)
    settled = work.settle_look(event, app, context.member, turn)
    if settled:
        return close_settled(opened, turn, settled, context)

    if unopened.is_all(event):
        return answer_unopened(with_safety(opened, begun), turn, context)

    # may its sender?
    texts = choose_texts_for(event, opened.document)
    allowances = app.make_allowances(app.find_zone(opened.document))
    refusal = allowances.begin_turn(event, context.role, texts, payer=turn.payer)
    if refusal is not None:
        turn = turn.add_step("skip", reason="allowance")
        return close_turn(opened, app, turn, refusal, in_history=False, role=context.role)

    # make room for the turn in the window: memory hears of what leaves after the reply
    opened = with_safety(opened, begun)
    preamble = app.build_preamble(opened.memory, prompt, own=event.is_own_work, chat=event.session)
    if context.workspaces and context.workspaces[1] and context.role != "guest":
        preamble = team_briefing.tell_team(preamble, app, event, context.workspaces[1])
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
    # another task of a teammate has all that it needs in a briefing of its own
    is_stale = is_briefing if leg.task and leg.number == 1 and app.is_teammate else None
    document = note_enough_unheard(evict(side, kept, context.watch, is_stale))
    now = app.clock.now()
    trace = [{**row, "at": turn.count_ms(now)} for row in side.trace]
    document, turn = charge_turn(opened, document, turn, trace)
    allowances.record_tokens(event, context.role, turn.usage.counted, turn.began, payer=turn.payer)
    # of what came over a hook, the model reads as much as has room
    length = 0 if event.is_posted else tokens.of_text(event.text)
    if length > room:
        breakers.settle(document.safety, describe_activity(turn, document, context))
        notice = texts.too_long.format(window=app.model.window)
        opened = opened.with_document(document)
        return close_turn(opened, app, turn, notice, in_history=False, role=context.role)

    behaviour: Behaviour | None = None
    events = [event, *_find_gathered_events(opened, event, context)]
    heard = _read_overheard(document, events, context)
    if mailbox or event.is_posted or context.approval:
        turn = evolve(turn, first=document.next_seq)
    if event.is_own_work:
        if leg.number == 1 and leg.task:
            claimed = legs.CLAIMED.format(number=leg.task)
            opening = evolve(user_message(event, context.role), content=event.text)
            document = document.add(opening, Message("assistant", claimed, at=turn.began))
        found = app.find_briefed(name_behaviour(event, is_teammate=app.is_teammate), prompt)
        behaviour = found or parse_behaviour(name_usual(is_teammate=app.is_teammate), "")
        turn, briefing = _brief(turn, document, room, behaviour, context)
        document = document.add(briefing)
        work.begin_work(event, app, context.member)
    reader = EditsReader(app.name, event, context.role, turn.began, app.people, app.private_chats)
    document = tell_edits(document, context.workspaces, reader)
    gathered: tuple[GatheredMessage, ...] = ()
    told: Sequence[overheard.OverheardMessage] = ()
    most = int(room * tokens.CHARACTERS_A_TOKEN * MAIL_SHARE)
    if event.is_posted:
        document, gathered = gathering.add_posts(document, events, turn.began, most)
    elif mails:
        mails = take_fitting(mails, most)
        message = format_mails([mail for _, mail in mails], turn.began, most)
        is_result = background_calls.is_result(event)
        below = RESULT_NOTE if is_result else SCHEDULED_NOTE
        message = evolve(message, content=f"{message.content}\n{below}")
        if is_result:
            message = evolve(message, files=background_calls.read_files(event))
        document = document.add(message)
        document = evolve(document, taken=(*document.taken, *(name for name, _ in mails)))
    elif context.approval:
        approval = context.approval
        document = document.add(approvals.make_approved_message(approval, turn.began))
        acts = ", ".join(approval.acts)
        turn = turn.add_step(approvals.STEP, id=approval.id, acts=acts)
    elif not (app.is_teammate and leg.number):
        document, gathered = gathering.add_messages(
            document, events, context.role, heard, room, zone=app.find_zone(document)
        )
        told = [each for each in heard if each.order < events[len(gathered)].order]
    if gathered:
        turn = evolve(turn, gathered=gathered).add_step("gather", count=len(gathered))
        context.watch(TurnStep("note", "gather", f"{len(gathered)} more messages are answered"))
    opened = _save_open_turn(opened, evolve(document, turn=turn), context)
    if told:
        overheard.note_told(app.kv, app.name_chat(event.session), told)
    if work.stop_if_told(event, app):
        breakers.reload()
    return _run_and_close(opened, preamble, context, behaviour)


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
    opened = _save_open_turn(opened, evolve(document, turn=turn), context)
    preamble = app.build_preamble(opened.memory, prompt, own=True)
    return _run_and_close(opened, preamble, context)


def _estimate_first_cost(
    opened: SessionHandle, prompt: Sequence[Item | None], context: TurnContext
) -> float:
    """Return the HP that the first request of the agent's own work is expected to cost."""
    app = context.app
    preamble = app.build_preamble(opened.memory, prompt, own=True)
    document = opened.document
    estimate = min(compaction.estimate_size(document.messages), LIGHT_TOKENS)
    return estimate_cost(app, preamble, estimate, document.ratio)


def _brief(
    turn: Turn, document: Document, room: float, behaviour: Behaviour, context: TurnContext
) -> tuple[Turn, Message]:
    """Return the turn, whose trace says which behaviour it runs, and the briefing that opens it.

    The behaviour is the one that the event names, or what stands in for one that is gone.
    """
    app = context.app
    event = turn.event
    wanted = name_behaviour(event, is_teammate=app.is_teammate)
    caller = app.make_caller(event.session)
    record = app.record
    own = shorten_names(record.bundle) if record else ()
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
    turn = evolve(turn, behaviour=behaviour.name, model=model).add_step("behaviour", **facts)
    stamp = app.make_stamp(document)
    briefing = make_briefing(behaviour, offers, stamp, event.kind, turn.began)
    leg = legs.read_leg(event)
    if record and app.is_teammate:
        task = Board(app.kv, app.root, app.clock.now).find(leg.task) if leg.task else None
        more = team_briefing.describe_assignment(leg, record.prompt, record.gist, task)
        briefing = evolve(briefing, content="\n".join(filter(None, (briefing.content, more))))
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
    # what it got of the same second, the mark passes over
    since = max(context.listens_since, order_of(got.at, 0) if got else "")
    return overheard.read_messages(context.app.kv, chat, since, events[-1].order)


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
    event = app.private_chats.check(turn.event)
    if event.private != turn.event.private:
        turn = evolve(turn, event=event)
        opened = opened.with_document(evolve(opened.document, turn=turn))
    early = outage.seconds_still_to_wait(turn.trace, app.clock.now())
    breakers = app.make_breakers(opened.key)
    role = app.people.find_role(turn.event)
    task = background_calls.find_task(app, turn.event)
    if task:
        role = background_calls.find_asker_role(app, turn.event, task, role)
    if turn.event.kind in BACKGROUND_KINDS and not may_work(app, role, task):
        opened = note_lost_request(opened, app)
        return skip_unwanted(opened, opened.document.turn or turn, app, begun=True)
    if early and worker.patient and not breakers.is_told_to_stop(turn.event.id):
        return evolve(take_over_replies(opened, app), wait=early)
    if turn.attempts >= ATTEMPTS:
        return _give_up_turn(opened, app, turn)
    if turn.attempts + 1 == ATTEMPTS and worker.shared:
        raise NeedsIsolation
    watch(TurnStep("note", "resume", "going on with a turn that was interrupted"))
    opened = note_lost_request(opened, app)
    turn = opened.document.turn or turn
    turn = evolve(turn, attempts=turn.attempts + 1)
    turn = turn.add_step("resume", at=turn.count_ms(app.clock.now()))
    approval = approvals.find_approval(app, turn.event)
    if approval:
        role = approvals.find_asker_role(app, approval, role)
    account = app.load_hp() if is_bounded(turn.event, app) else None
    context = TurnContext(
        app,
        watch,
        worker,
        role,
        breakers,
        policies,
        open_chain(turn.event, app),
        approval=approval,
        hp=account,
        task=task,
    )
    opened = _save_open_turn(opened, evolve(opened.document, turn=turn), context)
    preamble = app.build_preamble(
        opened.memory, own=turn.event.is_own_work, chat=turn.event.session
    )
    return _run_and_close(opened, preamble, context)


def _save_open_turn(
    opened: SessionHandle, document: Document, context: TurnContext
) -> SessionHandle:
    saved = context.app.sessions.save(opened, document)
    context.watch(TurnStep("open", facts={"messages": len(document.messages), "bytes": saved.size}))
    return saved


def _make_round_context(
    turn: Turn,
    document: Document,
    preamble: Preamble,
    context: TurnContext,
    behaviour: Behaviour | None,
) -> RoundContext:
    app = context.app
    role = context.role
    worker = context.worker
    breakers = context.breakers
    event = turn.event
    session = keys.session_of(app.name, event.session)
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
    reader = make_reader(event, role, document, app)
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
            turn.event,
            role,
            turn.usage.counted,
            turn.began,
            reader.texts,
            payer=turn.payer,
        )

    return RoundContext(
        app,
        preamble,
        calls,
        breakers,
        context.watch,
        deadline,
        worker.until,
        patient=worker.patient and _count_waits(turn, app) < WAITS,
        check_allowance=check_allowance,
        # the person whom a paused session asks first may be one of several
        reader=evolve(reader, guest=False),
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
    opened: SessionHandle,
    preamble: Preamble,
    context: TurnContext,
    behaviour: Behaviour | None = None,
) -> SessionHandle:
    """Run the rounds of the turn in progress, and close it, hand it on, or let it wait.

    `behaviour` is the one of the agent's own work, where its turn was just opened.
    """
    app = context.app
    watch = context.watch
    turn = opened.document.turn
    assert turn is not None, "rounds belong to a turn"
    began = app.clock.monotonic()
    behaviour = behaviour or app.find_behaviour(turn.behaviour)
    rounds = _make_round_context(turn, opened.document, preamble, context, behaviour)
    opened, text = run_rounds(opened, rounds)
    turn = opened.document.turn or turn
    activity = NO_ACTIVITY
    if text is not None:
        activity = describe_activity(turn, opened.document, context)
    context.breakers.settle(opened.document.safety, activity)
    if text is None and _count_waits(turn, app) >= WAITS:
        opened, text = end_handed_on(opened, rounds, WAITS)
        turn = opened.document.turn or turn
    if text and turn.event.is_own_work and not app.is_root:
        # the chat that hears of it is another agent's
        text = rounds.calls.gate.redact(text)
    if text is not None:
        allowances = app.make_allowances(app.find_zone(opened.document))
        allowances.record_tokens(
            turn.event, context.role, turn.usage.counted, turn.began, payer=turn.payer
        )
        said = bool(remove_silence(turn.event, text))
        opened = let_next_go_on(opened, turn, rounds, said=said)
        turn = opened.document.turn or turn
        opened, note = warn_of_budget(opened, turn, context)
        zone = app.find_zone(opened.document)
        waiting = approvals.list_waiting(app, turn)
        session = turn.event.session
        asked = approvals.describe_waiting(app, waiting, session, zone, rounds.texts)
        buttons: tuple[Button, ...] = ()
        if waiting and context.role == "owner":
            is_question = len(waiting) == 1 and waiting[0].is_grant
            ids = [each.id for each in waiting]
            buttons = approvals.make_buttons(ids, rounds.texts, is_question=is_question)
        notes = (*asked, note, warn_of_policy(turn.event, rounds))
        note = "\n\n".join(filter(None, notes))
        if text and not note:
            # the history has the question, so that the model knows what an answer to it means
            question = ask_for_zone(opened, turn, context)
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
            account=context.hp,
            serve=rounds.calls.serve,
        )
    used = turn.used + app.clock.monotonic() - began
    is_patient = waits_long(turn, app)
    if turn.failed and is_patient:
        used = max(used - as_number(turn.trace[-1].get("ms")) / 1000, 0.0)
    turn = evolve(turn, attempts=0, waits=turn.waits + 1, used=used)
    if turn.failed:
        return _wait_for_model(opened, turn, app, watch, tells_home=is_patient)
    turn = turn.add_step("hand-on", at=turn.count_ms(app.clock.now()))
    watch(TurnStep("note", text="this worker's time is up; another goes on"))
    document = evolve(opened.document, turn=turn)
    # the id is of this checkpoint alone, so that no continuation is queued twice
    name = f"{_continuation_prefix(turn)}{document.next_seq}.{turn.waits}"
    continuation = evolve(
        turn.event,
        id=name,
        kind="continue",
        agent=app.name,
        text="",
        attachments=(),
        addressed=(),
        quotes=(),
    )
    return evolve(app.sessions.save(opened, document), next=continuation)


def _count_waits(turn: Turn, app: App) -> int:
    """Return how often a turn was handed on, with its waits for the model where these are few."""
    return turn.waits - (outage.count_waits(turn.trace) if waits_long(turn, app) else 0)


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


def _wait_for_model(
    opened: SessionHandle, turn: Turn, app: App, watch: Watch, *, tells_home: bool
) -> SessionHandle:
    """Save the turn, to go on with it later: the model does not answer.

    The wait is no part of the turn's time, and the request is no step of its work. The chat is told
    by a reply like any other, in the write that notes the wait; the history has nothing of it. With
    `tells_home` the chat that the work is for is told, once for all that waits.
    """
    event = turn.event
    now = app.clock.now()
    seconds = outage.seconds_to_wait(turn.trace, WAIT_SECONDS)
    watch(TurnStep("note", "wait", f"the model does not answer; trying again in {seconds:.0f} s"))
    document = opened.document
    outbox = document.outbox
    posts = document.posts
    facts: dict[str, Json] = {"seconds": round(seconds, 1), "at": now}
    if tells_home:
        is_told = outage.is_worth_telling(turn.trace, seconds)
        posts += work.report_outage(turn, app, document, now, seconds, is_told=is_told)
        facts["told"] = is_told
    # nobody waits for the answer to scheduled work
    if event.kind not in SCHEDULED_KINDS and outage.is_worth_telling(turn.trace, seconds):
        name = f"{event.id}{outage.EVENT_SUFFIX}"
        text = outage.describe_wait(turn.trace, seconds, choose_texts_for(event, opened.document))
        reply = Outgoing(name, event.session, text, event.reply_to, at=now)
        outbox = (*outbox, reply)[-OUTBOX_MOST:]
        facts["told"] = True
    turn = evolve(turn, rounds=turn.rounds - 1).add_step("wait", **facts)
    safety = evolve(document.safety, ticks=max(document.safety.ticks - 1, 0))
    document = evolve(document, turn=turn, outbox=outbox, safety=safety, posts=posts)
    return evolve(app.sessions.save(opened, document), wait=seconds)
