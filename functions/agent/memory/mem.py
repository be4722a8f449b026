"""/mem: tells memory now what it has not heard of yet, and whatever stands after the command."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from functions.agent.aside import Aside
from functions.agent.command import ALWAYS, Asked, Command, Commands, Effect
from functions.agent.memory.hearing import TRIES, backlog, put_away, remember
from functions.agent.messages import Message
from functions.agent.offline import signed
from functions.agent.record import SEEN_MOST, Document
from functions.agent.session import Opened
from sigil.errors import BackendError

NOTHING: Final = "No new messages to consolidate into memory."
TRIGGERED: Final = "Memory consolidation triggered."
FAILED: Final = "Memory consolidation failed."
"""As seed 002 gives them."""


def run(asked: Asked) -> Effect:
    """Consolidate; what cannot be told now stays to be told."""
    opened = _noted(asked)
    app = asked.app
    aside = Aside(asked.session, app, opened.document, until=app.clock.monotonic() + app.turn_seconds)
    try:
        known = backlog(aside)
        text = _nothing(asked) if not known.messages else TRIGGERED if remember(aside, known, tries=TRIES) else FAILED
    except BackendError:
        text = FAILED
    return Effect(text if text == NOTHING else signed(text, app.model.name), _noted_down(aside.document, asked), opened)


def _nothing(asked: Asked) -> str:
    """The reply when nothing is new: words of this very command were told by another worker."""
    return TRIGGERED if asked.text else NOTHING


def _noted(asked: Asked) -> Opened:
    """The session, saved with the words as a message of its own number: whatever happens now, they are told once, and by one worker."""
    document, event = asked.document, asked.event
    if not asked.text or event.id in (note.origin for note in document.noted):
        return asked.opened
    note = Message("user", asked.text, seq=document.next_seq, at=event.at, origin=event.id)
    noted = replace(document, noted=(*document.noted, note), next_seq=document.next_seq + 1)
    return asked.app.sessions.save(asked.opened, noted)


def _noted_down(document: Document, asked: Asked) -> Document:
    """The document with all words archived. Of those whose own command is still to come, from another worker, it keeps the name."""
    for note in document.noted:
        document = put_away(asked.session, document, (note,) if note.content else (), asked.app)
    others = [replace(note, content="") for note in document.noted if note.origin != asked.event.id]
    return replace(document, noted=tuple(others[-SEEN_MOST:]))


COMMANDS: Final[Commands] = {
    "mem": Command("takes what was said here into memory, and your words with it", run, takes="[words]", changes=ALWAYS, asks=True)
}
