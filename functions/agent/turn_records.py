"""A turn begins with what the store says of its chat, read with one request."""

from __future__ import annotations

from dataclasses import dataclass

from functions.agent.access.roles import Role
from functions.agent.app import App
from functions.agent.memory.documents import Doc
from functions.agent.safety.breakers import Breakers
from functions.agent.session.store import Opened
from functions.events import Event
from sigil.storage.kv import keys
from sigil.storage.kv.base import get_many


@dataclass(frozen=True, slots=True)
class TurnRecords:
    """What is known of a chat when a turn begins.

    `opened` is its session, `seen` says that the event was handled before. `role` is the sender's,
    `breakers` know of halts and the budget, `documents` stand in the prompt.
    """

    opened: Opened
    seen: bool
    role: Role
    breakers: Breakers
    documents: tuple[Doc, ...]


def read_turn_records(event: Event, app: App, opened: Opened | None = None) -> TurnRecords:
    """Read all that a turn of `event` has to know before its first request to the model.

    A session that is `opened` already is not read again.
    """
    session = keys.session_of(app.name, event.session)
    breakers = app.breakers(session)
    people, documents = app.people, app.documents
    groups = (
        [] if opened else [keys.session_head(session)],
        [keys.seen_event(session, event.id)],
        breakers.list_keys(),
        people.list_keys(event),
        documents.list_keys(session),
    )
    items = iter(get_many(app.kv, [key for group in groups for key in group]))
    head, seen, safety, person, written = ([next(items) for _ in group] for group in groups)
    breakers.use_items(safety)
    opened = opened or app.sessions.take(session, head[0])
    return TurnRecords(
        opened,
        seen[0] is not None or event.id in opened.document.seen,
        people.take_role(event, person),
        breakers,
        documents.decode_for_prompt(session, written),
    )
