"""Direct answers take no request to the model.

Strangers, commands and control events get one, and so does work that does not begin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from functions.agent import approvals
from functions.agent.access.roles import Role
from functions.agent.app import App
from functions.agent.calls.background_calls import BackgroundTask
from functions.agent.commands import groups, pairing, table
from functions.agent.commands.command import CommandCall
from functions.agent.commands.control import handle_control
from functions.agent.commands.snooze import answer_reminder
from functions.agent.commands.snooze import make_buttons as make_reminder_buttons
from functions.agent.conversation import unopened
from functions.agent.conversation.messages import (
    RUNTIME_ORIGIN,
    SAID_FOR_OTHERS,
    SAID_NOTE,
    SCHEDULED_KINDS,
    SILENT,
    Message,
    clean_name,
    is_from_person,
    make_said,
    user_message,
)
from functions.agent.eviction import archive_messages, note_enough_unheard
from functions.agent.language import choose_texts_for
from functions.agent.posts import ASKS, MAILED, OWN_WORDS, report_home
from functions.agent.safety import hp
from functions.agent.safety.status import write_notice
from functions.agent.sanitize import clean_text, sanitize_text
from functions.agent.schedules.quiet_hours import hold_back, is_quiet, make_collection
from functions.agent.schedules.schedule import NOBODY
from functions.agent.session import missed_messages
from functions.agent.session.document import (
    HELD_STEP,
    Document,
    Turn,
)
from functions.agent.session.store import SessionHandle
from functions.agent.team import leg as legs
from functions.agent.team import work
from functions.agent.turn.closing import close_turn
from functions.agent.turn.turn_context import TurnContext, make_reader
from functions.events import BACKGROUND_KINDS, Button, Event
from functions.queues.dead_letters import give_up
from sigil.protocol import Json
from sigil.storage.evolve import evolve


def answer_directly(
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
        if not may_work(app, role, context.task):
            return skip_unwanted(opened, turn, app)
    elif not app.rules.may_talk(role):
        turn = turn.add_step("refused")
        return close_turn(
            opened, app, turn, pairing.answer_stranger(event, app), in_history=False, role=role
        )
    if event.kind == "say":
        return _say(opened, turn, context)
    if event.is_control:
        answer = handle_control(event, app, role, work.resume_unlocked)
        turn = turn.add_step("control")
        document = opened.document
        opened = opened.with_document(evolve(document, posts=document.posts + answer.events))
        return close_turn(opened, app, turn, answer.text, in_history=False, role=role)
    if event.kind != "message":
        return None
    open_gate = partial(app.make_gate, context.policies, role, private=event.private)
    call = CommandCall(app, opened, role, event, payer=turn.payer, open_gate=open_gate)
    result = table.run_command(call) or answer_reminder(call)
    if result is None:
        return None
    stays = {message.seq for message in result.document.messages}
    gone = [message for message in opened.document.messages if message.seq not in stays]
    document = note_enough_unheard(archive_messages(opened.key, result.document, gone, app))
    document = document.note(result.entries, event, app.clock.now())
    document, turn = charge_turn(opened, document, turn, result.trace)
    text = unopened.mention([event], result.text, call.texts, document.seen)
    if text != result.text:
        document = evolve(document, seen=(*document.seen, *unopened.list_albums([event])))
    allowances = app.make_allowances(app.find_zone(opened.document))
    allowances.record_tokens(event, role, turn.usage.counted, turn.began, payer=turn.payer)
    saved = (result.saved or opened).with_document(document)
    turn = turn.add_step("command", name=result.name)
    return close_turn(
        saved, app, turn, text, in_history=False, role=role, file_name=result.file_name
    )


def may_work(app: App, role: Role, task: BackgroundTask | None) -> bool:
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


def skip_unwanted(
    opened: SessionHandle, turn: Turn, app: App, *, begun: bool = False
) -> SessionHandle:
    """Close the turn of work on behalf of somebody who may not talk to the agent any more."""
    who = turn.event.behalf or "nobody"
    reason = f"{who}, on whose behalf it is, may not talk to the agent"
    turn = turn.add_step("skip", reason=NOBODY)
    return _skip_event(opened, turn, app, reason, begun=begun)


def _say(opened: SessionHandle, turn: Turn, context: TurnContext) -> SessionHandle:
    """Say in a chat what the event has to say, without a request to the model.

    The history has it below a line that says where it came from: as the agent's own words where
    its model wrote them, else as data between delimiters.
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
    is_own = is_alone and event.sender.id == f"agent:{app.name}" and event.data.get(OWN_WORDS)
    if document.held:
        text = "\n\n".join((text, *document.held) if is_collection else (*document.held, text))
        opened = opened.with_document(evolve(document, held=()))
    origin = _name_origin(event, app)
    head = SAID_NOTE if is_own else SAID_FOR_OTHERS
    note = Message("user", head.format(origin=origin), at=now, origin=RUNTIME_ORIGIN)
    known = app.redact(text)
    if is_own:
        said = Message("assistant", sanitize_text(known), at=now)
    else:
        said = make_said(origin, known, now, event.by)
    document = opened.document
    if not event.data.get(MAILED):
        document = document.add(note, said)
    asked = event.data.get(ASKS)
    buttons: tuple[Button, ...] = ()
    if isinstance(asked, str):
        proposal = app.proposals.find(asked)  # none for a plan
        is_question = proposal is not None and proposal.is_grant
        texts = choose_texts_for(event, document)
        buttons = approvals.make_buttons([asked], texts, is_question=is_question)
    reminder = event.data.get("wakeup")
    if isinstance(reminder, str) and is_alone:
        texts = choose_texts_for(event, document)
        buttons = make_reminder_buttons(reminder, event.session, app, texts)
    opened = opened.with_document(document)
    return close_turn(
        opened, app, turn, text, in_history=False, buttons=buttons, chain=context.chain
    )


def _name_origin(event: Event, app: App) -> str:
    """Return out of what something is said, with the name of another agent that says it."""
    origin = clean_name(str(event.data.get("from") or ""))
    kind, _, full = event.sender.id.partition(":")
    if kind != "agent" or full == app.name:
        return origin or "work of your own"
    agent = clean_name(full.rpartition(".")[2])
    if agent in origin.split(" "):
        return origin
    return f"{agent}, {origin}" if origin else agent


def answer_unopened(opened: SessionHandle, turn: Turn, context: TurnContext) -> SessionHandle:
    """Answer a message of which nothing can be opened, without a request to the model.

    The history has it. Of several that come together, such as an album, one is answered.
    """
    event = turn.event
    document = opened.document
    message = user_message(event, context.role)
    text = unopened.write_answer(event, choose_texts_for(event, document))
    told = _find_told_files(document.messages, message.origin)
    if unopened.is_told(event, told, document.seen):
        text = ""
    document = document.add(message)
    if text:
        document = document.add(Message("assistant", text, at=context.app.clock.now()))
        document = evolve(document, seen=(*document.seen, *unopened.list_albums([event])))
    opened = opened.with_document(document)
    return close_turn(opened, context.app, turn, text, in_history=False, role=context.role)


def _find_told_files(messages: Sequence[Message], origin: str) -> unopened.ToldFiles | None:
    """Return the files of the last message that was answered; None when it is not by the sender
    whom this origin names, or had none. Messages without an answer belong to it.
    """
    is_answered = False
    for message in reversed(messages):
        is_answered = is_answered or message.role == "assistant"
        if is_from_person(message):
            if message.origin != origin:
                return None
            if is_answered:
                return unopened.read_told(message.content, message.at)
    return None


def close_settled(
    opened: SessionHandle, turn: Turn, settled: work.Settled, context: TurnContext
) -> SessionHandle:
    """Close the turn of an event of a team that takes no request to the model."""
    app = context.app
    event = turn.event
    now = app.clock.now()
    if event.is_posted:
        # nobody else has it
        reason = f"the teammate begins nothing: {settled.why}"
        give_up(app.kv, event, reason, now, notify_sender=False)
    turn = turn.add_step(work.STEP, why=settled.why)
    document = opened.document.note(settled.entries, event, now)
    opened = opened.with_document(evolve(document, posts=document.posts + settled.posts))
    return close_turn(opened, app, turn, "", in_history=False, chain=context.chain)


def sleep_without_hp(
    opened: SessionHandle, turn: Turn, context: TurnContext, why: str
) -> SessionHandle:
    """Close the turn of work of the agent's own that does not begin, for want of HP.

    A schedule comes again, mail waits in its mailbox, and a teammate keeps its leg; of all else
    there is a dead letter.
    """
    app = context.app
    event = turn.event
    now = app.clock.now()
    is_lost = event.kind not in ("wakeup", "mail") or event.is_posted
    is_kept = app.is_teammate and legs.read_leg(event).number > 0
    if is_lost and not (is_kept or legs.is_look(event)):
        reason = f"the agent has too few HP for work of its own: {why}"
        give_up(app.kv, event, reason, now, notify_sender=False)
    account = context.hp
    is_told = why == hp.LIMIT and hp.note_asleep(app.kv, app.name, app.hp, event.id, now)
    if account and (account.is_damaged or is_told):
        texts = choose_texts_for(event, opened.document)
        line = hp.describe(account.report(now), app.find_zone(opened.document), now, texts)
        line = f"{line} {texts.limit_setting.format(setting=hp.SETTING)}"
        if app.is_teammate:
            line = texts.team_said.format(name=app.short_name, text=line)
        posts = report_home(event, line, now, place="hp")
        document = opened.document
        opened = opened.with_document(evolve(document, posts=document.posts + posts))
    closed = close_turn(opened, app, turn.add_step("skip", reason=why), "", in_history=False)
    # after a crash in between it is told twice rather than never
    hp.settle_clock(app.kv, app.name, app.hp, now)
    return closed


def close_stopped(
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
    reader = make_reader(event, context.role, opened.document, app)
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


def charge_turn(
    opened: SessionHandle, document: Document, turn: Turn, trace: Sequence[Mapping[str, Json]]
) -> tuple[Document, Turn]:
    """Return the document and the turn, which pays for the requests since the session was opened.

    They are counted for the document when the turn is closed. `trace` has their failures.
    """
    before = opened.document.usage
    turn = evolve(turn, usage=document.usage - before, trace=(*turn.trace, *trace))
    return evolve(document, usage=before), turn
