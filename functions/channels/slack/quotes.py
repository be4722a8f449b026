"""What a message of Slack's points at: messages that its sender passes on
(https://docs.slack.dev/messaging/formatting-message-text#attachments), and the one with which a
thread begins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from functions.channels.slack.attachments import list_attachments
from functions.channels.slack.incoming_text import read_text
from functions.events import QUOTE_LIMIT, Quote
from sigil.errors import one_line
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json

Fields = Mapping[str, Json]
FORWARDS_MOST: Final = 5
NAME_CHARACTERS: Final = 100
USER: Final = re.compile(r"[UW][A-Z0-9]{1,30}", re.ASCII)


def list_forwards(event: Fields) -> tuple[Fields, ...]:
    """Return the messages that a message passes on, which Slack keeps among its attachments."""
    attachments = map(as_mapping, as_sequence(event.get("attachments"))[:20])
    marks = ("is_share", "is_msg_unfurl")
    shared = [each for each in attachments if any(each.get(mark) is True for mark in marks)]
    return tuple(shared[:FORWARDS_MOST])


def quote_forward(shared: Fields, own: str) -> Quote | None:
    """Return a message that is passed on, None when it says nothing; `own` is our own id."""
    author = one_line(as_string(shared.get("author_name")), NAME_CHARACTERS)
    ours = bool(own) and shared.get("author_id") == own
    # its files are those of the message that passes it on
    files = [f"[{file['kind']}]" for file in list_attachments(shared)]
    text = "\n".join(filter(None, (_read_text(shared), *files)))
    if not text:
        return None
    return Quote("forward", text[:QUOTE_LIMIT], author, ours=ours, length=len(text))


def quote_first(message: Fields, *, ours: bool) -> Quote | None:
    """Return the message with which a thread begins, with its files; None when it has nothing."""
    text = _read_text(message)
    files = list_attachments(message)
    if not (text or files):
        return None
    return Quote("reply", text[:QUOTE_LIMIT], ours=ours, length=len(text), files=files)


def _read_text(message: Fields) -> str:
    source = as_string(message.get("text")) or as_string(message.get("fallback"))
    return read_text(source).strip()
