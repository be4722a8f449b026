"""Control: what must not queue behind the turn that it is about. A mark names the turn; the turn looks for it and ends itself."""

from __future__ import annotations

import orjson

from functions.agent.app import App
from functions.events import Event
from sigil.kv import KV, keys

MARK_SECONDS = 3600.0
NOTHING_RUNS = "Nothing is running."


def stop(event: Event, app: App) -> str:
    """Mark the session's turn in progress as stopped. The reply to send now: empty when the stopped turn replies itself.

    The session's document is only read. A control event that was handled before does nothing: it must not stop a later turn.
    """
    session = keys.session_of(app.name, event.session)
    if not app.rules.may_talk(app.rules.role(event)) or app.kv.get(keys.seen(keys.control_of(session), event.id)):
        return ""
    turn = app.sessions.open(session).document.turn
    if turn:
        app.kv.put(keys.mark(session), orjson.dumps({"stop": turn.event.id}), ttl=MARK_SECONDS)
    app.kv.put(keys.seen(keys.control_of(session), event.id), b"", ttl=keys.SEEN_TTL)
    return "" if turn else NOTHING_RUNS


def told_to_stop(session: str, event: str, kv: KV) -> bool:
    """Whether a mark names the turn of `event`."""
    item = kv.get(keys.mark(session))
    return item is not None and orjson.loads(item.value).get("stop") == event
