"""The worker takes an event from the queue, runs its turn and tells the queue how it ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import lru_cache, partial
from math import inf
from typing import TYPE_CHECKING, Protocol

from functions import cloudformation, log
from functions.agent.access.invitations import ROOMS_MOST, take_invitation
from functions.agent.agent_directory import AbsentAgent
from functions.agent.agents.bindings import Bound, BoundElsewhere
from functions.agent.app import App, TurnStep
from functions.agent.commands import control
from functions.agent.consolidation import consolidate_owed
from functions.agent.conversation import unopened
from functions.agent.language import choose_texts_for
from functions.agent.schedules.outcome import note_lost_run, note_skipped_run
from functions.agent.session.document import Document
from functions.agent.session.store import SessionHandle
from functions.agent.team.work import resume_unlocked
from functions.agent.turn.loop import SAVE_SECONDS
from functions.agent.turn.turn import abandon_turn, leave_shared_memory, run_turn
from functions.agent.turn.turn_context import NeedsIsolation, WorkerBudget
from functions.agent.workspace.received import FILES_MOST, has_file
from functions.alerts import halt_alert, send_alert
from functions.channels.base import (
    Busy,
    Channel,
    Drafts,
    FetchesFiles,
    FindsDeletedMessages,
    SplitsAlbums,
    TakesInvitations,
)
from functions.events import (
    CAME,
    CONSOLIDATION,
    DELETED,
    ENCRYPTED,
    HOOK_SENDER,
    HOPS_MOST,
    PRESS,
    Event,
    order_of,
)
from functions.overheard import CHANGES, change_message, keep_message, make_overheard
from functions.queues.base import Delivery
from functions.queues.dead_letters import give_up
from functions.reply_sender import (
    answer_inquiry,
    notify_sender_of_dead_letter,
    send_notice,
    send_outbox,
    try_to_send_notice,
)
from functions.settings import Settings
from functions.status_alerts import alert_model_failures
from functions.wiring import HOLD_SECONDS, AgentRuntime, Live, open_batch, open_runtime
from sigil.errors import BackendError, Conflict, Refused, SigilError
from sigil.protocol import Json
from sigil.settings import find_unknown_variables
from sigil.storage.kv import keys
from sigil.storage.stored import NewerFormat

if TYPE_CHECKING:
    from functions.drafts import DraftedTurn
    from functions.progress_message import ProgressMessage
    from functions.shared_words import WordSharer

RETRY_SECONDS = 5.0
CONFLICT_SECONDS = 0.5
"""Seconds until an event is handed out again: after trouble, and after another worker was faster.
"""
FORMAT_SECONDS = 30.0
"""Seconds until an event of a chat that a newer version keeps is looked at again."""
PAUSES = (0.5, 2.0, 8.0, 30.0)
"""Seconds between attempts to tell the queue what became of an event."""
TRIES_MOST = 10
"""After so many failed deliveries an event is given up: the backstop behind the turn's own count.
"""
TRIES_SHARED = 6
"""After so many failed deliveries an event is handled while no other turn runs in the process.

It may crash the process before its turn is opened, which the turn cannot count, and the turns that
ran beside it each time must not be given up with it. A wait for the model or a platform is no
failure.
"""
ALBUM_SECONDS = 1.5
"""The files of one message may come one by one: each waits for the next one so many seconds."""
UNLOGGED = frozenset({"ask", "words", "progress"})
"""Steps that are shown alone: the last two have what a model or a server says."""
WORDS = frozenset({"ask", "words"})
"""Those of them that are there while somebody wants the words of an answer."""
ROUTES_MOST = 3
"""A turn whose chat is bound anew just then is begun so often."""
STOP_SECONDS = 5.0
"""A turn that waits for the model looks so often whether somebody has stopped it."""
MEMORY_WAIT_MOST = 120.0
MEMORY_PATIENCE = 7_200.0
"""A consolidation that waits for the model waits as long again each time, at most so many seconds;
after so many in all it is given up.
"""
CROWDED_SECONDS = 1.0
"""Seconds until a turn that has to run alone is handed out again, while another one does; and a
consolidation, while half of the workers have one.
"""


class _DocumentIncomplete(BackendError):
    """A body of the session's document is lost: trying again cannot help."""


class _ModelSilent(BackendError):
    """The model does not answer: the turn waits for `retry_after` seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__("EMODEL", "the model does not answer", retry_after=seconds)


class _OtherConsolidationsRun(BackendError):
    """The workers that are left have to be there for other work.

    Looks at thousands that wait so cost little: each waits half as long again as it has waited.
    """

    def __init__(self, waited: float) -> None:
        seconds = min(max(CROWDED_SECONDS, waited / 2), MEMORY_WAIT_MOST)
        super().__init__("ECROWDED", "other consolidations run", retry_after=seconds)


class _OtherTurnsRun(BackendError):
    """Other turns run in this process, and this one must not run beside them."""

    def __init__(self) -> None:
        super().__init__("ECROWDED", "other turns run in this process")


class _AlbumGrows(BackendError):
    """More files of the same message may be on their way, for `retry_after` seconds yet."""

    def __init__(self, seconds: float) -> None:
        super().__init__("EBUSY", "more files of this message may come")
        self.retry_after = seconds


class _EarlierTurnFirst(BackendError):
    """This worker's time was up before the event's own turn could begin."""

    def __init__(self) -> None:
        super().__init__("EBUSY", "an earlier turn goes on first")


def process(delivery: Delivery, runtime: AgentRuntime, until: float = inf) -> None:
    """Take a delivery to its end: its event is done, handed out again later, or given up.

    It never raises. `until`: when this worker's own time is up (monotonic seconds); a turn that is
    not over by then is handed on to another worker.
    """
    log.step("taken", delivery.event, tries=delivery.tries)
    clock = runtime.app.clock
    began = clock.monotonic()
    try:
        _process_delivery(delivery, runtime, until, shared=True)
    except NeedsIsolation:
        patience = runtime.app.turn_seconds
        with runtime.turns.alone(patience) as alone:
            if alone:
                log.step("alone", delivery.event)
                # waiting took some of the time for which the queue keeps the event for this worker
                until = min(until, began + patience + HOLD_SECONDS)
                _process_delivery(delivery, runtime, until, shared=False)
                return
        if clock.monotonic() - began >= patience:
            # a turn of another worker hangs: this counts as a try
            delivery = replace(delivery, tries=delivery.tries + 1)
        _retry_later(delivery, runtime, CROWDED_SECONDS, _OtherTurnsRun())


def _process_delivery(
    delivery: Delivery, runtime: AgentRuntime, until: float, *, shared: bool
) -> None:
    """Handle the event and tell the queue what became of it. `NeedsIsolation` as `handle_event`."""
    event = delivery.event
    spent = delivery.tries >= TRIES_MOST
    try:
        if shared and not spent and delivery.tries >= TRIES_SHARED and not event.skips_queue:
            raise NeedsIsolation
        gathered = handle_event(
            event, runtime, until, spent=spent, shared=shared, behind=delivery.behind
        )
    except NeedsIsolation:
        raise
    except (Busy, _ModelSilent, _OtherConsolidationsRun, _AlbumGrows) as problem:
        _retry_later(delivery, runtime, problem.retry_after or RETRY_SECONDS, problem)
    except Conflict as problem:
        _retry_later(delivery, runtime, CONFLICT_SECONDS, problem)
    except (Refused, _DocumentIncomplete) as problem:
        _give_up(delivery, runtime, problem)
    except NewerFormat as problem:
        # a newer version may be at work beside this one: its worker has the event next
        if spent:
            _give_up(delivery, runtime, problem)
        else:
            delivery = replace(delivery, tries=delivery.tries + 1)
            _retry_later(delivery, runtime, FORMAT_SECONDS, problem)
    except BackendError as problem:
        _retry_later(delivery, runtime, problem.retry_after or RETRY_SECONDS, problem)
    except Exception as problem:  # noqa: BLE001  entry point: one event's failure must not end the worker
        # a SigilError among them: what is no trouble of a back-end will not pass by waiting
        log.failure("failed", event=event.id)
        if spent:
            reason = f"it failed each of the {delivery.tries} times that it was handed out"
            _give_up(delivery, runtime, Refused("EPOISON", reason))
        else:
            delivery = replace(delivery, tries=delivery.tries + 1)
            _retry_later(delivery, runtime, RETRY_SECONDS, problem)
    else:
        _tell_queue(lambda: runtime.queue.done(delivery, gathered), runtime)
        log.step("done", event)


def handle_event(
    event: Event,
    runtime: AgentRuntime,
    until: float = inf,
    *,
    spent: bool = False,
    shared: bool = False,
    behind: Sequence[Event] | None = (),
) -> Sequence[Event]:
    """Answer an inquiry, obey a control event, let memory hear of what left a history, or run a
    turn, and send the replies.

    Returns the events behind this one that its turn has answered as well.

    `spent`: the event was handed out too often, so its turn is closed with an apology instead of
    run. `shared`: other turns run in this process; `NeedsIsolation` when this one must not run
    beside them. `behind`: see `Delivery`.
    """
    if event.is_overheard:
        if event.agent == runtime.app.name and CHANGES in event.data:
            change_message(runtime.stores.kv, make_overheard(event))
        elif event.agent == runtime.app.name:
            age = runtime.app.clock.now() - event.at
            keep_message(runtime.stores.kv, make_overheard(event), age)
        return ()
    found = _find_agent(event, runtime)
    if isinstance(found, AbsentAgent):
        now = runtime.app.clock.now()
        if not (found.is_away and note_skipped_run(runtime.stores.kv, event, found.reason, now)):
            _give_up_silently(event, runtime, found.reason)
        return ()
    misfit = _explain_misfit(event)
    if misfit:
        _give_up_silently(event, runtime, misfit)
        return ()
    runtime = replace(runtime, app=found)
    if event.is_consolidation:
        _consolidate(event, runtime, until, spent=spent)
        return ()
    channel = runtime.channels.get(event.platform)
    if event.is_change:
        _take_change(event, runtime, channel)
        return ()
    has_come = CAME in event.data
    if has_come and found.private_chats.is_shared(event.session):
        return ()
    if event.joined and _declines(event, runtime, channel):
        return ()
    if channel and event.kind == "message":
        accepted = channel.accept(event)
        if accepted is None and not has_come:
            keep_message(runtime.stores.kv, make_overheard(event))
            channel.end_waiting(event)
        if accepted is None:
            return ()
        event = accepted
    if ENCRYPTED in event.data:
        _tell_encrypted(event, runtime)
        return ()
    if has_come or event.skips_queue:
        event = found.private_chats.check(event)
    if has_come:
        if found.private_chats.is_shared(event.session):
            app = _route(event, runtime).app
            opened = app.sessions.open(keys.session_of(app.name, event.session))
            leave_shared_memory(opened, event, app)
        return ()
    if event.is_inquiry and not spent:
        with _lost_body_is_final():
            answer_inquiry(event, _route(event, runtime))
    elif event.is_control:
        _obey_control(event, _route(event, runtime))
    else:
        # an HTTP client waits for an answer to each of its messages
        behind = behind if channel or event.is_posted else ()
        if channel and behind and event.kind == "message":
            behind = _accept_behind(event, behind, channel)
        worker = WorkerBudget(
            until, patient=runtime.patient, shared=shared, behind=behind, put=runtime.queue.put
        )
        return _run_routed_turn(event, runtime, channel, worker, spent=spent)
    return ()


def _take_change(event: Event, runtime: AgentRuntime, channel: Channel | None) -> None:
    """Let a message that waits be as its sender has changed it, or not be answered as they have
    deleted it.
    """
    # few messages are changed
    from functions.message_changes import drop_deleted, take_edit

    if DELETED in event.data:
        for session in _find_sessions(event, channel):
            here = replace(event, session=session)
            drop_deleted(here, _route(here, runtime).app)
        return
    accepted = channel.accept(event) if channel else None
    if accepted:
        accepted = runtime.app.private_chats.check(accepted)
    take_edit(event, accepted, _route(accepted or event, runtime))


def _find_sessions(event: Event, channel: object) -> Sequence[str]:
    """Return the sessions in which the messages may wait that an event says were deleted."""
    if isinstance(channel, FindsDeletedMessages):
        return channel.find_sessions(event)
    return (event.session,)


def _accept_behind(event: Event, waiting: Sequence[Event], channel: Channel) -> Sequence[Event]:
    """Return the first of the waiting events that the same person wrote to us, as their own turns
    would see them: a turn of `event` may answer them as well.
    """
    accepted: list[Event] = []
    with suppress(BackendError):  # without the platform each has a turn of its own
        for other in waiting:
            is_message = other.kind == "message" and not other.joined and not other.skips_queue
            is_message &= not {CAME, ENCRYPTED} & other.data.keys()
            if not is_message or other.sender.id != event.sender.id:
                break
            found = channel.accept(other)
            if found is None:
                break
            accepted.append(found)
    return accepted


def _tell_encrypted(event: Event, runtime: AgentRuntime) -> None:
    """Say in a chat that nothing encrypted can be read, in the language of what is known of it."""
    app = _route(event, runtime).app
    document = app.sessions.open(keys.session_of(app.name, event.session)).document
    asked = replace(event, language=event.language or runtime.settings.language)
    try:
        send_notice(event, choose_texts_for(asked, document).encrypted_room, runtime)
    except Refused as problem:  # we were sent away meanwhile
        log.trouble("unsent", event, code=problem.code)


def _declines(event: Event, runtime: AgentRuntime, channel: object) -> bool:
    """Decline an invitation of a stranger who sent too many, or into one room too many, and return
    whether it was declined.
    """
    app = runtime.app
    if not isinstance(channel, TakesInvitations):
        return False
    role = app.people.find_role(event)
    is_taken = role != "guest" or take_invitation(app.kv, app.root, event, app.clock.now)
    if role == "owner" or (is_taken and channel.count_rooms() < ROOMS_MOST):
        return False
    log.trouble("declined", event, sender=event.sender.id)
    texts = choose_texts_for(replace(event, language=runtime.settings.language))
    channel.decline(event, texts.invitation_declined)
    return True


def _find_agent(event: Event, runtime: AgentRuntime) -> App | AbsentAgent:
    """Return the agent that an event names, or why there is none that works on it.

    People's messages are the root's: only its channels make them, and a binding says which agent
    answers.
    """
    root = runtime.app.root
    if event.kind == "message" and event.agent != root and keys.root_of(event.agent) == root:
        return AbsentAgent(f"no message comes to {event.agent!r} but through a bound chat")
    return runtime.agents.find(event.agent, runtime.app)


def _route(event: Event, runtime: AgentRuntime) -> AgentRuntime:
    """Return the runtime with the agent that the event's chat is bound to."""
    return replace(runtime, app=runtime.agents.find_route(event, runtime.app).app)


def _run_routed_turn(
    event: Event,
    runtime: AgentRuntime,
    channel: Channel | None,
    worker: WorkerBudget,
    *,
    spent: bool,
) -> Sequence[Event]:
    """Run the event's turn, for the agent that its chat is bound to if a person wrote it or the
    root says something there.

    The binding is read together with the session of the agent that it named last.
    """
    to_chat = event.kind == "message" or (event.kind == "say" and event.agent == runtime.app.root)
    if not to_chat:
        return _run_turn(event, runtime, channel, worker, spent=spent)
    if spent:
        return _run_turn(event, _route(event, runtime), channel, worker, spent=True)
    route = runtime.agents.guess_route(event.session, runtime.app)
    for _ in range(ROUTES_MOST):
        try:
            routed = replace(runtime, app=route.app)
            return _run_turn(event, routed, channel, worker, spent=False, bound=route.bound)
        except BoundElsewhere as elsewhere:
            runtime.agents.note_binding(event.session, elsewhere.agent)
            route = runtime.agents.guess_route(event.session, runtime.app)
    raise Conflict("the chat is bound anew all the time")


def _explain_misfit(event: Event) -> str:
    """Return why an event cannot be handled where it is, empty for one that can.

    Nothing from outside can be of a kind that the runtime makes, or enter a session of its own.
    """
    if event.kind == "message":
        return "what people write goes to chats alone" if event.is_own_work else ""
    if event.kind == "mail" and event.sender.id.startswith(HOOK_SENDER) and not event.hook:
        return "it came over a hook, in a form that only another version can read"
    if event.kind in ("task", "wakeup") and not event.is_own_work:
        return "work that nobody typed runs in sessions of the agent's own"
    if event.kind == "say" and event.is_own_work:
        return "nobody hears what is said in a session of the agent's own"
    if event.hops > HOPS_MOST and event.kind != "say":
        return f"it came about through more than {HOPS_MOST} others: a chain that goes in a circle"
    return ""


def _give_up_silently(event: Event, runtime: AgentRuntime, reason: str) -> None:
    """Make an event a dead letter of which its sender is not told."""
    now = runtime.app.clock.now()
    give_up(runtime.stores.kv, event, reason, now, notify_sender=False)
    channel = runtime.channels.get(event.platform)
    if channel and event.kind == "message":
        channel.end_waiting(event)
    for notice in note_lost_run(runtime.stores.kv, event, reason, now):
        runtime.queue.put(notice)


def _consolidate(event: Event, runtime: AgentRuntime, until: float, *, spent: bool) -> None:
    """Let memory hear of what left the history of the event's session, beside its turns.

    Where that came to nothing too often, or for too long, it is given up; the next turn asks for it
    again.
    """
    app = runtime.app
    reason = "memory could not hear of what left the history"
    if spent:
        give_up(runtime.stores.kv, event, reason, app.clock.now(), notify_sender=False)
        return
    session = keys.session_of(app.name, event.session)
    until = min(until - SAVE_SECONDS, app.clock.monotonic() + app.turn_seconds)
    if not runtime.consolidations.acquire(blocking=False):
        raise _OtherConsolidationsRun(app.clock.now() - event.at)
    try:
        with _lost_body_is_final():
            watch = _TurnWatch(event, runtime.live, app)
            run = consolidate_owed(session, app, watch, until, event)
    finally:
        runtime.consolidations.release()
    allowances = app.make_allowances(run.zone)
    standing = app.people.find_standing(event)
    allowances.record_tokens(
        event, standing.role, run.tokens, event.at, payer=standing.payer, more=True
    )
    alert_model_failures(runtime)
    waited = app.clock.now() - event.at
    if run.wait and waited > MEMORY_PATIENCE:
        give_up(runtime.stores.kv, event, reason, app.clock.now(), notify_sender=False)
    elif run.wait:
        raise _ModelSilent(min(max(run.wait, waited), MEMORY_WAIT_MOST))


def _make_consolidation(event: Event, opened: SessionHandle, app: App) -> Event:
    """Return the event that lets memory hear of what left the history of a session.

    Its id and its place in the queue are those of what is owed, so that any worker puts the same
    one. Whoever `event`, one of the session's, is from or for pays for it.
    """
    return Event(
        id=f"{CONSOLIDATION}{event.session}:{opened.document.owed}",
        kind="continue",
        agent=app.name,
        session=event.session,
        sender=event.sender,
        text="",
        at=app.clock.now(),
        order=order_of(0.0, opened.document.owed),
        private=event.private,
        by=event.by,
    )


def _obey_control(event: Event, runtime: AgentRuntime) -> None:
    """Stop, halt or unlock what the control event says, and reply; a halt is an alert as well."""
    answer = control.handle_control(event, runtime.app, resume=resume_unlocked)
    reply = answer.text
    channel = runtime.channels.get(event.platform)
    if not reply and channel is None:
        # in a chat the stopped turn replies
        reply = choose_texts_for(event).told_to_stop
    if not reply and channel:
        channel.end_waiting(event)
    for each in answer.events:
        runtime.queue.put(each)
    try_to_send_notice(event, reply, runtime)
    if answer.halted:
        session = event.session if answer.halted == "chat" else ""
        agent = runtime.app.root if answer.halted == "root" else runtime.app.name
        alert = halt_alert(agent, session, runtime.app.clock.now())
        send_alert(alert, runtime.notifier)


def _keep_files(event: Event, app: App, channel: object) -> Event:
    """Return a message whose files are those of its chat, where its sender may read files."""
    if not isinstance(channel, FetchesFiles):
        return event
    # few messages have files
    from functions.message_files import keep_files

    return keep_files(event, app, channel.fetch)


def _list_album(event: Event, behind: Sequence[Event] | None, *, splits: bool) -> list[Event]:
    """Return the first of the events behind a message that bring more files of it: they belong to
    its album, or came without a word soon after each other.

    WhatsApp tells the second alone, within which the photo with the words may stand behind another.
    """
    album = unopened.name_album(event)
    found: list[Event] = []
    last = event
    for other in behind or ():
        is_soon = not other.text and abs(other.at - last.at) <= ALBUM_SECONDS
        is_same = splits and not event.text and other.at == event.at
        is_more = is_soon or is_same or (album and unopened.name_album(other) == album)
        if not (is_more and has_file(other) and other.sender.id == event.sender.id):
            break
        found.append(other)
        last = other
    return found


def _splits_albums(channel: object) -> bool:
    return isinstance(channel, SplitsAlbums) and channel.splits_albums


def _wait_for_album(event: Event, more: Sequence[Event], now: float, *, splits: bool) -> None:
    """Raise `_AlbumGrows` while more files of a message may be on their way.

    A platform that tells of albums, or sends a file without a word, may send the next one at once,
    and one that `splits` albums sends it behind a photo with words. Any other file with words is a
    whole message mostly, and so is what somebody has spoken.
    """
    is_spoken = any(file.get("kind") == "voice" for file in event.attachments)
    files = sum(len(each.attachments) for each in (event, *more))
    if is_spoken or not event.attachments or files >= FILES_MOST:
        return
    age = now - (more[-1] if more else event).at
    splits = splits and any(file.get("kind") == "photo" for file in event.attachments)
    may_grow = not event.text or more or splits or unopened.name_album(event)
    if may_grow and abs(age) < ALBUM_SECONDS:
        raise _AlbumGrows(ALBUM_SECONDS - age)


def _run_turn(
    event: Event,
    runtime: AgentRuntime,
    channel: Channel | None,
    worker: WorkerBudget,
    *,
    spent: bool,
    bound: Bound | None = None,
) -> Sequence[Event]:
    """Run the event's turn, or close it when it is spent, and send the replies.

    Returns the events behind this one that the turn has answered as well.

    A turn that is not over is handed on: to the event that continues it, or, while the model does
    not answer, to this event's next delivery (`_ModelSilent`).
    """
    rules = runtime.app.rules
    # in a group, nothing may show that a stranger's message was read
    may_talk = event.kind == "message" and (
        rules.access == "open" or rules.may_talk(runtime.app.people.find_role(event))
    )
    if channel and may_talk and PRESS in event.data:
        channel.acknowledge(event)
    more: list[Event] = []
    if may_talk and not spent and has_file(event):
        splits = _splits_albums(channel)
        more = _list_album(event, worker.behind, splits=splits)
        _wait_for_album(event, more, runtime.app.clock.now(), splits=splits)
    progress = _open_progress_message(event, runtime)
    draft = _open_draft(event, runtime, channel) if may_talk and not spent else None
    with (
        _show_waiting(channel if may_talk else None, event),
        progress.keep_shown() if progress else nullcontext(),
        _lost_body_is_final(),
        draft or nullcontext(),
    ):
        if may_talk and not spent and has_file(event):
            event = _keep_files(event, runtime.app, channel)
            if more and worker.behind:
                kept = [_keep_files(other, runtime.app, channel) for other in more]
                worker = replace(worker, behind=(*kept, *worker.behind[len(kept) :]))
        if spent:
            opened = abandon_turn(event, runtime.app)
        else:
            send = partial(_send_earlier_replies, runtime=runtime, channel=channel)
            with closing(_TurnWatch(event, draft or runtime.live, runtime.app)) as watch:
                opened = run_turn(event, runtime.app, watch, worker, send, bound=bound)
        if draft:
            draft.end(opened.document.outbox)
    if may_talk or event.kind == "mail":
        runtime.inputs.add(runtime.app.name)
    closed = opened.document
    run = closed.runs[-1] if closed.runs and closed.turn is None else ""
    log.step("closed", event, replies=len(closed.outbox), bytes=opened.size, run=run)
    wait = opened.wait
    continuation = opened.next
    gathered = opened.gathered
    if not (opened.repeated or closed.turn or wait or continuation):
        _end_waiting(opened, channel, event)
    opened = _send_all(opened, runtime)
    if progress and closed.turn is None and not _goes_on(closed, event):
        progress.end()
    if wait:
        raise _ModelSilent(min(wait, STOP_SECONDS))
    if opened.document.owes_memory:
        # the document says so until it is done: after a crash here, this event's next delivery or
        # the next turn puts the same one
        runtime.queue.put(_make_consolidation(event, opened, runtime.app))
    if continuation:
        # it has to be durable before this event is acknowledged
        runtime.queue.put(continuation)
        log.step("handed on", continuation)
        turn = opened.document.turn
        if event.kind != "continue" and turn and turn.event.id != event.id:
            raise _EarlierTurnFirst
    return gathered


def _open_progress_message(event: Event, runtime: AgentRuntime) -> ProgressMessage | None:
    """Return what shows in a chat how the work goes that an event brings a teammate; None for all
    other events.
    """
    if not (event.is_own_work and runtime.app.is_teammate):
        return None
    # a chat without a team needs nothing of it
    from functions.progress_message import open_progress_message

    return open_progress_message(event, runtime)


def _open_draft(event: Event, runtime: AgentRuntime, channel: object) -> DraftedTurn | None:
    """Return what shows the answer to an event while the model writes it; None where the platform
    has no form for that.
    """
    draft = channel.open_draft(event) if isinstance(channel, Drafts) else None
    if draft is None or draft.health.is_off:
        return None
    # most chats have none
    from functions.drafts import DraftedTurn

    return DraftedTurn(draft, event, runtime.live, runtime.app.clock)


def _goes_on(closed: Document, event: Event) -> bool:
    """Return whether an event of the agent's own work has set off another one."""
    posts = closed.posts
    return any((each.agent, each.session) == (event.agent, event.session) for each in posts)


def _send_earlier_replies(
    opened: SessionHandle, runtime: AgentRuntime, channel: Channel | None
) -> SessionHandle:
    """Send what a turn that was in progress has left, before the event's own turn begins."""
    _end_waiting(opened, channel)
    return _send_all(opened, runtime)


def _end_waiting(opened: SessionHandle, channel: Channel | None, *events: Event) -> None:
    """Take away what shows that an answer is on its way to events that ended without one: these,
    and those of the turn that was just closed. One answer may be for several.
    """
    if channel is None:
        return
    own = (opened.answered,) if opened.answered else ()
    ended = {each.id: each for each in (*events, *own, *opened.gathered)}
    answered = {(reply.session, reply.reply_to) for reply in opened.document.outbox}
    for each in ended.values():
        if each.kind == "message" and (each.session, each.reply_to) not in answered:
            channel.end_waiting(each)


def _send_all(opened: SessionHandle, runtime: AgentRuntime) -> SessionHandle:
    """Put what the session has posted into the queue, and send its replies.

    The posts leave the document with the next write: that of a reply, or one of their own. Whoever
    crashes in between puts them again, under the same ids.
    """
    posts = opened.document.posts
    for post in posts:
        runtime.queue.put(post)
        log.step("posted", post)
    if not posts:
        return send_outbox(opened, runtime)
    opened = opened.with_document(replace(opened.document, posts=()))
    if not opened.document.outbox:
        opened = runtime.app.sessions.save(opened, opened.document)
    return send_outbox(opened, runtime)


@contextmanager
def _lost_body_is_final() -> Iterator[None]:
    """Raise `_DocumentIncomplete` when a body of the document is lost: waiting does not help."""
    try:
        yield
    except BackendError as problem:
        if problem.code == "EDAMAGED":
            raise _DocumentIncomplete(problem.code, problem.message) from None
        raise


@contextmanager
def _show_waiting(channel: Channel | None, event: Event) -> Iterator[None]:
    """Show in the chat that an answer is on its way, as often as the platform needs it until the
    turn ends.
    """
    if channel is None:
        yield
        return
    over = threading.Event()

    def keep_showing() -> None:
        while (seconds := channel.show_waiting(event)) > 0.0:
            if over.wait(seconds):
                return

    thread = threading.Thread(target=keep_showing, name="waiting", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()


class _TurnWatch:
    """Shows the steps of a turn to who looks on, and logs what took how long, never what was
    said.
    """

    def __init__(self, event: Event, live: Live, app: App) -> None:
        self._event = event
        self._live = live
        self._app = app
        self._shared: WordSharer | None = None

    @property
    def hears_words(self) -> bool:
        """Whether somebody wants the words of the answer while they come."""
        if self._shared is not None and self._shared.is_wanted:
            return True
        return self._live.hears_words(self._event)

    def share_words(self, find_watcher: Callable[[], str], event: str, head: str) -> None:
        """Share the next answer with the pages of other processes that look on."""
        if self._shared is None:
            # at most chats nobody looks
            from functions.shared_words import WordSharer

            app = self._app
            session = keys.session_of(app.name, self._event.session)
            self._shared = WordSharer(app.kv, session, self._live.watcher, app.redact, app.clock)
        self._shared.begin(find_watcher, event, head)

    def close(self) -> None:
        """Share nothing more: the turn is over."""
        if self._shared is not None:
            self._shared.close()

    def __call__(self, step: TurnStep) -> None:
        """Show a step, and log it."""
        if self._shared is not None:
            self._shared.note_step(step)
        # words that only others want are shown to nobody here
        if step.kind not in WORDS or self._shared is None or self._live.hears_words(self._event):
            self._live.note_step(self._event, step)
        if step.kind in UNLOGGED:
            return
        facts: dict[str, object] = {}
        if step.name and step.kind != "note":
            facts["name"] = step.name
        if step.ms:
            facts["ms"] = round(step.ms, 1)
        if step.error:
            facts["error"] = step.error
        log.step(step.kind, self._event, **facts, **step.facts)


def _give_up(delivery: Delivery, runtime: AgentRuntime, problem: SigilError) -> None:
    """Make the event a dead letter and tell its sender, once; the chat goes on.

    What people said to each other is dropped.
    """
    event = delivery.event
    log.trouble("given up", event, code=problem.code)
    if event.is_overheard:
        _tell_queue(lambda: runtime.queue.done(delivery), runtime)
        return
    texts = choose_texts_for(event)
    if isinstance(problem, NewerFormat):
        text = texts.newer_version
    elif isinstance(problem, _DocumentIncomplete):
        text = texts.lost_memory
    else:
        text = texts.gave_up
    try:
        since = give_up(
            runtime.stores.kv,
            event,
            problem.message,
            runtime.app.clock.now(),
            notify_sender=not event.is_consolidation,
        )
        if since is not None:
            notify_sender_of_dead_letter(event, text, runtime, since)
        now = runtime.app.clock.now()
        for notice in note_lost_run(runtime.stores.kv, event, problem.code, now):
            runtime.queue.put(notice)
    except BackendError as trouble:
        _retry_later(delivery, runtime, RETRY_SECONDS, trouble)
    else:
        _tell_queue(lambda: runtime.queue.done(delivery), runtime)


def _retry_later(
    delivery: Delivery, runtime: AgentRuntime, seconds: float, problem: Exception
) -> None:
    """Tell the queue to hand the event out again in so many seconds."""
    code = getattr(problem, "code", type(problem).__name__)
    log.trouble("waits", delivery.event, seconds=seconds, code=code)
    _tell_queue(lambda: runtime.queue.retry(delivery, seconds), runtime)


def _tell_queue(action: Callable[[], None], runtime: AgentRuntime) -> None:
    """Tell the queue what became of an event, again when its store is away for a moment.

    A session that is not given back waits until its lease ends.
    """
    for seconds in PAUSES:
        try:
            return action()
        except BackendError as problem:
            log.note("the queue cannot be told", code=problem.code, seconds=seconds)
            runtime.app.clock.pause(seconds)
    return action()


@lru_cache(maxsize=1)
def _open_lambda_runtime() -> AgentRuntime:
    log.start()
    settings = Settings.read()
    for unknown in find_unknown_variables(settings):
        log.note("no setting", name=unknown.name, meant=unknown.meant)
    return open_runtime(settings, later=True)


def _tell_heartbeats(runtime: AgentRuntime) -> None:
    """Tell heartbeats that somebody wrote: a server's scheduler does so beside its turns."""
    try:
        runtime.inputs.tell_heartbeats(runtime.stores.kv, runtime.app.clock.now())
    except SigilError as problem:  # the answers have left, and no event is handled again for this
        log.note("heartbeats were not told", code=problem.code)


class LambdaContext(Protocol):
    """The part of Lambda's context that the handler reads."""

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until Lambda ends the invocation."""


def handler(event: Mapping[str, Json], context: LambdaContext) -> Mapping[str, object]:
    """Process the records of one Lambda invocation, each with one event from the FIFO queue.

    The answer names those that did not end, and SQS delivers them again. CloudFormation invokes
    this function as well, because stocking the library needs what the worker has: the sandbox, its
    rights and its time.
    """
    if cloudformation.is_stack_event(event):
        log.start()
        return cloudformation.answer_stack_event(event, cloudformation.stock_library)
    runtime = _open_lambda_runtime()
    until = runtime.app.clock.monotonic() + context.get_remaining_time_in_millis() / 1000
    batch = open_batch(runtime.queue, event)
    while delivery := batch.take(0.0):
        process(delivery, replace(runtime, queue=batch), until)
    _tell_heartbeats(runtime)
    return batch.report()
