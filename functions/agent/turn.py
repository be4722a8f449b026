"""The whole story of a turn: an event comes in, the session is opened, the rounds run, the session
is closed with its replies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf

from functions.agent import (
    context,
    missed_messages,
    outage,
    scheduled_replies,
    side_request,
    tokens,
)
from functions.agent.access.roles import Role
from functions.agent.app import App, Step, Watch, unwatched
from functions.agent.archive import put_away
from functions.agent.closing import close, taken_over
from functions.agent.commands import pairing, table
from functions.agent.commands.command import CommandCall, CommandResult
from functions.agent.commands.control import handle_control
from functions.agent.context import Preamble
from functions.agent.eviction import evict
from functions.agent.loop import OUT_OF_TIME, SAVE_SECONDS, STOPPED, Course, overhead, run
from functions.agent.messages import Message
from functions.agent.origin import origin_of, quoted_name
from functions.agent.safety import status
from functions.agent.safety.breakers import Breakers
from functions.agent.safety.retry import Retry
from functions.agent.sanitize import clean
from functions.agent.services.call_context import CallContext
from functions.agent.services.table import call_service
from functions.agent.session.document import OUTBOX_MOST, Document, Outgoing, Turn
from functions.agent.session.store import Opened
from functions.agent.tool_calls import Desk
from functions.agent.turn_records import TurnRecords, read_turn_records
from functions.events import Event
from functions.queues.dead_letters import give_up, note_sender_told
from sigil.errors import one_line
from sigil.protocol import Caller
from sigil.storage.kv import keys

ATTEMPTS = 3
"""How often a turn is opened without getting on before it is given up; the last time, no other turn
runs in its process.
"""
FILE_CHARACTERS = 200
"""Of the name of a file."""
WAITS = 6
"""How often a turn is handed on from one worker to the next, or waits for a model that does not
answer.
"""
WAIT_SECONDS = 15.0
"""The first wait for a model that is away; the next one is four times as long: with the client's
own pauses, a minute and a half in all.
"""
KEPT_SHARE = 0.75
"""Of the window's room, what the history before a turn may take: the rest is for the turn, which is
never compacted while it runs.
"""
GAVE_UP = (
    "Something went wrong while I worked on your last message, more than once, so I gave up on it."
    " The next message starts afresh."
)
TOO_LONG = (
    "Your message does not fit into the model's window of {window:,} tokens. Please send it in"
    " parts, or a shorter one."
)


def unsent(opened: Opened) -> Opened:
    """Replies wait until the event is handled."""
    return opened


@dataclass(frozen=True, slots=True)
class Shift:
    """What a worker can give a turn. `until`: when its own time is up (monotonic). `patient`: it
    can have the event again later. `shared`: other turns may run in the same process. `behind`:
    what waits in the chat's queue behind the event, as far as anybody looked; None when that cannot
    be told.
    """

    until: float = inf
    patient: bool = False
    shared: bool = False
    behind: Sequence[Event] | None = ()


class NeedsIsolation(Exception):
    """The turn may be what crashed its process twice: its last try runs where a crash hits no other
    turn. Nothing was changed so far.
    """


ALONE = Shift()


def handle(
    event: Event,
    app: App,
    watch: Watch = unwatched,
    shift: Shift = ALONE,
    between: Callable[[Opened], Opened] = unsent,
) -> Opened:
    """Take `event` to its end and return the closed session, its outbox still full.

    An event whose turn is closed changes nothing. A turn that somebody left in progress is finished
    first. A worker whose own time is up hands the turn on: the session comes back with the turn in
    progress and the event that continues it, or, while the model does not answer, with the seconds
    after which to try again. `NeedsIsolation`: this shift is shared, and it must not be. `between`
    may send the replies of a turn that was finished for somebody else, before this event's own
    begins.
    """
    records = read_turn_records(event, app)
    opened = records.opened
    if records.seen or _stale(event, opened):
        return taken_over(opened, app)
    while opened.document.turn:
        unfinished = opened.document.turn.event
        opened = _resume(opened, app, watch, shift)
        if opened.next or opened.wait or event.kind == "continue" or unfinished.id == event.id:
            return opened
        opened = between(opened)
        if not opened.document.turn:  # that took its time: what else was read is old
            records = read_turn_records(event, app, opened)
    return _begin(records, event, app, watch, shift)


def abandon(event: Event, app: App) -> Opened:
    """Give an event up for good without running anything: its turn, begun or not, is closed with an
    apology.

    A turn in progress that it only found, or was to continue, is given up with it: nothing else
    would ever get past.
    """
    opened = app.sessions.open(keys.session_of(app.name, event.session))
    if app.sessions.was_seen(opened, event.id) or _stale(event, opened):
        return taken_over(opened, app)
    turn = opened.document.turn
    if turn:
        opened = _given_up(opened, app, turn)
    if event.kind == "continue" or (turn and turn.event.id == event.id):
        return opened
    return _given_up(opened, app, Turn(event, began=app.clock.now()), begun=False)


def _given_up(opened: Opened, app: App, turn: Turn, *, begun: bool = True) -> Opened:
    give_up(app.kv, turn.event, "it came to nothing, again and again", app.clock.now())
    closed = close(opened, app, turn, GAVE_UP, said=begun)
    note_sender_told(app.kv, turn.event)  # its outbox does
    return closed


def _continuation(document: Document, turn: Turn) -> Event:
    """The event that lets another worker go on with the turn; its id is of this checkpoint alone,
    so that none is queued twice.
    """
    name = f"{_continued(turn)}{document.next_seq}.{turn.waits}"
    return replace(turn.event, id=name, kind="continue", text="", attachments=(), addressed=())


def _continued(turn: Turn) -> str:
    """How the ids of all continuations of a turn begin."""
    return f"continue:{turn.event.session}:{turn.event.id}:"


def _stale(event: Event, opened: Opened) -> bool:
    """Whether a continuation comes too late: its turn is over.

    One whose turn has come further since goes on all the same: whoever brought it there may have
    crashed, with nothing else in the queue.
    """
    turn = opened.document.turn
    return event.kind == "continue" and (turn is None or not event.id.startswith(_continued(turn)))


def stop(session: str, app: App) -> Opened:
    """Close the turn in progress as stopped: its open calls are answered as interrupted."""
    opened = app.sessions.open(keys.session_of(app.name, session))
    turn = opened.document.turn
    return close(opened, app, turn, STOPPED) if turn else opened


def _begin(records: TurnRecords, event: Event, app: App, watch: Watch, shift: Shift) -> Opened:
    opened, role, breakers = records.opened, records.role, records.breakers
    stood = opened.document.safety
    opened = replace(
        opened, document=replace(opened.document, safety=breakers.mark_damage_noticed(stood))
    )
    turn = Turn(event, began=app.clock.now())
    if not app.rules.may_talk(role):
        return close(opened, app, turn, pairing.answer_stranger(event, app), said=False)
    if event.is_control:
        return close(opened, app, turn, handle_control(event, app, role), said=False)
    asked = CommandCall(app, opened, role, event)
    effect = table.run_command(asked) if event.kind == "message" else None
    if effect:
        return _answered(opened, effect, app, turn, role)
    safety = breakers.reopen(
        opened.document.safety, person=event.kind == "message" and role != "guest"
    )
    begun = safety.begin_task(turn.task)
    reason = safety.reason or breakers.find_stop_reason(begun)
    if reason:
        safety = safety if safety.reason else breakers.stop(safety, reason)
        known = bool(stood.since and begun.reason)
        notice = (
            ""
            if known and event.kind in scheduled_replies.KINDS
            else status.write_notice(safety, _reader(event, role))
        )
        if event.kind == "message":
            notice = missed_messages.noted(event, app, notice, shift.behind)
        return close(
            replace(opened, document=replace(opened.document, safety=safety)),
            app,
            turn,
            notice,
            said=False,
        )
    if stood.reason:
        turn = missed_messages.owed(event, app, turn)
    refusal = app.allowances.begin_turn(event, role)
    if refusal is not None:
        return close(opened, app, turn, refusal, said=False)
    opened = replace(opened, document=replace(opened.document, safety=begun))
    preamble = app.preamble(opened.key, records.documents)
    room = context.room(app.model.window, overhead(preamble), opened.document.ratio)
    until = min(app.clock.monotonic() + side_request.SECONDS, shift.until - SAVE_SECONDS)
    beside = side_request.Aside(opened.key, app, opened.document, breakers, until, tries=1)
    document, before = evict(beside, room * KEPT_SHARE, watch), opened.document.usage
    turn = replace(turn, usage=document.usage - before, trace=(*turn.trace, *beside.trace))
    document = replace(document, usage=before)
    app.allowances.record_tokens(event, role, turn.usage.total, turn.began)
    preamble = (
        preamble
        if document.consolidated == opened.document.consolidated
        else app.preamble(opened.key)
    )
    if tokens.of_text(event.text) > room:
        breakers.settle(document.safety)
        return close(
            replace(opened, document=document),
            app,
            turn,
            TOO_LONG.format(window=app.model.window),
            said=False,
        )
    said = Message(
        "user",
        scheduled_replies.briefed(event, _text(event)),
        at=event.at,
        origin=origin_of(event, role),
    )
    document = document.add(said)
    opened = _open(opened, replace(document, turn=turn), app, watch)
    return _rounds(opened, preamble, app, watch, shift, role=role, breakers=breakers)


def _answered(opened: Opened, effect: CommandResult, app: App, turn: Turn, role: Role) -> Opened:
    """The session closed with what a command did; what it took out of the history is archived."""
    left = {message.seq for message in effect.document.messages}
    gone = [message for message in opened.document.messages if message.seq not in left]
    document, before = put_away(opened.key, effect.document, gone, app), opened.document.usage
    turn = replace(turn, usage=document.usage - before, trace=(*turn.trace, *effect.trace))
    app.allowances.record_tokens(turn.event, role, turn.usage.total, turn.began)
    return close(
        replace(effect.saved or opened, document=replace(document, usage=before)),
        app,
        turn,
        effect.text,
        said=False,
    )


def _resume(opened: Opened, app: App, watch: Watch, shift: Shift) -> Opened:
    """Go on with a turn that was left in progress; when its third try, alone, came to nothing, it
    is given up and the chat goes on.
    """
    turn = opened.document.turn
    assert turn is not None, "only a turn in progress is resumed"
    early = outage.still_to_wait(turn, app.clock.now())
    breakers = app.breakers(opened.key)
    if early and shift.patient and not breakers.is_told_to_stop(turn.event.id):
        return replace(taken_over(opened, app), wait=early)
    if turn.attempts >= ATTEMPTS:
        return _given_up(opened, app, turn)
    if turn.attempts + 1 == ATTEMPTS and shift.shared:
        raise NeedsIsolation
    watch(Step("note", text="going on with a turn that was interrupted"))
    document = replace(
        opened.document, turn=replace(turn, attempts=turn.attempts + 1).did("resume")
    )
    role = app.people.find_role(turn.event)
    opened = _open(opened, document, app, watch)
    return _rounds(
        opened, app.preamble(opened.key), app, watch, shift, role=role, breakers=breakers
    )


def _open(opened: Opened, document: Document, app: App, watch: Watch) -> Opened:
    saved = app.sessions.save(opened, document)
    watch(Step("open", facts={"messages": len(document.messages), "bytes": saved.size}))
    return saved


def _rounds(
    opened: Opened,
    preamble: Preamble,
    app: App,
    watch: Watch,
    shift: Shift,
    *,
    role: Role,
    breakers: Breakers,
) -> Opened:
    turn = opened.document.turn
    assert turn is not None, "rounds belong to a turn"
    began = app.clock.monotonic()
    opened, text = run(
        opened, _course(turn, preamble, app, watch, shift, role=role, breakers=breakers)
    )
    turn = opened.document.turn or turn
    breakers.settle(opened.document.safety)
    if text is not None or turn.waits >= WAITS:
        app.allowances.record_tokens(turn.event, role, turn.usage.total, turn.began)
        return close(opened, app, turn, OUT_OF_TIME if text is None else text)
    turn = replace(
        turn, attempts=0, waits=turn.waits + 1, used=turn.used + app.clock.monotonic() - began
    )
    if turn.failed:
        return _waiting(opened, turn, app, watch)
    handed_on = turn.did("hand-on")
    watch(Step("note", text="this worker's time is up; another goes on"))
    document = replace(opened.document, turn=handed_on)
    return replace(app.sessions.save(opened, document), next=_continuation(document, handed_on))


def _course(
    turn: Turn,
    preamble: Preamble,
    app: App,
    watch: Watch,
    shift: Shift,
    *,
    role: Role,
    breakers: Breakers,
) -> Course:
    session = keys.session_of(app.name, turn.event.session)
    told = partial(breakers.is_told_to_stop, turn.event.id)
    deadline = app.clock.monotonic() + app.turn_seconds - turn.used
    caller = Caller(app.name, turn.event.session, role == "owner" and turn.event.private, "model")
    desk = Desk(
        registry=app.registry,
        caller=caller,
        may_deploy=app.rules.may_deploy(role),
        pool=app.pool,
        stopped=partial(breakers.must_end, turn.event.id),
        retry=Retry(app.clock, min(deadline, shift.until), app.limits.call_seconds),
        serve=partial(
            call_service,
            CallContext(app, session, caller.owner, turn.event.sender.id, turn.event.id),
        ),
    )
    patient = shift.patient and turn.waits < WAITS
    reader = replace(
        _reader(turn.event, role), guest=False
    )  # whoever it asks first may be one of several
    return Course(
        app,
        preamble,
        desk,
        breakers,
        told,
        watch,
        deadline,
        shift.until,
        patient,
        partial(_over, app, role),
        reader,
    )


def _reader(event: Event, role: Role) -> status.NoticeReader:
    return status.NoticeReader(owner=role == "owner", guest=role == "guest", alone=event.private)


def _over(app: App, role: Role, turn: Turn) -> str:
    return app.allowances.record_tokens(turn.event, role, turn.usage.total, turn.began)


def _waiting(opened: Opened, turn: Turn, app: App, watch: Watch) -> Opened:
    """The turn as it stands, to be gone on with later: the model does not answer. What it waits is
    no part of its time.

    The chat is told by a reply like any other, in the write that notes the wait; the history has
    nothing of it.
    """
    now = app.clock.now()
    seconds = outage.seconds_to_wait(turn, WAIT_SECONDS)
    watch(Step("note", "wait", f"the model does not answer; trying again in {seconds:.0f} s"))
    outbox, told = opened.document.outbox, outage.is_to_tell(turn, seconds)
    if told:
        event = turn.event
        said = outage.sentence(turn, seconds)
        outbox = (
            *outbox,
            Outgoing(
                f"{event.id}{outage.EVENT_SUFFIX}", event.session, said, event.reply_to, at=now
            ),
        )[-OUTBOX_MOST:]
    waiting = replace(turn, rounds=turn.rounds - 1).did(
        "wait", seconds=round(seconds, 1), at=now, **({"told": True} if told else {})
    )
    return replace(
        app.sessions.save(opened, replace(opened.document, turn=waiting, outbox=outbox)),
        wait=seconds,
    )


def _text(event: Event) -> str:
    """What the model reads of an event: as it was written, but for what whoever wrote or forwarded
    it does not see.
    """
    named = (
        (str(attachment.get("kind") or "file"), str(attachment.get("name") or ""))
        for attachment in event.attachments
    )
    notes = [
        f"[{one_line(kind, 40)}: {quoted_name(name, FILE_CHARACTERS) if name else 'unnamed'}]"
        for kind, name in named
    ]
    said = clean(event.text)
    return "\n".join([said, *notes] if said else notes)
