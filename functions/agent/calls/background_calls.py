"""Calls of tools that may take long, which outlive the turn that made them.

The call answers the model with the id of a task. That is an event for a session of the agent's
own, whose turn makes the call alone, without a model. What comes of it is mail to the session that
asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from math import inf
from typing import Annotated, Final

from msgspec import Meta

from functions.agent.access.roles import Role
from functions.agent.app import App
from functions.agent.behaviours.pins import find_pins
from functions.agent.calls.tool_calls import fail_call
from functions.agent.conversation.messages import RUNTIME_ORIGIN, Message, ToolCall
from functions.agent.language import choose_texts_for
from functions.agent.mailbox import Mail, Mailbox, scope_of
from functions.agent.policy.proposals import AskedCall, Proposal
from functions.agent.posts import Post, PostAllowance, ServiceAnswer, make_post_id, stamp_posts
from functions.agent.safety.stop_mark import StopMark, write_mark
from functions.agent.session.document import Document, Turn
from functions.events import BACKGROUND_KINDS, OWN, Event, Sender
from functions.queues.dead_letters import give_up
from sigil.errors import Refused, ToolError
from sigil.protocol import Caller, Json, KeptFile, Offer
from sigil.storage.evolve import evolve
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, dumps, row

BACKGROUND_CALL: Final = "background-call"
"""The name in the `data` of a task of the call that it makes."""
RESULT: Final = "call-result"
"""The name in the `data` of a mail of the task that it is the result of."""
FILES: Final = "files"
RUNNING_MOST: Final = 8
"""A chat has so many such calls at work at once."""
FREED: Final = "wait for the results of those; `/stop` in the chat ends them"
"""How room for such a call is made."""
KEPT_DATA: Final = ("home", "home_agent", "from")
"""What the `data` of work of the agent's own says of where its outcome goes."""
KEPT_SECONDS: Final = 86_400.0
ID_DIGITS: Final = 12
STARTED: Final = (
    "it is at work; its result comes by itself, in a message of its own: do not wait for it or call"
    " it again, and tell the person that it has begun"
)
MADE: Final = "A call that was made as task {id} runs now, alone."
"""The runtime's line above the call in the task's own session."""
Time = Annotated[float, Meta(ge=0, lt=1e12)]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundCall(Stored):
    """A call that runs as the task `id`: its tool, its arguments (JSON), and what was offered, by
    its `name` and `digest`.

    `session` asked for it, in a turn with the `own_work` and the `private` of its event. An owner
    had approved it as `proposal` in its `round`; empty where nobody had to. `data` goes back with
    the result.
    """

    id: str
    tool: str
    arguments: str
    name: str
    digest: str
    session: str
    own_work: bool = False
    private: bool = True
    proposal: str = ""
    round: int = 0
    data: Mapping[str, Json] = field(default_factory=dict)

    @property
    def own_session(self) -> str:
        """Return the session of the agent's own in which it runs."""
        return name_session(self.id)

    @property
    def call(self) -> ToolCall:
        """Return the call as the history of that session has it."""
        return ToolCall(f"task-{self.id}", self.tool, self.arguments)


@dataclass(frozen=True, slots=True)
class RunningTask(Stored):
    """A call that was started and has not come to its end: its tool, the event of its task, on
    whose behalf it runs, and when it was started, in seconds since 1970.
    """

    tool: str
    event: str
    by: str
    at: Time


_CALL: Final = Shape[BackgroundCall](BackgroundCall)
_RUNNING: Final = Shape[Mapping[str, RunningTask]](Mapping[str, RunningTask])
_FILES: Final = Shape[tuple[KeptFile, ...]](tuple[KeptFile, ...])


@dataclass(frozen=True, slots=True)
class CallStarter:
    """Makes tasks of calls in the turn of an event, with the approval that it goes on with and the
    posts that it may still make.
    """

    app: App
    event: Event
    approval: Proposal | None
    posts: PostAllowance

    def start(self, call: ToolCall, offer: Offer, place: str) -> ServiceAnswer:
        """Return the answer that names the task of a call, with the event that runs it.

        The same call at the same `place` of the turn is the same task. `PlacesTaken` when too many
        are at work.
        """
        app = self.app
        event = self.event
        name = f"{app.name}\0{event.id}\0{place}"
        id = sha256(name.encode(errors="replace")).hexdigest()[:ID_DIGITS]
        approval = self.approval
        started = BackgroundCall(
            id=id,
            tool=call.name,
            arguments=AskedCall(call.name, call.arguments).canonical,
            name=offer.name,
            digest=offer.digest,
            session=event.session,
            own_work=approval.own_work if approval else event.kind in BACKGROUND_KINDS,
            private=event.private,
            proposal=approval.id if approval else "",
            round=approval.round if approval else 0,
            data={name: event.data[name] for name in KEPT_DATA if name in event.data},
        )
        post = Post("task", app.name, started.own_session, data={BACKGROUND_CALL: row(started)})
        self.posts.take(1)
        self._note_running(started, make_post_id("task", event.id, f"{place}:0"))
        return ServiceAnswer({"task": id, "state": "started", "note": STARTED}, (post,))

    def _note_running(self, started: BackgroundCall, task: str) -> None:
        """Note what is at work, where a stop of the session that asked finds it."""
        from functions.agent.shares import Places, find_holder, require_place

        app = self.app
        event = self.event
        now = app.clock.now()
        made = RunningTask(started.tool, task, event.behalf, now)
        places = Places("tasks of this chat at work", RUNNING_MOST, FREED, code="ELIMIT")
        holder = None
        if not event.private:
            holder = find_holder(event, app.people.find_role(event), app.people)

        def add(value: bytes | None) -> tuple[bytes | None, None]:
            running = _read_running(value, now)
            if started.id not in running:
                require_place(places, Counter(each.by for each in running.values()), holder)
            return dumps({**running, started.id: made}), None

        update(app.kv, _key(app, started.session), add, KEPT_SECONDS)


def makes_tasks(app: App, event: Event) -> bool:
    """Return whether the turn of an event makes tasks of calls. That of a task makes its call
    itself, and so does an agent that ends with its work.
    """
    is_temporary = app.record is not None and (bool(app.record.task) or app.is_teammate)
    return not is_temporary and find_call(event) is None


def _key(app: App, session: str) -> Key:
    return keys.background_calls(keys.session_of(app.name, session))


def _read_running(value: bytes | None, now: float) -> dict[str, RunningTask]:
    """Return the tasks in an item, without those that nobody has ended for a day."""
    try:
        found = _RUNNING.read(value) if value else {}
    except ValueError:
        return {}
    return {id: task for id, task in found.items() if now - task.at < KEPT_SECONDS}


def list_running(kv: KV, session: str, now: float) -> dict[str, RunningTask]:
    """Return the tasks of a session (S of the keys) that are at work, by their ids."""
    item = kv.get(keys.background_calls(session))
    return _read_running(item.value if item else None, now)


def name_session(id: str) -> str:
    """Return the session in which a task runs."""
    return f"{OWN}:call-{id}"


def stop_running(app: App, session: str, by: str, sender: str, *, anybodys: bool) -> list[str]:
    """Tell the tasks of a session (S of the keys) to stop, and return the names of their tools:
    those of the `sender`, and with `anybodys` all of them.
    """
    stopped = []
    for id, task in list_running(app.kv, session, app.clock.now()).items():
        if anybodys or task.by == sender:
            own = keys.session_of(app.name, name_session(id))
            write_mark(app.kv, own, StopMark(task.event, by))
            stopped.append(task.tool)
    return stopped


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """The task that a turn runs: its call, and what an owner had approved of it."""

    call: BackgroundCall
    approved: Proposal | None = None


def find_call(event: Event) -> BackgroundCall | None:
    """Return the call that the task of an event makes; None for all other events."""
    if event.kind != "task" or BACKGROUND_CALL not in event.data:
        return None
    try:
        call = _CALL.convert(event.data[BACKGROUND_CALL])
    except ValueError:
        return None
    return call if event.session == call.own_session else None


def find_task(app: App, event: Event) -> BackgroundTask | None:
    """Return the task that an event runs, with the approval that its call was made with. Where
    others have come into its chat since, it is one of a group.
    """
    call = find_call(event)
    if call is None:
        return None
    if call.private:
        asked = evolve(event, session=call.session, private=True)
        call = evolve(call, private=app.private_chats.check(asked).private)
    approved = app.proposals.find(call.proposal) if call.proposal else None
    if approved and (approved.agent, approved.round) == (app.name, call.round):
        return BackgroundTask(call, approved if approved.state != "denied" else None)
    return BackgroundTask(call)


def find_asker_role(app: App, event: Event, task: BackgroundTask, limited: Role) -> Role:
    """Return the role with which a task's call runs: that which the person who asked has now.

    `limited` is that of work that nobody typed.
    """
    if task.call.own_work:
        return limited
    asker = evolve(
        event,
        kind="message",
        session=task.call.session,
        private=task.call.private,
        sender=Sender(event.behalf),
        by="",
    )
    return app.people.find_role(asker)


def open_call(app: App, call: BackgroundCall, caller: Caller, now: float) -> Message | None:
    """Return the runtime's message before the call of a task, which has its tool; None where that
    is not what was offered any more.
    """
    found, _ = find_pins((call.name,), app.registry, caller, inf)
    offers = tuple(offer for offer in found if offer.digest == call.digest)
    if not offers:
        return None
    return Message("user", MADE.format(id=call.id), at=now, origin=RUNTIME_ORIGIN, loads=offers)


def end_call(turn: Turn, app: App, document: Document, text: str, now: float) -> tuple[Event, ...]:
    """Return the events that tell the session which asked what came of the call of a turn; nothing
    for a turn of something else.

    Its mailbox has the result by then. Done again after a crash, it tells the same. A chat is told
    in words of the runtime that a call was stopped: no model is asked for that.
    """
    event = turn.event
    call = find_call(event)
    if call is None:
        return ()
    made = call.call
    answers = [each for each in document.messages if each.call_id == made.id]
    if answers:
        content = answers[-1].content
    else:
        why = text or "the agent was halted, or may not do this any more"
        content = fail_call(made, ToolError("ESTOPPED", f"it was never called: {why}")).content
    asker = evolve(event, session=call.session)
    data: dict[str, Json] = {**call.data, RESULT: call.id}
    if turn.count_steps("stop") and not asker.is_own_work:
        texts = choose_texts_for(event, document)
        said = texts.task_stopped.format(name=made.name, id=call.id)
        post = Post("say", app.name, call.session, said, data={"from": "task"})
    else:
        mail = Mail(f"result:{event.id}", f"task {call.id} ({made.name})", content, now, "result")
        try:
            Mailbox(app.kv, scope_of(asker)).deliver(evolve(mail, by=event.by))
        except Refused as full:
            give_up(app.kv, event, full.message, now, notify_sender=False)
        files = [row(file) for each in answers for file in each.files]
        if files:
            data[FILES] = files
        post = Post("mail", app.name, call.session, data=data)

    def remove(value: bytes | None) -> tuple[bytes | None, None]:
        running = _read_running(value, now)
        if running.pop(call.id, None) is None:
            return None, None
        return dumps(running), None

    update(app.kv, _key(app, call.session), remove, KEPT_SECONDS)
    posts = stamp_posts([post], event, "result", now, turn.posted)
    return tuple(evolve(each, private=call.private) for each in posts)


def read_files(event: Event) -> tuple[KeptFile, ...]:
    """Return the files that came with the result of a call."""
    with suppress(ValueError):
        return _FILES.convert(event.data.get(FILES, []))
    return ()


def is_result(event: Event) -> bool:
    """Return whether an event tells a chat that a task of it has a result."""
    return event.kind == "mail" and RESULT in event.data and not event.is_own_work
