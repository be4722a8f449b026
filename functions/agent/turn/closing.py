"""The close of a turn, and what is said below its answer.

Its history, handled ids and outbox are saved in one write.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Final

from functions.agent import approvals
from functions.agent.agents import bindings
from functions.agent.agents.lifecycle import end_task
from functions.agent.app import App
from functions.agent.behaviours import chain
from functions.agent.calls import background_calls
from functions.agent.calls.tool_calls import (
    describe_call,
    interrupt_call,
)
from functions.agent.commands.time_zone import suggest_city
from functions.agent.conversation import unopened
from functions.agent.conversation.messages import (
    Message,
    find_unanswered,
    is_from_person,
    list_pictures,
    remove_silence,
)
from functions.agent.language import choose_texts_for
from functions.agent.model.base import IMAGES_LEFT_OUT, Learner, Model
from functions.agent.offline_signature import NAME as OFFLINE
from functions.agent.offline_signature import sign_text
from functions.agent.posts import (
    report_home,
    stamp_posts,
)
from functions.agent.runs.event_chain import ChainBudget
from functions.agent.runs.run import make_run, save_run
from functions.agent.safety import hp
from functions.agent.safety.hp import HpAccount
from functions.agent.safety.session_usage import (
    TITLE_CHARACTERS,
    SessionActivity,
)
from functions.agent.sanitize import clean_text
from functions.agent.schedules.outcome import note_run
from functions.agent.session import missed_messages
from functions.agent.session.document import (
    NEXT_LEG,
    OUTBOX_MOST,
    RUNS_MOST,
    SEEN_MOST,
    Document,
    Outgoing,
    Turn,
    name_run,
)
from functions.agent.session.store import SessionHandle
from functions.agent.team import leg as legs
from functions.agent.team.work import end_leg
from functions.agent.turn import pictures
from functions.agent.turn.loop import (
    RoundContext,
)
from functions.agent.turn.takeover import flush_ledger
from functions.agent.turn.turn_context import TurnContext, is_bounded, open_chain, with_safety
from functions.events import Button, Event
from functions.texts.en import Texts
from sigil.errors import Conflict, one_line
from sigil.protocol import KeptFile
from sigil.storage.evolve import evolve
from sigil.storage.kv import ABSENT, keys

INTERRUPTED = (
    '{"error":{"source":"runtime","code":"EINTERRUPTED","message":"the turn was'
    ' stopped","suggestion":""}}'
)
"""The model reads this as the result of a call that nothing answered."""

_LIST_FILES: Final = attrgetter("attachments")


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
    account: HpAccount | None = None,
    file_name: str = "",
    serve: pictures.Serve | None = None,
) -> SessionHandle:
    """Close a turn that ends with this text: history, handled ids and outbox in one write.

    `in_history` makes the text a message of the history. The `note` is sent below it and is no
    part of the history; `buttons` stand below it. With a `file_name` the text is a file. `role` is
    that of the person on whose behalf it was, where it is known, `chain` the budget of its chain of
    events, and `account` the HP that bound it, where they were read. `serve` keeps the files of the
    workspace that the text names.
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
        text = write_report(turn, app, text, texts)
    files: tuple[KeptFile, ...] = ()
    albums: list[str] = []
    if in_history and turn.rounds:
        answer = text
        events = turn.events
        text = unopened.mention(events, answer, texts, document.seen)
        albums = unopened.list_albums(events) if text != answer else []
        if any(map(_LIST_FILES, events)):
            text = mention_unseen(events, text, texts, app.model, document.chosen_model)
    if in_history and turn.answered:
        text = sign_text(text, app.model.name, event.platform, texts)
        own = document.messages[document.find_turn_start() :]
        text = app.redact(pictures.add_picture(text, own))
        files = pictures.collect_files(own)
        if "file:" in text and pictures.names_file(text):
            if event.is_own_work or serve is None:
                text = pictures.write_words(text)
            else:
                text, files = pictures.name_files(text, document.messages, files, serve)
    text = missed_messages.mention_missed(turn.trace, text, texts)
    text = bindings.mention_absence(turn.trace, text, texts)
    text = approvals.mention_approval(turn.trace, text, texts)
    approvals.end_approval(app, turn)
    text = "\n\n".join(filter(None, (text, note)))
    outbox = document.outbox
    posts = document.posts
    # before the document says that the event was handled: whoever crashes in between does it again
    posts += note_run(app.kv, turn, document.safety.reason, said=bool(text), now=now)
    notice = _pay_hp(turn, app, texts, now, zone=app.find_zone(document), known=account)
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
            file_name=file_name,
        )
        outbox = (*outbox, reply)[-OUTBOX_MOST:]
    posts += notice
    posts += background_calls.end_call(turn, app, document, text, now)
    (chain or open_chain(event, app)).close(turn, posts)
    seen = (*document.seen, *albums, *(each.id for each in turn.events))
    if len(seen) > SEEN_MOST:
        # the oldest ids leave the document, once they have records of their own
        for old in seen[: -SEEN_MOST // 2]:
            app.sessions.mark_seen(opened.key, old)
        seen = seen[-SEEN_MOST // 2 :]
    document = evolve(
        document,
        turn=None,
        handed_on=turn.is_handed_on,
        outbox=outbox,
        posts=posts,
        seen=seen,
        # what did not count is counted by now
        usage=evolve(document.usage + turn.usage, saved=0),
        last=evolve(turn.usage, saved=0) if turn.rounds else document.last,
        runs=(*document.runs, name_run(event.id, turn.began))[-RUNS_MOST:],
        erased={who: at for who, at in document.erased.items() if now - at < keys.SEEN_TTL},
    )
    closed = app.sessions.save(opened, document)
    save_run(app.kv, make_run(turn, closed, now, role, app.model.name), app.run_days)
    goes_on = any(post.session == event.session for post in posts)
    if app.record and app.record.working and event.is_own_work and not goes_on:
        end_task(app.kv, app.root, app.short_name, app.record.generation, now)
    return evolve(flush_ledger(closed, app), answered=event, gathered=turn.events[1:])


def write_report(turn: Turn, app: App, text: str, texts: Texts) -> str:
    """Return what a subagent's chat is told at the end of its task: its own last words, below the
    limit that ended it where one did.
    """
    if turn.ended == NEXT_LEG and not legs.read_leg(turn.event).is_last:
        return ""
    name = app.short_name
    text = text or texts.nothing_reported
    stopped = legs.find_stop(turn.trace)
    if stopped:
        why = legs.describe_limit(stopped, texts)
        return f"{texts.subagent_stuck.format(name=name, why=why)}\n{text}"
    return texts.subagent_report.format(name=name, text=text)


def _pay_hp(
    turn: Turn, app: App, texts: Texts, now: float, *, zone: str, known: HpAccount | None
) -> tuple[Event, ...]:
    """Take off the HP that work of the agent's own costs, and return what is said when none are
    left, or when it ended at the floor. A turn of a person costs none.
    """
    event = turn.event
    cost = app.hp.count_cost(turn.usage.counted, turn.trace)
    if not (cost and is_bounded(event, app)):
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
        known=known,
    )
    if record.disabled:
        enable = "agent enable" if app.is_root else f"agents enable {app.short_name}"
        text = texts.hp_gone.format(name=app.short_name, enable=f"{texts.command_sign}{enable}")
    elif turn.has_reached(hp.LIMIT) and record.is_told_by(event.id):
        report = HpAccount(app.hp, record).report(now)
        text = f"{texts.hp_ended} {hp.describe(report, zone, now, texts)}"
        if app.is_teammate:
            text = texts.team_said.format(name=app.short_name, text=text)
    else:
        return ()
    text = f"{text} {texts.limit_setting.format(setting=hp.SETTING)}"
    return report_home(event, text, now, place="hp", first=1)


def describe_activity(turn: Turn, document: Document, context: TurnContext) -> SessionActivity:
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


def mention_unseen(
    events: Sequence[Event], text: str, texts: Texts, model: Model, chosen: str
) -> str:
    """Return an answer below the sentence that the model saw no pictures, where there were some and
    it takes none. `chosen` names another model of the same endpoint, empty for its own.
    """
    if not (text and any(map(list_pictures, events))):
        return text
    learnt = model.list_lessons(chosen) if isinstance(model, Learner) else ()
    takes_none = model.name == OFFLINE or IMAGES_LEFT_OUT in learnt
    return f"{texts.no_pictures}\n\n{text}" if takes_none else text


def let_next_go_on(
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
        return opened.with_document(evolve(document, turn=turn))
    post = chain.make_next(event, turn.task, behaviour.next)
    post = chain.carry_on(event, turn.trace, turn.usage.counted, post, said=said)
    posts = stamp_posts([post], event, "next", app.clock.now(), turn.posted)
    turn = evolve(turn, ended=behaviour.next).add_step("end", behaviour=behaviour.next)
    return opened.with_document(evolve(document, turn=turn, posts=document.posts + posts))


def warn_of_budget(
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
    return with_safety(opened, evolve(safety, warned=True)), note


def warn_of_policy(event: Event, rounds: RoundContext) -> str:
    """Return the sentence for an owner whose agent may only talk, as its policy cannot be read;
    else an empty text.
    """
    closed = rounds.calls.gate.closed
    if not closed or not (event.kind == "message" and event.private and rounds.reader.owner):
        return ""
    return rounds.texts.policy_closed.format(why=closed)


def ask_for_zone(opened: SessionHandle, turn: Turn, context: TurnContext) -> str:
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
