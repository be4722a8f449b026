"""/mem: tells memory what it has not heard of yet, and the words after the command; shows the
memory's versions and takes one back.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from functions.agent.archive import TRIES, backlog, put_away, remember
from functions.agent.commands.command import Asked, Command, Commands, Effect
from functions.agent.commands.document_versions import roll_back, version_lines
from functions.agent.messages import Message
from functions.agent.model.offline import signed
from functions.agent.session.document import SEEN_MOST, Document
from functions.agent.session.store import Opened
from functions.agent.side_request import Aside
from sigil.errors import BackendError

NOTHING: Final = "No new messages to consolidate into memory."
TRIGGERED: Final = "Memory consolidation triggered."
FAILED: Final = "Memory consolidation failed."
"""As seed 002 gives them."""
NEVER: Final = "Nothing was ever written into the memory of this chat."
BACK: Final = (
    "The memory of this chat is as in version {version} again; `/mem history` shows all of them."
)
KEPT: Final = "The memory is as it was."
_HISTORY: Final = re.compile(r"history", re.IGNORECASE | re.ASCII)
_ROLLBACK: Final = re.compile(r"rollback\s+([0-9]{1,8})", re.IGNORECASE | re.ASCII)
"""These words alone are no text to remember; whatever else begins like them is."""


def run(asked: Asked) -> Effect:
    """Show the versions of the memory, take one back, or consolidate."""
    if _HISTORY.fullmatch(asked.text):
        versions = version_lines(asked.app.documents.versions(asked.session, "memory"), sizes=True)
        return asked.says("\n".join(versions) or NEVER)
    back = _ROLLBACK.fullmatch(asked.text)
    if back is None:
        return _consolidated(asked)
    problem = roll_back(asked, asked.session, "memory", int(back[1]))
    return asked.says(f"{KEPT} {problem}" if problem else BACK.format(version=int(back[1])))


def _consolidated(asked: Asked) -> Effect:
    """Tell memory; what cannot be told now stays to be told."""
    opened = _noted(asked)
    app = asked.app
    aside = Aside(
        asked.session, app, opened.document, until=app.clock.monotonic() + app.turn_seconds
    )
    try:
        known = backlog(aside)
        if known.messages:
            heard = remember(aside, known, tries=TRIES)
            text = "\n\n".join(filter(None, (TRIGGERED, heard.notice))) if heard.entries else FAILED
        else:
            text = _nothing(asked)
    except BackendError:
        text = FAILED
    return Effect(
        text if text == NOTHING else signed(text, app.model.name),
        _noted_down(aside.document, asked),
        opened,
        aside.trace,
    )


def _changes(words: str) -> bool:
    return _HISTORY.fullmatch(words) is None


def _unasked(words: str) -> bool:
    return bool(_HISTORY.fullmatch(words) or _ROLLBACK.fullmatch(words))


def _nothing(asked: Asked) -> str:
    """The reply when nothing is new: words of this very command were told by another worker."""
    return TRIGGERED if asked.text else NOTHING


def _noted(asked: Asked) -> Opened:
    """The session, saved with the words as a message of its own number: whatever happens now, they
    are told once, and by one worker.
    """
    document, event = asked.document, asked.event
    if not asked.text or event.id in (note.origin for note in document.noted):
        return asked.opened
    note = Message("user", asked.text, seq=document.next_seq, at=event.at, origin=event.id)
    noted = replace(document, noted=(*document.noted, note), next_seq=document.next_seq + 1)
    return asked.app.sessions.save(asked.opened, noted)


def _noted_down(document: Document, asked: Asked) -> Document:
    """The document with all words archived. Of those whose own command is still to come, from
    another worker, it keeps the name.
    """
    for note in document.noted:
        document = put_away(asked.session, document, (note,) if note.content else (), asked.app)
    others = [replace(note, content="") for note in document.noted if note.origin != asked.event.id]
    return replace(document, noted=tuple(others[-SEEN_MOST:]))


COMMANDS: Final[Commands] = {
    "mem": Command(
        "takes what was said here into memory, and your words with it",
        run,
        takes="[words | history | rollback N]",
        changes=_changes,
        asks=True,
        unasked=_unasked,
    )
}
