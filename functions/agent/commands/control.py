"""Control: what must not queue behind the turns that it is about. It is written beside the session;
its turn looks for it.
"""

from __future__ import annotations

import orjson

from functions.agent.access.roles import Role
from functions.agent.app import App
from functions.agent.safety import locks
from functions.agent.safety.breakers import make_breakers
from functions.events import Event
from sigil.storage.kv import keys

MARK_SECONDS = 2 * 3600.0
"""Longer than a turn may wait for its model: a mark has to be there when it goes on."""
NOTHING_RUNS = "Nothing is running."
WAITS = (
    "I wait for a model that does not answer. This ends before I ask it again, within the hour at"
    " most."
)
OWNERS_ONLY = "Only my owner can do that."
NOT_YOURS = "In a group only my owner can stop what somebody else asked for."
SESSION_CHARACTERS = 300
"""Of the name of a session that somebody else than its own platform names."""
HALTED = "Halted, in every chat. `/unlock` lets me go on."
HALTED_HERE = "Halted in this chat. `/unlock` lets me go on."
CLOSED = (HALTED, HALTED_HERE)
UNLOCKED = "Unlocked."


def act(event: Event, app: App, role: Role | None = None) -> str:
    """Do what a control event says. The reply to send now: empty when the stopped turn replies
    itself.

    The session's document is only read. A control event that was handled before does nothing: it
    must not stop a later turn, or open what was closed since. `role`: the sender's, where it is
    known already.
    """
    session = keys.session_of(app.name, event.session)
    role = role or app.people.role(event)
    if not app.rules.may_talk(role) or app.kv.get(keys.seen(keys.control_of(session), event.id)):
        return ""
    word, *rest = event.text.strip().lower().split()
    word = word.partition("@")[0]
    if word == "/stop":
        said = _stop(session, app, "" if role == "owner" or event.private else event.sender.id)
    elif role != "owner":
        said = OWNERS_ONLY
    elif word == "/halt":
        here = rest == ["here"]
        halt(session if here else "", app, event.sender.id)
        said = HALTED_HERE if here else HALTED
    else:
        unlock(session, app, event.sender.id)
        said = UNLOCKED
    app.kv.put(keys.seen(keys.control_of(session), event.id), b"", ttl=keys.SEEN_TTL)
    return said


def halt(session: str, app: App, by: str) -> None:
    """Halt one session (S of the keys), or the whole agent when it is empty: SYSTEM_HALT, seen
    before the next request and call.
    """
    locks.halt(app.kv, session or keys.escape(app.name), by, app.clock.now())


def unlock(session: str, app: App, by: str) -> None:
    """Let a session (S of the keys) go on, or every one when it is empty, whatever locked it.

    A halt of the whole agent ends with either; what else locked other sessions does not. The budget
    begins anew when it is used up.
    """
    breakers, now = (
        make_breakers(session, app.kv, app.name, app.limits, app.clock),
        app.clock.now(),
    )
    if app.limits.tokens <= breakers.budget.count_spent(
        breakers.current_period()
    ):  # who knows of no limit cannot tell whether it is used up
        breakers.budget.restart_period(breakers.current_period())
    if session:
        locks.unlock(app.kv, session, by, now)
    if not session or locks.read_lock(app.kv, breakers.agent).closed:
        locks.unlock(app.kv, breakers.agent, by, now, forgives=not session)
    for halted in () if session else locks.list_halted_sessions(app.kv, breakers.agent):
        locks.unlock(app.kv, halted, by, now)


def _stop(session: str, app: App, only: str) -> str:
    """`only`: whose turn may be stopped; empty: anybody's."""
    turn = app.sessions.open(session).document.turn
    if turn and only not in ("", turn.event.sender.id):
        return NOT_YOURS
    if turn:
        app.kv.put(keys.mark(session), orjson.dumps({"stop": turn.event.id}), ttl=MARK_SECONDS)
    if turn and turn.waiting:
        return WAITS
    return "" if turn else NOTHING_RUNS
