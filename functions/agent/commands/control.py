"""Control stops, halts and unlocks: what must not queue behind the turns that it is about.

It is written beside the session; its turn looks for it.
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
    "I am waiting for a model that does not answer. I will stop before I ask it again, within an"
    " hour at most."
)
OWNERS_ONLY = "Only my owner can do that."
NOT_YOURS = "In a group only my owner can stop what somebody else asked for."
SESSION_CHARACTERS = 300
"""The most characters of a session's name that does not come from its own platform."""
HALTED = "Halted, in every chat. `/unlock` lets me go on."
HALTED_HERE = "Halted in this chat. `/unlock` lets me go on."
CLOSED = (HALTED, HALTED_HERE)
UNLOCKED = "Unlocked."


def handle_control(event: Event, app: App, role: Role | None = None) -> str:
    """Do what a control event says, and return the reply to send now.

    The reply is empty when the stopped turn replies itself. The session's document is only read.
    A control event that was handled before does nothing: it must not stop a later turn, or open
    what was closed since. `role` is the sender's, where it is known already.
    """
    session = keys.session_of(app.name, event.session)
    handled = keys.seen_event(keys.control_of(session), event.id)
    role = role or app.people.find_role(event)
    if not app.rules.may_talk(role) or app.kv.get(handled):
        return ""
    word, *rest = event.text.strip().lower().split()
    word = word.partition("@")[0]
    if word == "/stop":
        anybodys = role == "owner" or event.private
        reply = _stop_turn(session, app, "" if anybodys else event.sender.id)
    elif role != "owner":
        reply = OWNERS_ONLY
    elif word == "/halt":
        here = rest == ["here"]
        halt(session if here else "", app, event.sender.id)
        reply = HALTED_HERE if here else HALTED
    else:
        unlock(session, app, event.sender.id)
        reply = UNLOCKED
    app.kv.put(handled, b"", ttl=keys.SEEN_TTL)
    return reply


def halt(session: str, app: App, by: str) -> None:
    """Halt one session (S of the keys), or the whole agent when `session` is empty.

    The halt (SYSTEM_HALT) is seen before the next request and tool call.
    """
    locks.halt(app.kv, session or keys.escape(app.name), by, app.clock.now())


def unlock(session: str, app: App, by: str) -> None:
    """Unlock a session (S of the keys), or all of them when `session` is empty, whatever locked it.

    A halt of the whole agent ends with either; what else locked other sessions does not. The budget
    starts again when it is used up.
    """
    breakers = make_breakers(session, app.kv, app.name, app.limits, app.clock)
    now = app.clock.now()
    period = breakers.current_period()
    if session:
        spent = breakers.count_period().counted
    else:
        spent = breakers.budget.count_spent(period)
    # Without a limit (0) nobody can tell whether the budget is used up: it starts again then, too.
    if app.limits.tokens <= max(spent, 0):
        breakers.budget.restart_period(period)
    if session:
        locks.unlock(app.kv, session, by, now)
        if locks.read_lock(app.kv, breakers.agent).closed:
            locks.unlock(app.kv, breakers.agent, by, now, forgives=False)
        return
    locks.unlock(app.kv, breakers.agent, by, now)
    for halted in locks.list_halted_sessions(app.kv, breakers.agent):
        locks.unlock(app.kv, halted, by, now)


def _stop_turn(session: str, app: App, only: str) -> str:
    """Mark the turn in progress to be stopped, and return the reply.

    `only` is the sender whose turn may be stopped; empty, anybody's may.
    """
    turn = app.sessions.open(session).document.turn
    if turn is None:
        return NOTHING_RUNS
    if only not in ("", turn.event.sender.id):
        return NOT_YOURS
    app.kv.put(keys.control_mark(session), orjson.dumps({"stop": turn.event.id}), ttl=MARK_SECONDS)
    return WAITS if turn.waiting else ""
