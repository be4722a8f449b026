"""The door for events: one comes in, its turn runs, the replies go out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import inf
from typing import Any

import orjson

from functions import events, log, stack
from functions.agent.app import Step
from functions.agent.commands import control, table
from functions.agent.session.document import Outgoing
from functions.agent.session.store import Opened
from functions.agent.turn import GAVE_UP, NeedsIsolation, Shift, abandon, handle
from functions.alerts import halt_alert, send_alert
from functions.channels.base import Busy, Channel
from functions.queues.base import Delivery
from functions.queues.dead_letters import count_untold, give_up, tell
from functions.settings import Settings
from functions.status_alerts import alarm, alarm_of_model
from functions.wiring import HOLD_SECONDS, AgentRuntime, open_batch, open_runtime
from sigil.errors import BackendError, Conflict, Refused, SigilError
from sigil.storage.kv import keys
from sigil.storage.stored import NewerFormat

RETRY_SECONDS = 5.0
CONFLICT_SECONDS = 0.5
"""Seconds until an event is handed out again: after trouble, and after another worker was faster.
"""
FORMAT_SECONDS = 30.0
"""Seconds until an event of a chat that a newer version keeps is looked at again."""
TYPING_SECONDS = 4.5
PAUSES = (0.5, 2.0, 8.0, 30.0)
"""Seconds between attempts to tell the queue what became of an event."""
TRIES_MOST = 10
"""How often an event is handed out without coming to anything before it is given up: the backstop
behind the turn's own count.
"""
TRIES_SHARED = 6
"""From so many on, what it comes to is seen where no other turn runs: it may crash the process
before its turn is opened, which the turn cannot count, and others that were in flight each time
must not be given up with it. A wait for the model or a platform counts less.
"""
CROWDED_SECONDS = 1.0
"""Until a turn that has to run alone is handed out again, while another one does."""
UNSENT_SECONDS = 3600.0
UNSENT_TRIES = 6
"""For so many seconds, and for so many tries, a reply that the platform does not take is tried
again: its age alone may be a clock that was set.
"""
STOPPING = "The running turn was told to stop."
"""For whoever waits for an answer to `/stop` itself; in a chat the stopped turn replies."""
NEWER = (
    "A newer version of me keeps this chat, and I cannot read it. Nothing is lost: "
    "your message waits in the dead letters until my owner runs the newer version again."
)
LOST = (
    "I could not work on your last message: my memory of this chat cannot be read. My owner can see"
    " it in the dead letters."
)


def process(delivery: Delivery, runtime: AgentRuntime, until: float = inf) -> None:
    """Take a delivery to its end: the event is done, handed out again later, or given up. Never an
    exception.

    `until`: when this worker's own time is up (monotonic); a turn that is not over by then is
    handed on.
    """
    log.step("taken", delivery.event, tries=delivery.tries)
    began = runtime.app.clock.monotonic()
    try:
        _process(delivery, runtime, until, shared=True)
    except NeedsIsolation:
        patience = runtime.app.turn_seconds
        with runtime.turns.alone(patience) as alone:
            if alone:
                # waiting took of the time for which the queue keeps the event for this worker
                log.step("alone", delivery.event)
                _process(
                    delivery, runtime, min(until, began + patience + HOLD_SECONDS), shared=False
                )
                return
        waited = runtime.app.clock.monotonic() - began >= patience  # a turn of another worker hangs
        _later(
            replace(delivery, tries=delivery.tries + int(waited)),
            runtime,
            CROWDED_SECONDS,
            _Crowded(),
        )


def _process(delivery: Delivery, runtime: AgentRuntime, until: float, *, shared: bool) -> None:
    event, spent = delivery.event, delivery.tries >= TRIES_MOST
    try:
        if shared and delivery.tries >= TRIES_SHARED and not (spent or event.beside):
            raise NeedsIsolation
        work(event, runtime, until, spent=spent, shared=shared, behind=delivery.behind)
    except NeedsIsolation:
        raise
    except (Busy, _Silent) as problem:
        _later(delivery, runtime, problem.retry_after or RETRY_SECONDS, problem)
    except Conflict as problem:
        _later(delivery, runtime, CONFLICT_SECONDS, problem)
    except (Refused, _Incomplete) as problem:
        _give_up(delivery, runtime, problem)
    except NewerFormat as problem:
        # a newer version may be at work beside this one: its worker has the event next
        if delivery.tries >= TRIES_MOST:
            _give_up(delivery, runtime, problem)
        else:
            _later(replace(delivery, tries=delivery.tries + 1), runtime, FORMAT_SECONDS, problem)
    except BackendError as problem:
        _later(delivery, runtime, RETRY_SECONDS, problem)
    except Exception as problem:  # noqa: BLE001  a door: one event's failure must not end the worker
        log.failure(
            "failed", event=event.id
        )  # a SigilError among them: what is no trouble of a back-end will not pass by waiting
        if delivery.tries >= TRIES_MOST:
            _give_up(
                delivery,
                runtime,
                Refused("EPOISON", f"it was handed out {delivery.tries} times and came to nothing"),
            )
        else:
            _later(replace(delivery, tries=delivery.tries + 1), runtime, RETRY_SECONDS, problem)
    else:
        _surely(lambda: runtime.queue.done(delivery), runtime)
        log.step("done", event)


class _Incomplete(BackendError):
    """A body of the session's document is lost: trying again cannot help."""


class _Silent(BackendError):
    """The model does not answer: the turn waits for `retry_after` seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__("EMODEL", "the model does not answer", retry_after=seconds)


class _Crowded(BackendError):
    """Other turns run in this process, and this one must not run beside them."""

    def __init__(self) -> None:
        super().__init__("ECROWDED", "other turns run in this process")


class _HandedOn(BackendError):
    """This worker's time was up before the event's own turn could begin."""


def work(
    event: events.Event,
    runtime: AgentRuntime,
    until: float = inf,
    *,
    spent: bool = False,
    shared: bool = False,
    behind: Sequence[events.Event] | None = (),
) -> None:
    """Run the event's turn and send what it says. `spent`: it was handed out too often; it is not
    run, its sender is told.

    `shared`: other turns run in this process; `NeedsIsolation` when this one must not run beside
    them. `behind`: see `Delivery`.
    """
    if event.agent != runtime.app.name:
        give_up(
            runtime.stores.kv,
            event,
            f"it is for the agent {event.agent!r}: each needs a queue of its own",
            runtime.app.clock.now(),
            told=True,
        )
        return
    channel = runtime.channels.get(event.platform)
    if channel and not channel.for_us(event):
        return
    if event.inquiry and not spent:
        with _incomplete_told():
            _answer_inquiry(event, runtime)
        return
    if event.control:
        told = control.handle_control(event, runtime.app)
        _say(event, told or ("" if channel else STOPPING), runtime)
        if told in control.CLOSED:
            send_alert(
                halt_alert(
                    runtime.app.name,
                    event.session if told == control.HALTED_HERE else "",
                    runtime.app.clock.now(),
                ),
                runtime.notifier,
            )
        return
    with _typing(channel if _heard(event, runtime) else None, event.session):
        between = partial(deliver, runtime=runtime)
        # whoever waits for an answer over HTTP waits for one to each message
        shift = Shift(until, patient=True, shared=shared, behind=behind if channel else ())
        with _incomplete_told():
            opened = (
                abandon(event, runtime.app)
                if spent
                else handle(event, runtime.app, partial(_logged, event), shift, between)
            )
    log.step("closed", event, replies=len(opened.document.outbox), bytes=opened.size)
    wait, continuation = opened.wait, opened.next
    opened = deliver(opened, runtime)
    if wait:
        raise _Silent(wait)
    if continuation:
        _hand_on(opened, continuation, event, runtime)


@contextmanager
def _incomplete_told() -> Iterator[None]:
    """A document of which a body is lost is `_Incomplete`, and no trouble that passes."""
    try:
        yield
    except BackendError as problem:
        if problem.code == "EDAMAGED":
            raise _Incomplete(problem.code, problem.message) from None
        raise


def _heard(event: events.Event, runtime: AgentRuntime) -> bool:
    """Whether an answer may be on its way: of what strangers write nobody sees a trace in a
    group.
    """
    rules = runtime.app.rules
    return rules.access == "open" or rules.may_talk(runtime.app.people.find_role(event))


def _hand_on(
    opened: Opened, continuation: events.Event, event: events.Event, runtime: AgentRuntime
) -> None:
    """Queue the continuation before this event is acknowledged. An event that only found the turn
    waits behind it.
    """
    runtime.queue.put(continuation)
    log.step("handed on", continuation)
    turn = opened.document.turn
    if event.kind != "continue" and turn and turn.event.id != event.id:
        raise _HandedOn("EBUSY", "an earlier turn goes on first")


def deliver(opened: Opened, runtime: AgentRuntime) -> Opened:
    """Send what waits in the outbox; whoever watches hears that the session or the model does not
    go on, though the platform is away.
    """
    try:
        opened = flush(opened, runtime)
    except Conflict:
        raise
    except BackendError:
        alarm(runtime.app.sessions.open(opened.key), runtime)
        alarm_of_model(runtime)
        raise
    alarm_of_model(runtime)
    return alarm(opened, runtime)


def flush(opened: Opened, runtime: AgentRuntime) -> Opened:
    """Send what waits in the outbox. Each part that left is marked, and each reply is gone from the
    store before the next is sent.
    """
    while opened.document.outbox:
        opened = _send(opened, runtime)
        opened = runtime.app.sessions.left(opened)
    return opened


def _send(opened: Opened, runtime: AgentRuntime) -> Opened:
    """Send the first reply of the outbox."""
    reply = opened.document.outbox[0]
    channel = runtime.channels.get(reply.session.partition(":")[0])
    if not runtime.app.sessions.holds(opened):
        raise Conflict("another worker has the session")
    if channel is None:
        runtime.replies.keep(opened.key, reply.event, _kept(reply))
        return opened

    def mark(parts: int) -> None:
        nonlocal opened
        opened = runtime.app.sessions.sent(opened, parts)

    try:
        channel.send(
            reply.session, reply.text, reply_to=reply.reply_to, start=reply.sent, sent=mark
        )
    except Refused as problem:
        log.note("unanswerable", event=reply.event, session=reply.session, code=problem.code)
    except Conflict:
        raise
    except BackendError as problem:
        waits = opened.key == keys.session_of(
            runtime.app.name, reply.session
        )  # a word to another chat holds this one up for nothing
        if waits and (
            reply.tries < UNSENT_TRIES or runtime.app.clock.now() - reply.at <= UNSENT_SECONDS
        ):
            raise
        log.note("unsendable", event=reply.event, session=reply.session, code=problem.code)
    else:
        log.note("sent", event=reply.event, session=reply.session)
    return opened


def _say(event: events.Event, text: str, runtime: AgentRuntime) -> None:
    """A reply that belongs to no turn and so to no outbox: best effort."""
    try:
        _tell(event, text, runtime)
    except SigilError as problem:
        log.trouble("unsent", event, code=problem.code)


def _tell(event: events.Event, text: str, runtime: AgentRuntime) -> None:
    channel = runtime.channels.get(event.platform)
    if not text:
        return
    if channel is None:
        runtime.replies.keep(
            keys.session_of(event.agent, event.session),
            event.id,
            _kept(Outgoing(event.id, event.session, text)),
        )
        return
    with suppress(Refused):  # a chat that never gets it
        channel.send(event.session, text, reply_to=event.reply_to, sent=lambda _: None)


def _answer_inquiry(event: events.Event, runtime: AgentRuntime) -> None:
    """Send the answer, part by part. It stands in a record of its own while it leaves, so that
    whoever tries again goes on with it.

    Only a crash between sending a part and noting it can repeat that part, as with every reply.
    """
    session, kv = keys.session_of(event.agent, event.session), runtime.stores.kv
    key, now = keys.inquiry(session, event.id), runtime.app.clock.now()
    item = kv.get(key)
    reply = (
        _decode_sending(item.value)
        if item
        else _Sending(table.answer_inquiry(event, runtime.app), now)
    )
    if reply.done:
        return
    channel = runtime.channels.get(event.platform)
    if channel is None:
        runtime.replies.keep(
            session, event.id, _kept(Outgoing(event.id, event.session, reply.text))
        )
    elif reply.text:
        if item is None:
            kv.put(key, _encode_sending(reply), ttl=keys.SEEN_TTL)

        def mark(parts: int) -> None:
            nonlocal reply
            reply = replace(reply, parts=parts)
            kv.put(key, _encode_sending(reply), ttl=keys.SEEN_TTL)

        try:
            channel.send(
                event.session, reply.text, reply_to=event.reply_to, start=reply.parts, sent=mark
            )
        except Refused as problem:
            log.trouble("unanswerable", event, code=problem.code)
        except BackendError as problem:
            reply = replace(reply, tries=reply.tries + 1)
            if reply.tries < UNSENT_TRIES or abs(now - reply.at) <= UNSENT_SECONDS:
                kv.put(key, _encode_sending(reply), ttl=keys.SEEN_TTL)
                raise
            log.trouble("unsendable", event, code=problem.code)
    kv.put(key, _encode_sending(_Sending("", reply.at, done=True)), ttl=keys.SEEN_TTL)


@dataclass(frozen=True, slots=True)
class _Sending:
    """The answer to an inquiry: made at `at`, `parts` of it have left; `done`: all of it has, or
    never will. `tries` counts how often the platform did not take it.
    """

    text: str
    at: float
    parts: int = 0
    done: bool = False
    tries: int = 0


def _encode_sending(reply: _Sending) -> bytes:
    """As JSON."""
    return orjson.dumps(reply)


def _decode_sending(data: bytes) -> _Sending:
    """What `_encode_sending` wrote; what cannot be read counts as sent, for an answer of this
    moment is asked for again.
    """
    try:
        fields = orjson.loads(data)
        return _Sending(
            str(fields["text"]),
            float(fields["at"]),
            int(fields["parts"]),
            bool(fields["done"]),
            int(fields.get("tries", 0)),
        )
    except (ValueError, TypeError, KeyError):
        return _Sending("", 0.0, done=True)


def _later(delivery: Delivery, runtime: AgentRuntime, seconds: float, problem: Exception) -> None:
    log.trouble(
        "waits",
        delivery.event,
        seconds=seconds,
        code=getattr(problem, "code", type(problem).__name__),
    )
    _surely(lambda: runtime.queue.retry(delivery, seconds), runtime)


def _surely(action: Callable[[], None], runtime: AgentRuntime) -> None:
    """Tell the queue, through a store that is away for a moment: a session that is not given back
    waits for its lease to end.
    """
    for seconds in PAUSES:
        try:
            return action()
        except BackendError as problem:
            log.note("the queue cannot be told", code=problem.code, seconds=seconds)
            runtime.app.clock.pause(seconds)
    return action()


def _give_up(delivery: Delivery, runtime: AgentRuntime, problem: SigilError) -> None:
    """The event becomes a dead letter, its sender is told once, the chat goes on."""
    event, now = delivery.event, runtime.app.clock.now()
    log.trouble("given up", event, code=problem.code)
    try:
        since = give_up(runtime.stores.kv, event, problem.message, now)
        if since is not None:
            text = (
                NEWER
                if isinstance(problem, NewerFormat)
                else LOST
                if isinstance(problem, _Incomplete)
                else GAVE_UP
            )
            _tell_of_end(event, text, runtime, since)
    except BackendError as trouble:
        _later(delivery, runtime, RETRY_SECONDS, trouble)
    else:
        _surely(lambda: runtime.queue.done(delivery), runtime)


def _tell_of_end(event: events.Event, text: str, runtime: AgentRuntime, since: float) -> None:
    """Tell the sender of a dead letter and note it, so that a crash in between tells twice rather
    than never; for an hour and `UNSENT_TRIES` tries.
    """
    try:
        _tell(event, text, runtime)
    except BackendError as problem:
        tries = count_untold(runtime.stores.kv, event)
        if tries < UNSENT_TRIES or abs(runtime.app.clock.now() - since) <= UNSENT_SECONDS:
            raise
        log.trouble("unsendable", event, code=problem.code)
    tell(runtime.stores.kv, event)


def _logged(event: events.Event, step: Step) -> None:
    """A step of the turn for the log: what took how long, never what was said."""
    named = {"name": step.name} if step.name and step.kind != "note" else {}
    failed = {"error": step.error} if step.error else {}
    timed = {"ms": round(step.ms, 1)} if step.ms else {}
    log.step(step.kind, event, **named, **timed, **failed, **step.facts)


def _kept(reply: Outgoing) -> dict[str, Any]:
    usage = {
        "prompt_tokens": reply.usage.prompt,
        "completion_tokens": reply.usage.completion,
        "estimated": reply.usage.estimated,
    }
    failed = {"failed": True} if reply.failed else {}
    return {
        "reply": reply.text,
        "rounds": reply.rounds,
        "tools": list(reply.tools),
        "usage": usage,
        **failed,
    }


@contextmanager
def _typing(channel: Channel | None, session: str) -> Iterator[None]:
    """Show that somebody is at work, again and again until the turn ends."""
    if channel is None:
        yield
        return
    over = threading.Event()

    def show() -> None:
        channel.typing(session)
        while not over.wait(TYPING_SECONDS):
            channel.typing(session)

    thread = threading.Thread(target=show, name="typing", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()


@lru_cache(maxsize=1)
def _runtime() -> AgentRuntime:
    log.start()
    return open_runtime(Settings.read(), later=True)


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Lambda's invocation with records of the FIFO queue, each body one event. Those that did not
    end are reported and come again.

    CloudFormation asks here as well, because stocking the library needs what the worker has: the
    sandbox, its rights and its time.
    """
    if stack.is_stack_event(event):
        log.start()
        return stack.answer(event, stack.stock_library)
    runtime = _runtime()
    until = runtime.app.clock.monotonic() + context.get_remaining_time_in_millis() / 1000
    batch = open_batch(runtime.queue, event)
    while delivery := batch.take(0.0):
        process(delivery, replace(runtime, queue=batch), until)
    return batch.report()
