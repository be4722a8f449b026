"""How a turn ends: history, seen ids and outbox in one write; and how replies that somebody left
become another's to send.
"""

from __future__ import annotations

from dataclasses import replace

from functions.agent import missed_messages, scheduled_replies
from functions.agent.app import App
from functions.agent.messages import Message, unanswered
from functions.agent.session.document import OUTBOX_MOST, SEEN_MOST, Outgoing, Turn
from functions.agent.session.store import Opened
from functions.agent.session.trace import keep

INTERRUPTED = (
    '{"error":{"source":"runtime","code":"EINTERRUPTED","message":"the turn was'
    ' stopped","suggestion":""}}'
)
"""What the model reads of a call that nothing answered."""


def close(opened: Opened, app: App, turn: Turn, text: str, *, said: bool = True) -> Opened:
    """The session after a turn that ends with this text. `said`: the text is part of the
    conversation.
    """
    document = opened.document
    text = app.redact(text)
    if said:
        now = app.clock.now()
        open_calls = [
            Message("tool", INTERRUPTED, at=now, call_id=call.id)
            for call in unanswered(document.messages)
        ]
        document = document.add(*open_calls, Message("assistant", text, at=now))
    event = turn.event
    now = app.clock.now()
    text = missed_messages.told(turn, scheduled_replies.told(event, text))
    reply = Outgoing(
        event.id,
        event.session,
        text,
        event.reply_to,
        turn.rounds,
        turn.tools,
        turn.usage,
        now,
        failed=turn.failed,
    )
    sending = [reply] if text else []
    document = replace(
        document,
        turn=None,
        outbox=(*document.outbox, *sending)[-OUTBOX_MOST:],
        seen=_remembered(opened, app, event.id),
        usage=document.usage + turn.usage,
        last=turn.usage if turn.rounds else document.last,
    )
    closed = app.sessions.save(opened, document)
    keep(app.kv, turn, closed, now)
    return closed


def _remembered(opened: Opened, app: App, event: str) -> tuple[str, ...]:
    """The recent ids with `event`; the oldest leave the document once their own records stand."""
    seen = (*opened.document.seen, event)
    if len(seen) <= SEEN_MOST:
        return seen
    for old in seen[: -SEEN_MOST // 2]:
        app.sessions.remember(opened.key, old)
    return seen[-SEEN_MOST // 2 :]


def taken_over(opened: Opened, app: App) -> Opened:
    """The closed session; replies that somebody left in its outbox become ours by a save, so that
    two workers never both send them.

    A reply from the future was stamped by a clock that has been set back since: its age counts from
    now.
    """
    now = app.clock.now()
    waiting = tuple(
        replace(reply, at=min(reply.at, now), tries=reply.tries + 1)
        for reply in opened.document.outbox
    )
    return (
        app.sessions.save(opened, replace(opened.document, outbox=waiting)) if waiting else opened
    )
