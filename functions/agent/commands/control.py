"""Control stops, halts and unlocks: what must not queue behind the turns that it is about.

It is written beside the session; its turn looks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from functions.agent.access.roles import Role
from functions.agent.app import App
from functions.agent.calls import background_calls
from functions.agent.language import choose_texts_for
from functions.agent.safety import locks
from functions.agent.safety.breakers import make_breakers
from functions.agent.safety.stop_mark import BY_OWNER, BY_SENDER, StopMark, write_mark
from functions.agent.session.document import Document
from functions.events import Event
from functions.texts.en import Texts
from sigil.errors import BackendError
from sigil.storage.kv import keys

ALL = "all"
SESSION_CHARACTERS = 300
"""The most characters of a session's name that does not come from its own platform."""


Resume = Callable[[App, Event, Texts], tuple[str, tuple[Event, ...]]]
"""Lets those go on whom an unlock has freed; returns what is told of them, and their events."""


def resume_nobody(app: App, event: Event, texts: Texts) -> tuple[str, tuple[Event, ...]]:
    """Let nobody go on."""
    return "", ()


@dataclass(frozen=True, slots=True)
class ControlAnswer:
    """The reply to a control event, empty when the stopped turn replies itself.

    `halted` says what it halted: `chat`, `agent` for all its chats, `root` for every chat of every
    agent, or nothing. The `events` let those go on who were unlocked.
    """

    text: str = ""
    halted: Literal["", "chat", "agent", "root"] = ""
    events: tuple[Event, ...] = ()


def handle_control(
    event: Event, app: App, role: Role | None = None, resume: Resume = resume_nobody
) -> ControlAnswer:
    """Do what a control event says, and return the reply to send now.

    The session's document is only read. A control event that was handled before does nothing: it
    must not stop a later turn, or open what was closed since. `role` is the sender's, where it is
    known already.
    """
    session = keys.session_of(app.name, event.session)
    handled = keys.seen_event(keys.control_of(session), event.id)
    role = role or app.people.find_role(event)
    if not app.rules.may_talk(role) or app.kv.get(handled):
        return ControlAnswer()
    word, *rest = event.text.strip().lower().split()
    word = word.partition("@")[0]
    document = _read_document(session, app, required=word == "/stop")
    texts = choose_texts_for(event, document)
    if word == "/stop":
        anybodys = role == "owner" or event.private
        sender = event.sender.id
        by = BY_OWNER if role == "owner" else BY_SENDER
        tasks = background_calls.stop_running(app, session, by, sender, anybodys=anybodys)
        text = _stop_turn(session, document, app, sender, texts, anybodys=anybodys)
        if tasks:
            stopped = texts.tasks_stopping.format(names=", ".join(tasks))
            text = "\n".join(filter(None, (stopped, text if document and document.turn else "")))
        answer = ControlAnswer(text)
    elif role != "owner":
        answer = ControlAnswer(texts.owners_only)
    elif word == "/halt":
        answer = _halt_from_chat(rest, session, app, event, texts)
    else:
        unlock(session, app, event.sender.id, everything=rest == [ALL])
        told, events = resume(app, event, texts)
        answer = ControlAnswer(" ".join(filter(None, (texts.unlocked, told))), events=events)
    app.kv.put(handled, b"", ttl=keys.SEEN_TTL)
    return answer


def _halt_from_chat(
    words: Sequence[str], session: str, app: App, event: Event, texts: Texts
) -> ControlAnswer:
    """Halt the agent of a chat, with the word `here` the chat alone, with `all` every agent."""
    by = event.sender.id
    if words == ["here"]:
        halt(session, app, by)
        return ControlAnswer(texts.halted_here, "chat")
    if app.is_root or words == [ALL]:
        halt_root(app, by)
        return ControlAnswer(texts.halted, "root")
    halt("", app, by)
    return ControlAnswer(texts.halted_agent.format(name=app.short_name), "agent")


def halt_root(app: App, by: str) -> None:
    """Halt the root and every agent below it."""
    locks.halt(app.kv, keys.escape(app.root), by, app.clock.now())


def halt(session: str, app: App, by: str) -> None:
    """Halt one session (S of the keys), or the whole agent when `session` is empty: that of the
    root stops the agents below it as well.

    The halt (SYSTEM_HALT) is seen before the next request and tool call.
    """
    locks.halt(app.kv, session or keys.escape(app.name), by, app.clock.now())


def unlock(session: str, app: App, by: str, *, everything: bool = False) -> None:
    """Unlock a session (S of the keys), or all of them when `session` is empty, whatever locked it,
    with `everything` all of the root's agents.

    A halt of the whole agent or of the root ends when one of their sessions is unlocked; what else
    locked other sessions does not. A budget starts again when it is used up, that of the root when
    it or a session is unlocked.
    """
    breakers = make_breakers(session, app.kv, app.name, app.limits, app.clock)
    now = app.clock.now()
    period = breakers.current_period()
    for budget in breakers.budgets:
        if budget.is_roots and not (session or app.is_root):
            continue
        if session and budget.is_roots:
            spent = breakers.count_period().counted
        else:
            spent = budget.count_spent(period)
        # Without a limit (0) nobody can tell if the budget is used up: it starts again then, too.
        if budget.most <= max(spent, 0):
            budget.restart_period(period)
    agents = [keys.escape(name) for name in dict.fromkeys((app.name, app.root))]
    if session:
        locks.unlock(app.kv, session, by, now)
        for agent in agents:
            if locks.read_lock(app.kv, agent).closed:
                locks.unlock(app.kv, agent, by, now, forgives=False)
    if everything or not session:
        whom = agents[-1] if everything else agents[0]
        locks.unlock(app.kv, whom, by, now)
        for halted in locks.list_halted(app.kv, whom):
            locks.unlock(app.kv, halted, by, now)


def _read_document(session: str, app: App, *, required: bool) -> Document | None:
    """Return the session's document; None where it cannot be read and only the language needs it.

    A halt and an unlock work whatever became of the document.
    """
    try:
        return app.sessions.open(session).document
    except BackendError:
        if required:
            raise
        return None


def _stop_turn(
    session: str, document: Document | None, app: App, sender: str, texts: Texts, *, anybodys: bool
) -> str:
    """Mark the turn in progress to be stopped, and return the reply.

    The `sender` may stop their own turn, and with `anybodys` that of everybody.
    """
    turn = document.turn if document else None
    if turn is None:
        return texts.nothing_runs
    is_own = turn.event.sender.id == sender
    if not (is_own or anybodys):
        return texts.stop_not_yours
    by = BY_SENDER if is_own else BY_OWNER
    write_mark(app.kv, session, StopMark(turn.event.id, by))
    return texts.stop_waits if turn.waiting else ""
