"""A worker takes over a session that another one saved: what that one left undone is done."""

from __future__ import annotations

from functions.agent.app import App
from functions.agent.conversation.messages import (
    find_unanswered,
)
from functions.agent.ledger.entry import UNKNOWN, Entry
from functions.agent.ledger.ledger import Ledger
from functions.agent.session.document import (
    LOST,
)
from functions.agent.session.store import SessionHandle
from sigil.storage.evolve import evolve


def flush_ledger(saved: SessionHandle, app: App) -> SessionHandle:
    """Write the entries that a saved session has for the ledger, and return it without them.

    The session's next write takes them out of the store; until then, whoever opens it writes them
    again, which changes nothing.
    """
    if not saved.document.ledger.pending:
        return saved
    ledger = Ledger(app.kv, app.name).flush(saved.document.ledger)
    return saved.with_document(evolve(saved.document, ledger=ledger))


def note_lost_request(opened: SessionHandle, app: App) -> SessionHandle:
    """Return a session whose turn was left in progress, with an entry and a step for the request
    whose answer nobody saved: each save of a turn is followed by a request, but for calls or a
    wait.

    Nobody knows what it cost, or whether it was sent at all.
    """
    document = opened.document
    turn = document.turn
    if turn is None or turn.is_between_requests or find_unanswered(document.messages):
        return opened
    model = document.chosen_model or app.model.name
    lost = Entry("request", {"model": model, UNKNOWN: True})
    turn = turn.add_step("request", n=turn.next_request, at=turn.since, finish=LOST, model=model)
    document = evolve(document, turn=turn)
    return opened.with_document(document.note([lost], turn.event, app.clock.now()))


def take_over_replies(opened: SessionHandle, app: App) -> SessionHandle:
    """Return a session that is closed already, its replies taken over by this worker.

    Replies that somebody left in its outbox become ours by a save, so that two workers never both
    send them. A reply from the future was stamped by a clock that has been set back since: its age
    counts from now.
    """
    if not opened.document.outbox:
        return opened
    now = app.clock.now()
    outbox = tuple(
        evolve(reply, at=min(reply.at, now), tries=reply.tries + 1)
        for reply in opened.document.outbox
    )
    return app.sessions.save(opened, evolve(opened.document, outbox=outbox))
