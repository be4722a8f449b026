"""Commands that only read (`/status`, `/help`, …): answered beside the chat's queue, for what they
tell is of this moment.
"""

from __future__ import annotations

from functions.agent.app import App
from functions.agent.commands import pairing, table
from functions.agent.commands.command import Asked
from functions.events import Event
from sigil.storage.kv import keys


def answer(event: Event, app: App) -> str:
    """What an inquiry is answered; empty for silence. The session's document is only read, whoever
    has the session.
    """
    role = app.people.role(event)
    if not app.rules.may_talk(role):
        return pairing.met(event, app)
    opened = app.sessions.open(keys.session_of(app.name, event.session))
    effect = table.run(Asked(app, opened, role, event))
    return app.redact(effect.text) if effect else ""
